"""`dashboard`: the web pages, for as long as it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def dashboard(
    host: Annotated[str | None, typer.Option("--host", help="Where to listen; default: 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option("--port", "-p", help="Default: 4280; 0: any that is free.")] = None,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", help="File with the token that visitors need; or ATOMIC_FLOWS_DASHBOARD_TOKEN."),
    ] = None,
    config: Annotated[Path | None, typer.Option("--config", help="Settings file in place of the project's.")] = None,
) -> None:
    """Show runs, batches and what they cost in a browser. Reads only: nothing can be started or deleted there.

    Runs until Ctrl-C. Without a token it listens on this machine only. The address goes to stdout.
    """
    from atomic.settings import load_settings
    from flows.cli.output import page
    from flows.dashboard.app import require_library
    from flows.dashboard.serving import address, check_host, listen, read_token, serve

    settings = load_settings(config=config)
    host = host or settings.dashboard.host
    token = read_token(token_file)
    check_host(host, token)
    require_library(settings.home)
    listener = listen(host, settings.dashboard.port if port is None else port)
    page([address(host, listener)])
    serve(settings, listener, host=host, token=token)
