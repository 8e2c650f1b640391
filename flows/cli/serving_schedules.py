"""Serving schedules for the command line: check, find the server, serve, tell."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from atomic.errors import EXIT_ANSWERED
from atomic.settings import Settings, load_settings
from atomic.text import one_line, printable
from flows.cli.figures import clock
from flows.cli.output import BOLD, DIM, GREEN, RED, YELLOW, page, paint, say
from flows.cli.signals import EXIT_CODES, first_signal
from flows.cli.through_prefect import flow_run_page, open_server
from flows.schedule import read_schedules
from flows.schedule.reading import Kept, check_jobs
from flows.schedule.said import (
    FileChanged,
    LeftBehind,
    Missed,
    Served,
    ServerAway,
    ServerBack,
    Serving,
    TakenUp,
    TurnBegan,
    TurnEnded,
)
from flows.server import choose

if TYPE_CHECKING:
    from flows.server import Choice

MESSAGE = 600
PASSED = ("Skipped", "Missed", "Some failed", "Cancelled")  # ends that are neither well nor wrong
SHOWN_MISSED = 5  # times that are named: the others are counted
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def foretell(file: Path, config: Path | None) -> None:
    """When each schedule is due next, on stdout. Raises UsageError."""
    _, schedules = _checked(file, config)
    now = time.time()
    page(_line(kept, now) for kept in schedules)
    for text in _absent(schedules):
        say(f"{paint('note', YELLOW)} {text}")
    say("nothing was started")


def serve_file(file: Path, config: Path | None) -> int:
    """Serve until a signal; its exit code. Raises UsageError, ServerError before anything is begun."""
    settings, schedules = _checked(file, config)
    file = file.absolute()
    config = None if config is None else config.absolute()
    # Schedules need a server that outlives single runs, whatever these go through.
    mode: Literal["auto", "local"] = "local" if settings.prefect.mode == "local" else "auto"
    for text in _absent(schedules):
        say(f"{paint('note', YELLOW)} {text}")
    choice = open_server(settings, mode, module="flows.schedule.conductor")
    from flows.schedule.conductor import Conductor

    conductor = Conductor(
        schedules,
        file,
        settings,
        config=config,
        find_server=lambda: find_again(settings, choice),
        on_event=Teller(file, choice),
    )

    async def until_signal() -> int:
        stop = asyncio.Event()

        def on_first(_: signal.Signals) -> None:
            say(paint("stopping: agents and their tools end, what was answered is kept", YELLOW))
            stop.set()

        with first_signal(on_first, signals=SIGNALS) as caught:
            await conductor.until(stop)
        return EXIT_CODES[caught[0]] if caught else EXIT_ANSWERED

    code = asyncio.run(until_signal())
    say(f"nobody serves {file} any more: what is due meanwhile shows as late in Prefect, and is said at the next start")
    return code


def find_again(settings: Settings, choice: Choice) -> None:
    """Find the server again that was chosen, and start it where it is ours. Raises ServerError."""
    # By its kind: once chosen, a server of ours is named by the environment, too.
    choose("local" if choice.kind == "local" else "auto", home=settings.home)


def _checked(file: Path, config: Path | None) -> tuple[Settings, list[Kept]]:
    """The settings that hold where the file is, and its schedules. Raises UsageError."""
    schedules = read_schedules(file.expanduser())
    settings = load_settings(file.absolute().parent, config)
    check_jobs(schedules, settings)
    return settings, schedules


def _absent(schedules: list[Kept]) -> list[str]:
    """Files that are not there yet. They may come before the time does: no error."""
    found = []
    for kept in schedules:
        job = kept.schedule.job
        for name in ("input", "template", "file"):
            path: Path | None = getattr(job, name, None)
            if path is not None and not os.path.lexists(path):
                found.append(f"{one_line(kept.schedule.name)}: {name} {one_line(str(path), 400)} is not there yet")
    return found


def _line(kept: Kept, now: float) -> str:
    upcoming = ", ".join(clock(moment) for moment in kept.times.after(now, 3))
    job = "batch" if kept.schedule.batch is not None else "prompt"
    return f"{one_line(kept.schedule.name)}  {job}  {one_line(str(kept.times))}  next {upcoming}"


def _say_missed(name: str, times: Sequence[float], why: str) -> None:
    named = ", ".join(clock(moment) for moment in times[-SHOWN_MISSED:])
    more = f"{len(times) - SHOWN_MISSED} more and " if len(times) > SHOWN_MISSED else ""
    what = "1 time was missed" if len(times) == 1 else f"{len(times)} times were missed"
    say(f"{paint('missed', YELLOW)} {one_line(name)}: {what}, {why}: {more}{named}")


class Teller:
    """Says what happens, a line each."""

    def __init__(self, file: Path, choice: Choice) -> None:
        self._file = file
        self._choice = choice

    def __call__(self, event: Served) -> None:
        """Say it."""
        if isinstance(event, Serving):
            self._begin(event)
        elif isinstance(event, TurnBegan):
            where = flow_run_page(self._choice, str(event.flow_run_id)) or f"flow run {event.flow_run_id}"
            self._say(event.name, "begins", where)
        elif isinstance(event, TurnEnded):
            colour = GREEN if event.state == "Completed" else YELLOW if event.state in PASSED else RED
            self._say(event.name, paint(one_line(event.state), colour), one_line(event.message, MESSAGE))
        elif isinstance(event, TakenUp):
            self._say(event.name, "goes on", f"edition {one_line(event.edition)} was cut off, {event.left} items left")
        elif isinstance(event, LeftBehind):
            why = "it died each time that it was gone on with" if event.again else "the next one was due"
            told = f"edition {one_line(event.edition)} was cut off, {event.left} items left: {why}; to go on with it: "
            how = f"prefect deployment run '{one_line(event.deployment)}' -p edition={one_line(event.edition)}"
            self._say(event.name, paint("left", YELLOW), told + how)
        elif isinstance(event, Missed):
            _say_missed(event.name, event.times, "Prefect's server was away")
        elif isinstance(event, ServerAway):
            self._say("Prefect", paint("does not answer", RED), f"what runs goes on: {one_line(event.said, 200)}")
        elif isinstance(event, FileChanged):
            again = "what is served is as it was read; serve it anew to use it"
            say(f"{paint('note', YELLOW)} {printable(str(self._file))} has changed: {again}")
        else:
            assert isinstance(event, ServerBack), "there is no other event"
            self._say("Prefect", paint("answers again", GREEN), "")

    def _begin(self, event: Serving) -> None:
        for one in event.registered:
            name = one.kept.schedule.name
            upcoming = event.upcoming.get(name)
            state = "paused in Prefect" if one.paused else f"next {clock(upcoming)}" if upcoming else "never again"
            kept = "" if one.new else paint("  as before, with what was changed in Prefect", DIM)
            say(f"{paint(one_line(name), BOLD)}  {one_line(str(one.kept.times))}  {state}{kept}")
            say(paint(f"  at once: prefect deployment run '{one_line(one.full_name)}'", DIM))
        for name, times in event.missed.items():
            _say_missed(name, times, "nobody served it then")
        say(f"serving {self._file}; Ctrl-C ends it")

    def _say(self, name: str, what: str, told: str) -> None:
        say(f"{paint(clock(time.time()), DIM)}  {paint(one_line(name), BOLD)}  {what}  {told}")
