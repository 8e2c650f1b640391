"""`up`, `down`, `status`, `stop`: what runs here, and ending it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli import completion
from flows.cli.output import DIM, page, paint, say, write_json

if TYPE_CHECKING:
    from atomic.settings import Settings
    from flows.cli.openruns import OpenRun
    from flows.dashboard.presence import DashboardInfo
    from flows.server import ServerStatus

Config = Annotated[Path | None, typer.Option("--config", help="Settings file in place of the project's.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object.")]
STATES = {"living": "running", "dead": "cut off by a kill", "elsewhere": "on another machine"}  # of owners, for people


def up(config: Config = None, as_json: AsJson = False) -> None:
    """Start the local Prefect server and the dashboard, or find them running. Their addresses go to stdout.

    Without the extra `dashboard` the server alone is started.
    """
    from atomic.settings import load_settings
    from flows.dashboard.app import INSTALL, is_installed
    from flows.dashboard.background import ensure_dashboard
    from flows.server import ensure_server

    settings = load_settings(config=config)
    info = ensure_server(settings.home)
    if not as_json:
        page([info.dashboard])
    pages = ensure_dashboard(settings, config) if is_installed() else None
    if as_json:
        server = {"url": info.url, "dashboard": info.dashboard, "pid": info.pid, "log": str(info.log)}
        write_json({**server, "pages": dashboard_facts(pages)})
        return
    if pages is not None:
        page([pages.url])
    say(paint(f"Prefect {info.version}, pid {info.pid}; `atomic-flows down` stops it", DIM))
    say(paint(f"flows of your own find it by  export PREFECT_API_URL={info.url}", DIM))
    if pages is None:
        say(paint(f"without the dashboard: {INSTALL}", DIM))
    else:
        say(paint(f"dashboard, pid {pages.pid}; `down` stops it, too", DIM))


def down() -> None:
    """Stop the local Prefect server and the dashboard. Runs that are on their way keep their records."""
    from atomic.settings import find_home
    from flows.dashboard.background import stop_dashboard
    from flows.server import stop_server

    home = find_home()
    pages, info = stop_dashboard(home), stop_server(home)
    if info is not None:
        say(f"stopped the server at {info.dashboard}")
    if pages is not None:
        say(f"stopped the dashboard at {pages.url}")
    if info is None and pages is None:
        say("no server was running")


def status(config: Config = None, as_json: AsJson = False) -> None:
    """Show what runs here: the server, batches, and runs with their models. Brings to its end what a kill cut off."""
    from atomic.runner import open_store
    from atomic.settings import load_settings
    from flows.cli.openruns import bring_to_ends, open_runs
    from flows.cli.status_lines import status_lines
    from flows.cli.summary import tell_recovered
    from flows.dashboard.presence import running_dashboard
    from flows.server import server_status

    settings = load_settings(config=config)
    store = open_store(settings)
    pages = running_dashboard(settings.home)
    server = server_status(settings.home)
    if settings.adopt == "stop":
        tell_recovered(bring_to_ends(store, server))
    runs = [_facts(run) for run in open_runs(store)]
    batches = _batches(settings)
    if as_json:
        write_json(
            {
                "home": str(settings.home),
                "server": _server_facts(server),
                "dashboard": dashboard_facts(pages),
                "batches": batches,
                "runs": runs,
            }
        )
        return
    page(status_lines(server, pages, batches, runs))
    if any(facts["state"] == STATES["dead"] for facts in runs):
        say("the next `run` follows to its end what a kill cut off; `stop --all` stops it")


def stop(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN|BATCH",
            help="A run's id, or its beginning; or a batch's name.",
            autocompletion=completion.runs,
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All runs and batches of this user on this machine.")
    ] = False,
    drain: Annotated[
        bool, typer.Option("--drain", help="Of a batch: begin nothing new, let live sessions end.")
    ] = False,
    config: Config = None,
) -> None:
    """Stop a run or a batch from any terminal: agents and tools end, records are kept, a batch can be gone on with."""
    from atomic.errors import UsageError
    from atomic.settings import load_settings
    from flows.cli.stopping import stop_everything, stop_named

    if (name is None) != everything:
        raise UsageError("name a run or a batch, or say --all", hint="`atomic-flows status` lists what runs here")
    settings = load_settings(config=config)
    for line in stop_everything(settings, drain=drain) if name is None else stop_named(settings, name, drain=drain):
        say(line)


def _batches(settings: Settings) -> list[dict[str, Any]]:
    from flows.cli.batches import batches_of, edition_facts, shown_editions

    with batches_of(settings) as database:
        return [] if database is None else [edition_facts(edition) for edition in shown_editions(database)]


def _facts(run: OpenRun) -> dict[str, Any]:
    record, owner = run.record, run.owner
    last = record.attempts[-1] if record and record.attempts else None
    return {
        "run_id": run.run_id,
        "name": record.name if record else None,
        "state": STATES[run.state.value],
        "attempt": last.n if last else None,
        "model": last.model if last else None,
        "seconds": round(max(time.time() - record.created_at, 0), 1) if record else None,
        "cwd": record.cwd if record else None,
        "record": str(run.folder.path),
        "owner": {"pid": owner.pid, "host": owner.host, "user": owner.user} if owner else None,
    }


def dashboard_facts(pages: DashboardInfo | None) -> dict[str, Any]:
    """The dashboard that runs in this home, as `status --json` and `up --json` tell it."""
    return {
        "running": pages is not None,
        "url": pages.url if pages else None,
        "guarded": pages.guarded if pages else None,
        "pid": pages.pid if pages else None,
        "started_at": pages.started_at if pages else None,
    }


def _server_facts(server: ServerStatus) -> dict[str, Any]:
    info = server.info if server.running else None
    return {
        "running": server.running,
        "healthy": server.healthy,
        "url": info.url if info else None,
        "dashboard": info.dashboard if info else None,
        "pid": info.pid if info else None,
        "started_at": info.started_at if info else None,
    }
