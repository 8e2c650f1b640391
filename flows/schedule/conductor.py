"""Serving schedules: what is due begins, what a kill cut off goes on, and the server may come and go meanwhile.

Prefect's own runner ends its flow runs when the server does not answer for half a minute. A night's work must not end
with a server's restart, so flow runs are started here, by the same calls.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import httpx
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas import OrchestrationResult
from prefect.client.schemas.objects import FlowRun, State
from prefect.client.schemas.responses import SetStateStatus
from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError
from prefect.states import Cancelled, Crashed, Pending, Scheduled

from atomic.errors import ServerError
from atomic.record.files import make_folder
from atomic.runner import open_store
from atomic.settings import Settings
from flows.database import Database, EditionState
from flows.recovery import recover_flows
from flows.schedule.deployments import Registered, register
from flows.schedule.missed import close_missed, note, note_missed
from flows.schedule.processes import FlowProcess, start, stop_all
from flows.schedule.reading import Kept
from flows.schedule.said import (
    FileChanged,
    LeftBehind,
    Missed,
    OnServed,
    ServerAway,
    ServerBack,
    Serving,
    TakenUp,
    TurnBegan,
    TurnEnded,
)
from flows.schedule.taking import FOLDER, known_editions
from flows.schedule.times import moment_of
from flows.schedule.turns import cut_off, left_behind

LOOK = 2.0  # seconds between two looks at what is due; a look costs the server some 5 ms
LOOK_LIMIT = 30.0  # seconds for one look, before the server is taken to be away
MOST_WAIT = 60.0  # seconds between two tries to reach a server that is away; the first come after LOOK
TAKE_UP_EVERY = 5.0  # seconds between two looks at what was cut off
CANCEL_PATIENCE = 10.0  # seconds for a flow run to see by itself that it was cancelled: it looks every two
MOST_TAKEN_UP = 3  # times that an edition is gone on with by itself: what dies each time, dies of itself
AWAY = (httpx.HTTPError, PrefectHTTPStatusError, ServerError, TimeoutError, OSError, RuntimeError)


class Conductor:
    """Serves the schedules of one file until it is told to stop."""

    def __init__(
        self,
        schedules: Sequence[Kept],
        file: Path,
        settings: Settings,
        *,
        config: Path | None = None,
        find_server: Callable[[], None],
        on_event: OnServed,
    ) -> None:
        """``find_server`` makes Prefect's client talk to a server, and starts that where it is ours; it raises
        ServerError."""
        self._schedules = schedules
        self._file = file
        self._settings = settings
        self._config = config
        self._find_server = find_server
        self._tell = on_event
        self._folder = settings.home / FOLDER
        self._as_read = _written(file)
        self._registered: dict[UUID, Registered] = {}
        self._processes: dict[UUID, FlowProcess] = {}
        self._taken_up: dict[tuple[str, str], int] = {}
        self._left_behind: set[tuple[str, str]] = set()  # editions of which that was said
        self._going_on: dict[str, UUID] = {}  # by schedule: the flow run that is to go on
        self._cancelling: dict[UUID, float] = {}  # since when
        self._looked_at = float("-inf")
        self._served = self._ending = False

    async def until(self, stop: asyncio.Event) -> None:
        """Serve until ``stop`` is set; then end what is at work. Raises DatabaseError, PlaceError."""
        make_folder(self._folder)
        database = await asyncio.to_thread(Database.open, self._settings.history.url, home=self._settings.home)
        try:
            await self._serve(database, stop)
        finally:
            self._ending = True
            killed = await stop_all(list(self._processes.values()))
            with contextlib.suppress(*AWAY):
                async with asyncio.timeout(LOOK_LIMIT), get_client() as client:
                    await self._settle(client)
            if killed:
                await recover_flows(open_store(self._settings))
            await asyncio.to_thread(database.close)

    async def _serve(self, database: Database, stop: asyncio.Event) -> None:
        wait = LOOK
        away = False
        while not stop.is_set():
            try:
                async with get_client() as client:
                    async with asyncio.timeout(LOOK_LIMIT):
                        await self._begin(client, database)
                    if away:
                        self._tell(ServerBack())
                    away, wait = False, LOOK
                    while not stop.is_set():
                        async with asyncio.timeout(LOOK_LIMIT):
                            await self._look(client, database)
                        await _sleep(stop, LOOK)
            except AWAY as error:
                if not away:
                    self._tell(ServerAway(str(error) or type(error).__name__))
                away = True
                await _sleep(stop, wait)
                wait = min(wait * 2, MOST_WAIT)
                if not stop.is_set():
                    with contextlib.suppress(ServerError):
                        self._find_server()

    async def _begin(self, client: PrefectClient, database: Database) -> None:
        """Register; note what was missed while nobody served, once."""
        registered = await register(client, self._schedules, self._file, self._config)
        self._registered = {one.id: one for one in registered}
        if not self._served:
            now = time.time()
            missed = await note_missed(client, database, registered, now)
            self._served = True
            upcoming = {one.schedule.name: one.times.after(now, 1) for one in self._schedules}
            self._tell(
                Serving(tuple(registered), missed, {name: found[0] for name, found in upcoming.items() if found})
            )

    async def _look(self, client: PrefectClient, database: Database) -> None:
        """Begin what is due, end what was cancelled, close what has ended, go on with what was cut off."""
        await self._settle(client)
        if (written := _written(self._file)) != self._as_read:
            self._as_read = written
            self._tell(FileChanged())
        now = datetime.now(UTC)
        due = await client.get_scheduled_flow_runs_for_deployments(list(self._registered), scheduled_before=now)
        for one in self._registered.values():
            own = [run for run in due if run.deployment_id == one.id and run.id not in self._processes]
            begin, missed = await close_missed(client, own, one.kept.late, now.timestamp())
            if noted := await note(database, one.kept, missed):
                self._tell(Missed(one.kept.schedule.name, tuple(noted)))
            for run in begin:
                await self._start(client, run, one.kept.schedule.name)
        for flow_run_id, process in self._processes.items():
            state = (await client.read_flow_run(flow_run_id)).state
            if state is not None and state.is_cancelling():
                seen = self._cancelling.setdefault(flow_run_id, time.monotonic())
                if time.monotonic() - seen >= CANCEL_PATIENCE:
                    process.interrupt()
        if time.monotonic() - self._looked_at >= TAKE_UP_EVERY:
            self._looked_at = time.monotonic()
            await self._take_up(client, database)

    async def _start(self, client: PrefectClient, run: FlowRun, name: str) -> None:
        proposed: OrchestrationResult[object] = await client.set_flow_run_state(run.id, Pending())
        if proposed.status != SetStateStatus.ACCEPT:
            return  # somebody else serves it, or it was cancelled meanwhile
        self._processes[run.id] = start(run.id, name, self._folder)
        self._tell(TurnBegan(name, run.id))

    async def _settle(self, client: PrefectClient) -> None:
        """Close in Prefect what has ended without saying so. Where the server is away it is tried again."""
        for flow_run_id, process in list(self._processes.items()):
            code = process.code
            if code is None:
                continue
            try:
                run = await client.read_flow_run(flow_run_id)
            except ObjectNotFound:
                self._forget(flow_run_id)
                continue
            state = run.state
            if state is None or not state.is_final():
                state = self._unsaid(run, code)
                await client.set_flow_run_state(flow_run_id, state, force=True)
                await recover_flows(open_store(self._settings))
            self._forget(flow_run_id)
            self._tell(TurnEnded(process.name, flow_run_id, state.name or "", state.message or ""))

    def _unsaid(self, run: FlowRun, code: int) -> State[object]:
        """The state of a flow run whose process ended before it could say so."""
        if run.state is not None and run.state.is_cancelling():
            return Cancelled()
        if self._ending and run.state is not None and run.state.is_pending():
            return Scheduled(scheduled_time=run.expected_start_time)  # it had not begun: whoever serves next begins it
        return Crashed(message=f"its process ended with {code}")

    def _forget(self, flow_run_id: UUID) -> None:
        name = self._processes.pop(flow_run_id).name
        self._cancelling.pop(flow_run_id, None)
        if self._going_on.get(name) == flow_run_id:
            del self._going_on[name]

    async def _take_up(self, client: PrefectClient, database: Database) -> None:
        """Go on with editions whose processes died, or were ended with the machine."""
        at_work = {process.name for process in self._processes.values()} | self._going_on.keys()
        for one in self._registered.values():
            name = one.kept.schedule.name
            there = await database.apart(known_editions, name)
            following, now = _following(there, one.kept), time.time()
            if left := left_behind(there, following, now):
                self._say_left(one, left, again=False)
            edition = None if name in at_work else cut_off(there, following, now)
            if edition is None:
                continue
            count = self._taken_up.get((name, edition.name), 0) + 1
            if count > MOST_TAKEN_UP:
                self._say_left(one, edition, again=True)
                continue
            self._taken_up[name, edition.name] = count
            run = await client.create_flow_run_from_deployment(
                one.id,
                parameters={"edition": edition.name},
                name=f"{name} goes on",
            )
            self._going_on[name] = run.id
            self._tell(TakenUp(name, edition.name, edition.counts.left))

    def _say_left(self, one: Registered, edition: EditionState, *, again: bool) -> None:
        name = one.kept.schedule.name
        if (name, edition.name) not in self._left_behind:
            self._left_behind.add((name, edition.name))
            self._tell(LeftBehind(name, edition.name, edition.counts.left, one.full_name, again))


def _following(there: Sequence[EditionState], kept: Kept) -> float | None:
    """The scheduled time after that of the newest edition."""
    newest = next((one for one in there if one.status != "skipped"), None)
    if newest is None:
        return None
    moment = moment_of(newest.name)
    following = kept.times.after(newest.created_at if moment is None else moment, 1)
    return following[0] if following else None


def _written(file: Path) -> tuple[int, int] | None:
    """When the file was written, and its size; None where there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


async def _sleep(stop: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
