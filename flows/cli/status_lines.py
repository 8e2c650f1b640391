"""What runs here, in lines for a person on stdout: the server, batches, runs. All parts are cleaned."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from atomic.text import one_line
from flows.cli.figures import clock, duration
from flows.cli.output import DIM, GREEN, RED, YELLOW, paint
from flows.cli.sentences import OWN_MODEL
from flows.cli.tables import Cell, Column, table

if TYPE_CHECKING:
    from flows.dashboard.presence import DashboardInfo
    from flows.server import ServerStatus

RUNS = (
    Column("run"),
    Column("state"),
    Column("att", right=True, rank=2),
    Column("for", right=True, rank=1),
    Column("model", least=20, cut="middle", fold=True),
    Column("name", least=12, fold=True),
)
BATCHES = (
    Column("batch"),
    Column("edition", rank=1),
    Column("state"),
    Column("done", right=True),
    Column("failed", right=True),
    Column("running", right=True, rank=3),
    Column("parked", right=True, rank=4),
    Column("for", right=True, rank=2),
    Column("why", fold=True),
)
REASON = 200  # characters of why a batch stands as it does
RUNNING = "running"


def status_lines(
    server: ServerStatus,
    pages: DashboardInfo | None,
    batches: Sequence[Mapping[str, Any]],
    runs: Sequence[Mapping[str, Any]],
) -> list[str]:
    """The lines. ``batches`` and ``runs`` are as `status --json` tells them."""
    lines = [server_line(server), *([] if pages is None else [dashboard_line(pages)])]
    if batches:
        lines += ["", *table(BATCHES, [_batch(facts) for facts in batches], sys.stdout)]
    if runs:
        lines += ["", *table(RUNS, [_run(facts) for facts in runs], sys.stdout)]
    else:
        lines.append(f"runs    {paint('none', DIM, stream=sys.stdout)}")
    return lines


def dashboard_line(pages: DashboardInfo) -> str:
    """Where the dashboard of this home is."""
    guarded = ", asks for its token" if pages.guarded else ""
    since = paint(f"pid {pages.pid}, since {clock(pages.started_at)}{guarded}", DIM, stream=sys.stdout)
    return f"pages   {one_line(pages.url)}  {since}"


def server_line(server: ServerStatus) -> str:
    """How the server of this home stands."""
    if not server.running or server.info is None:
        how = paint("(started by the first run, or by `atomic-flows up`)", DIM, stream=sys.stdout)
        return f"server  not running {how}"
    health = paint("healthy", GREEN, stream=sys.stdout) if server.healthy else "does not answer"
    since = paint(f"pid {server.info.pid}, since {clock(server.info.started_at)}", DIM, stream=sys.stdout)
    return f"server  {server.info.dashboard}  {health}  PREFECT_API_URL={server.info.url}  {since}"


def _batch(facts: Mapping[str, Any]) -> tuple[Cell, ...]:
    done = f"{facts['answered'] + facts['failed']}/{facts['total']}"
    failed = str(facts["failed"])
    return (
        one_line(facts["batch"]),
        one_line(facts["edition"]),
        _state(facts["state"]),
        done,
        (failed, RED) if facts["failed"] else failed,
        str(facts["running"]),
        str(facts["parked"]),
        "" if facts["seconds"] is None else duration(facts["seconds"]),
        one_line(facts["reason"] or "", REASON),
    )


def _run(facts: Mapping[str, Any]) -> tuple[Cell, ...]:
    return (
        facts["run_id"],
        _state(facts["state"]),
        str(facts["attempt"] or "–"),
        "" if facts["seconds"] is None else duration(facts["seconds"]),
        one_line(facts["model"] or OWN_MODEL) if facts["attempt"] else "",
        one_line(facts["name"] or ""),
    )


def _state(state: str) -> Cell:
    return state if state == RUNNING else (state, YELLOW)
