"""The process of a dashboard in the background: ``python -m flows.dashboard.child [--config FILE]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from urllib.parse import urlsplit

from atomic.errors import AtomicError, UsageError
from atomic.settings import Settings, load_settings
from flows.dashboard.presence import last_dashboard
from flows.dashboard.serving import check_host, listen, read_token, serve


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(prog="python -m flows.dashboard.child")
    parser.add_argument("--config", type=Path)
    given = parser.parse_args()
    try:
        settings = load_settings(config=given.config)
        token = read_token(None)
        host = settings.dashboard.host
        check_host(host, token)
        for port in ports(settings):
            try:
                listener = listen(host, port)
                break
            except UsageError:
                continue
        else:
            sys.exit(f"no port of {host} can be had")
        serve(settings, listener, host=host, token=token)
    except AtomicError as error:
        sys.exit(error.message if error.hint is None else f"{error.message}; {error.hint}")


def ports(settings: Settings) -> tuple[int, ...]:
    """Those to try: the last one, which people have bookmarked; the one that is set; any that is free."""
    before = last_dashboard(settings.home)
    last = urlsplit(before.url).port if before is not None else None
    return (*([last] if last else []), settings.dashboard.port, 0)


if __name__ == "__main__":
    main()
