"""Schedules as they are written: what is read, what is refused, when they are due, and whose turn it is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect.client.schemas.objects import FlowRun
from prefect.context import FlowRunContext

from atomic.errors import FolderBusy, PolicyError, SettingsError
from atomic.record import Owner
from atomic.settings import Settings
from flows.batch import BatchRun
from flows.batch.stopping import TERMINATED
from flows.cli.batches import shown_editions
from flows.cli.serving_schedules import Teller
from flows.database import Counts, Database, EditionState, ItemRow, control, editions, loading
from flows.database.editions import DIED
from flows.history import batches_page
from flows.schedule import read_schedules, taking
from flows.schedule.deployments import deployment_of
from flows.schedule.missed import missed_times
from flows.schedule.reading import Kept, check_jobs
from flows.schedule.said import LeftBehind
from flows.schedule.taking import How
from flows.schedule.times import Times, edition_of, moment_of
from flows.schedule.turns import Begin, Due, Pass, Queue, cut_off, left_behind, whose_turn
from flows.server import Choice
from tests.flows.databases import Where

SHIPPED = Path(__file__).parents[2] / "deployments" / "schedules.toml"
SOUND = """# ours
[[schedule]]
name = "nightly"
cron = "0 2 * * *"
timezone = "Europe/Berlin"
batch = { input = "prompts.jsonl", agent = "scripted", models = ["scripted/ok"], max_cost = 5 }

[[schedule]]
name = "standup"
rrule = "FREQ=WEEKLY;BYDAY=MO,TH;BYHOUR=8"
overlap = "queue"
late = "1h"
deadline = "06:00"
[schedule.prompt]
text = "hello"
agent = "scripted"
models = ["scripted/ok"]

[[schedule]]
name = "often"
interval = "10m"
prompt = { file = "ask.md" }
"""


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        file = tmp_path / "schedules.toml"
        file.write_text(text)
        return file

    return write


def test_what_the_file_says_is_kept_with_whole_paths(written: Callable[[str], Path]) -> None:
    file = written(SOUND)
    nightly, standup, often = read_schedules(file)
    assert (nightly.place, standup.place, often.place) == (f"{file}:3", f"{file}:9", f"{file}:20")
    assert nightly.schedule.batch is not None
    assert nightly.schedule.batch.input == file.parent / "prompts.jsonl"
    assert nightly.schedule.batch.cwd == file.parent
    assert (nightly.late, standup.late) == (300, 3600)
    assert often.schedule.prompt is not None
    assert often.schedule.prompt.file == file.parent / "ask.md"
    assert often.times.interval == 600


@pytest.mark.parametrize(
    ("old", "new", "line", "said", "nearest"),
    [
        ('"0 2 * * *"', '"0 25 * * *"', 4, "cron: '0 25 * * *' cannot be kept", None),
        ('"0 2 * * *"', '"0 2 31 2 *"', 4, "cron: '0 2 31 2 *' cannot be kept", None),
        ('"0 2 * * *"', "5", 4, "cron: expected text, found a whole number", None),
        ("Europe/Berlin", "Europe/Berln", 5, "no time zone 'Europe/Berln'", "Europe/Berlin"),
        ("input =", "inptu =", 6, "unknown key batch.inptu", "input"),
        ("input = ", "output = ", 6, "batch.input: is missing", None),
        ("max_cost = 5", "max_cost = -5", 6, "batch.max_cost: expected a number of at least 0", None),
        ('name = "standup"', 'name = "nightly"', 9, "there is a schedule 'nightly' at", None),
        ('name = "standup"', 'name = "stand/up"', 9, "is blank, or holds control codes", None),
        ("FREQ=WEEKLY", "FREQ=WEKLY", 10, "cannot be kept: invalid 'FREQ': WEKLY", None),
        ("FREQ=WEEKLY", "FREQ=SECONDLY", 10, "interval is for less than an hour", None),
        ('overlap = "queue"', 'overlap = "wait"', 11, 'overlap: expected one of "skip" or "queue"', None),
        ('late = "1h"', 'late = "1 hour"', 12, "late: '1 hour' is no length of time", None),
        ('deadline = "06:00"', 'deadline = "dawn"', 13, "deadline: 'dawn' is no deadline", None),
        ('text = "hello"', 'texxt = "hello"', 15, "unknown key prompt.texxt", "text"),
        ('text = "hello"\n', "", 14, "prompt: give either text or file", None),
        ('interval = "10m"', "", 20, "when it is carried out is missing", None),
        ('interval = "10m"', 'interval = "10m"\ncron = "@daily"', 21, "not cron and interval", None),
        ('interval = "10m"', "interval = 0.5", 21, "shorter than a second", None),
        ('prompt = { file = "ask.md" }', "", 20, "what is carried out is missing", None),
        ('name = "often"', 'nmae = "often"', 20, "unknown key nmae", "name"),
        ("# ours", "schedules = 1", 1, "unknown key schedules", "schedule"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_what_was_meant(
    written: Callable[[str], Path], old: str, new: str, line: int, said: str, nearest: str | None
) -> None:
    assert old in SOUND
    file = written(SOUND.replace(old, new, 1))
    with pytest.raises(SettingsError) as caught:
        read_schedules(file)
    assert caught.value.message.startswith(f"{file}:{line}: ")
    assert said in caught.value.message
    assert "\n" not in caught.value.message
    if nearest is not None:
        assert (caught.value.nearest, caught.value.line) == (nearest, line)


@pytest.mark.parametrize("text", ["", "schedule = []", "schedule = 1", "[schedule]\nname = 'x'"])
def test_a_file_without_a_schedule_is_refused(written: Callable[[str], Path], text: str) -> None:
    with pytest.raises(SettingsError, match="there is no schedule in it"):
        read_schedules(written(text))


def test_schedules_as_inline_tables_are_read_too(written: Callable[[str], Path]) -> None:
    (kept,) = read_schedules(written('schedule = [{ name = "x", interval = 60, prompt = { text = "hello" } }]'))
    assert kept.schedule.job.policy is None


def test_an_unknown_policy_is_named_at_the_schedule(written: Callable[[str], Path], tmp_path: Path) -> None:
    settings = Settings.model_validate({"home": tmp_path, "policy": {"careful": {"models": ["scripted/ok"]}}})
    file = written(SOUND.replace('models = ["scripted/ok"], max', 'policy = "carefull", max'))
    with pytest.raises(PolicyError) as caught:
        check_jobs(read_schedules(file)[:1], settings)
    assert caught.value.message.startswith(f"{file}:3: schedule nightly: ")
    assert caught.value.nearest == "careful"


def test_sessions_that_would_be_in_each_other_s_way_are_refused_before_any_night(
    written: Callable[[str], Path], tmp_path: Path
) -> None:
    file = written(SOUND)
    (nightly, *_) = read_schedules(file)
    assert nightly.schedule.batch is not None
    check_jobs([nightly], Settings(home=tmp_path))  # there is no input yet
    nightly.schedule.batch.input.write_text('{"custom_id": "a", "prompt": "a"}\n{"custom_id": "b", "prompt": "b"}\n')
    with pytest.raises(FolderBusy, match="schedule nightly: 2 items would be run in"):
        check_jobs([nightly], Settings(home=tmp_path))
    check_jobs([nightly], Settings(home=tmp_path, shared=True))


def test_the_shipped_file_can_be_served(tmp_path: Path) -> None:
    schedules = read_schedules(SHIPPED)
    check_jobs(schedules, Settings(home=tmp_path))
    inputs = [kept.schedule.batch.input for kept in schedules if kept.schedule.batch is not None]
    assert inputs
    assert all(path.exists() for path in inputs)


async def test_a_deployments_parameters_are_those_of_its_flow(written: Callable[[str], Path]) -> None:
    from flows.schedule.flow import scheduled_batch, scheduled_prompt

    file = written(SOUND)
    for kept in [*read_schedules(file), *read_schedules(SHIPPED)]:
        deployment = await deployment_of(kept, file, Path("settings.toml"))
        flow = scheduled_batch if kept.schedule.batch is not None else scheduled_prompt
        assert deployment.entrypoint == f"flows.schedule.flow.{flow.fn.__name__}"
        assert deployment.enforce_parameter_schema
        validated = flow.validate_parameters(deployment.parameters)
        assert (validated["name"], validated["late"]) == (kept.schedule.name, kept.late)
        with pytest.raises(Exception, match="overlap"):
            flow.validate_parameters({**deployment.parameters, "overlap": "perhaps"})


async def test_a_deployments_version_tells_whether_the_file_has_changed(written: Callable[[str], Path]) -> None:
    file = written(SOUND)
    same = [(await deployment_of(kept, file)).version for kept in read_schedules(file)]
    file = written(f"# a comment\n{SOUND.replace('max_cost = 5', 'max_cost = 6')}")
    after = [(await deployment_of(kept, file)).version for kept in read_schedules(file)]
    assert [before == now for before, now in zip(same, after, strict=True)] == [False, True, True]


# When


def test_a_night_is_at_two_by_the_clock_on_the_wall_whatever_the_season() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    times = Times.of("30 3 * * *", None, None, "Europe/Berlin")
    start = datetime(2027, 3, 26, 12, tzinfo=berlin).timestamp()
    found = [datetime.fromtimestamp(moment, berlin) for moment in times.after(start, 4)]
    assert [(at.day, at.hour, at.minute) for at in found] == [(27, 3, 30), (28, 3, 30), (29, 3, 30), (30, 3, 30)]
    assert found[1].timestamp() - found[0].timestamp() == 23 * 3600


@given(st.datetimes(datetime(2026, 1, 1), datetime(2030, 1, 1)), st.integers(1, 5 * 86_400))  # noqa: DTZ001
def test_an_interval_is_due_at_the_same_times_whenever_it_was_started(start: datetime, seconds: int) -> None:
    times = Times(None, float(seconds), None, "UTC")
    moment = start.replace(tzinfo=UTC).timestamp()
    first, second = times.after(moment, 2)
    assert moment < first <= moment + seconds + 1
    assert second - first == seconds
    assert times.after(first - 1.5, 1) == [first]


@pytest.mark.parametrize("moment", [1e30, -1e30, float("inf")])
def test_a_moment_that_no_calendar_has_is_followed_by_none(moment: float) -> None:
    assert Times.of("30 3 * * *", None, None, "Europe/Berlin").after(moment, 1) == []


def test_a_rule_without_a_beginning_does_not_move_with_its_start() -> None:
    times = Times.of(None, None, "FREQ=WEEKLY;BYDAY=MO;BYHOUR=2", "UTC")
    (first,) = times.after(datetime(2026, 12, 1, tzinfo=UTC).timestamp(), 1)
    assert datetime.fromtimestamp(first, UTC) == datetime(2026, 12, 7, 2, tzinfo=UTC)


@given(st.integers(0, 4_000_000_000))
def test_an_editions_name_holds_its_time(moment: int) -> None:
    assert moment_of(edition_of(moment)) == moment
    assert moment_of(f"{edition_of(moment)}-2") is None


# Whose turn

AT = 1_800_000_000.0
DAY = 86_400.0


def _edition(name: str = "before", **given: Any) -> EditionState:
    base: dict[str, Any] = {
        "id": 1,
        "batch": "nightly",
        "name": name,
        "status": "finished",
        "reason": "",
        "alive": False,
        "owner": None,
        "control": "run",
        "control_by": None,
        **dict.fromkeys(("input", "fingerprint", "output"), ""),
        **dict.fromkeys(("created_at", "begun_at", "heartbeat_at"), AT - DAY),
        "ended_at": None,
        "counts": Counts(answered=3),
    }
    return EditionState(**{**base, **given})


OWNER = Owner(pid=7, process_started=1.0, boot_id="b", host="there", user="ada")
RUNNING = _edition(status="running", alive=True, owner=OWNER, counts=Counts(running=1, pending=2))
DEAD = _edition(status="running", owner=OWNER, counts=Counts(running=1, pending=2))
DUE = Due(AT, AT + DAY)


def test_a_night_begins_as_the_edition_of_its_time() -> None:
    for there in ([], [_edition()], [DEAD], [_edition(status="stopped", counts=Counts(pending=1))]):
        assert whose_turn(DUE, "skip", 300, there, AT + 5) == Begin(edition_of(AT))


def test_a_night_gives_way_to_one_that_runs_and_not_to_one_that_died() -> None:
    turn = whose_turn(DUE, "skip", 300, [RUNNING], AT + 5)
    assert isinstance(turn, Pass)
    assert (turn.state, turn.edition) == ("Skipped", edition_of(AT))
    assert "process 7 of ada on there" in turn.reason


def test_a_queued_night_waits_and_gives_way_to_the_next_one() -> None:
    assert whose_turn(DUE, "queue", 300, [RUNNING], AT + 5) == Queue()
    assert whose_turn(DUE, "queue", 300, [RUNNING], AT + DAY - 1) == Queue()
    assert isinstance(whose_turn(DUE, "queue", 300, [RUNNING], AT + DAY), Pass)


def test_a_night_that_has_waited_begins_when_the_one_before_ends_or_dies_however_late() -> None:
    waited = Due(AT, AT + DAY, waited=True)
    for there in ([_edition()], [DEAD]):
        assert whose_turn(waited, "queue", 5, there, AT + DAY / 2) == Begin(edition_of(AT))
    turn = whose_turn(waited, "queue", 5, [_edition()], AT + DAY)
    assert isinstance(turn, Pass)
    assert turn.state == "Skipped"


def test_a_night_whose_time_has_passed_or_whose_next_has_come_is_missed() -> None:
    assert whose_turn(DUE, "skip", 300, [], AT + 300) == Begin(edition_of(AT))
    for due, now in ((DUE, AT + 301), (Due(AT, AT + 60), AT + 60)):
        turn = whose_turn(due, "skip", 300, [], now)
        assert isinstance(turn, Pass)
        assert turn.state == "Missed"


@pytest.mark.parametrize("cancelled", [False, True])
async def test_what_waits_begins_when_the_process_before_is_killed_unless_it_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cancelled: bool
) -> None:
    where = Where("", tmp_path)
    where.url = f"sqlite:///{tmp_path / 'history.db'}"
    database = where.open()
    looked = asyncio.Event()

    async def look(_: UUID) -> bool:
        looked.set()
        return cancelled

    monkeypatch.setattr(taking, "_cancelled", look)
    monkeypatch.setattr(taking, "LOOK", 0.01)
    try:
        before = where.hold()
        due = Due(time.time() - 200, time.time() + DAY)
        waiting = asyncio.ensure_future(
            taking._turn(database, "nightly", due, How("queue", 300, None, None), UUID(int=0))
        )
        await looked.wait()
        if cancelled:
            assert await waiting is None
            return
        assert not waiting.done()
        before.kill()
        before.wait()
        assert await waiting == Begin(edition_of(due.at))
    finally:
        where.end()


def test_by_hand_what_is_left_is_gone_on_with_and_nothing_is_late() -> None:
    due = Due(AT, AT + DAY, by_hand=True)
    stopped = _edition("left", status="stopped", reason="out of budget", counts=Counts(pending=1))
    skipped = _edition("none", status="skipped", counts=Counts())
    assert whose_turn(due, "skip", 300, [skipped, stopped], AT + DAY) == Begin("left")
    assert whose_turn(due, "skip", 300, [skipped, _edition()], AT + DAY) == Begin(edition_of(AT))


def test_an_edition_that_is_named_is_carried_out_unless_it_runs() -> None:
    due = Due(AT, AT + DAY, edition="before")
    assert whose_turn(due, "queue", 300, [DEAD], AT + DAY) == Begin("before")
    assert isinstance(whose_turn(due, "queue", 300, [RUNNING], AT), Pass)


@pytest.mark.parametrize(
    ("edition", "goes_on"),
    [
        (DEAD, True),
        (RUNNING, False),
        (_edition(), False),
        (_edition(status="stopped", reason=DIED, counts=Counts(pending=1)), True),
        (_edition(status="stopped", reason=TERMINATED, counts=Counts(pending=1)), True),
        (_edition(status="stopped", reason="the budget of $5 is used up", counts=Counts(pending=1)), False),
        (_edition(status="stopped", reason="somebody asked it to stop", counts=Counts(pending=1)), False),
    ],
)
def test_what_nobody_wanted_to_end_is_gone_on_with_until_the_next_is_due(edition: EditionState, goes_on: bool) -> None:
    there = [_edition("later", status="skipped"), edition, DEAD]
    assert (cut_off(there, AT + 10, AT) is edition) is goes_on
    assert cut_off(there, AT, AT) is None


def test_what_was_cut_off_is_said_to_be_left_once_the_next_is_due_or_has_begun() -> None:
    finished, skipped = _edition("later"), _edition("none", status="skipped", counts=Counts())
    assert left_behind([DEAD], AT + 10, AT) is None  # it is gone on with by itself
    assert left_behind([skipped, DEAD], AT, AT) is DEAD
    for later in (finished, RUNNING):
        assert left_behind([later, skipped, DEAD], AT + DAY, AT) is DEAD
    assert left_behind([finished, finished, DEAD], AT, AT) is None  # long ago
    wanted = _edition(status="stopped", reason="somebody asked it to stop", counts=Counts(pending=1))
    assert left_behind([finished, wanted], AT, AT) is None
    assert left_behind([RUNNING], AT, AT) is None


def test_what_is_left_is_said_with_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    tell = Teller(Path("schedules.toml"), cast("Choice", None))
    tell(LeftBehind("nightly", "20261201-010000", 7, "scheduled-batch/nightly", again=False))
    said = capsys.readouterr().err
    assert "edition 20261201-010000 was cut off, 7 items left: the next one was due" in said
    assert "prefect deployment run 'scheduled-batch/nightly' -p edition=20261201-010000" in said


def test_missed_are_the_times_since_the_last_edition(written: Callable[[str], Path]) -> None:
    kept: Kept = read_schedules(written(SOUND))[0]
    monday = datetime(2026, 12, 7, 1, tzinfo=UTC)
    there = [_edition("by hand"), _edition(edition_of(monday.timestamp()))]
    now = monday + timedelta(days=3, minutes=1)
    missed = missed_times(kept, there, now.timestamp())
    assert [datetime.fromtimestamp(moment, UTC).day for moment in missed] == [8, 9]
    assert missed_times(kept, [], now.timestamp()) == []
    often = read_schedules(written(SOUND.replace("10m", "1m")))[2]
    there = [_edition(edition_of(monday.timestamp()))]
    missed = missed_times(often, there, monday.timestamp() + 200)
    assert [moment - monday.timestamp() for moment in missed] == [60, 120]  # and 180 is begun, late as it is


# What is noted


def test_a_skipped_edition_is_seen_and_gone_on_with_only_by_name(tmp_path: Path) -> None:
    database = Database.open(home=tmp_path)
    try:
        first = editions.begin(database, "nightly", edition="monday")
        editions.finish(database, first)
        assert editions.skip(database, "nightly", "tuesday", reason="missed: nobody was there")
        assert not editions.skip(database, "nightly", "tuesday", reason="again")
        assert not editions.skip(database, "nightly", "monday", reason="it is there")
        told = [(one.name, one.status, one.reason) for one in control.editions_of(database, "nightly")]
        assert told == [("tuesday", "skipped", "missed: nobody was there"), ("monday", "finished", "")]
        unnamed = editions.begin(database, "nightly")
        assert unnamed.name == "monday"
        editions.finish(database, unnamed)
        taken = editions.begin(database, "nightly", edition="tuesday")
        assert (taken.name, taken.resumed, taken.taken_from) == ("tuesday", True, None)
        editions.finish(database, taken)
    finally:
        database.close()


def test_a_listing_shows_the_night_that_was_passed_over_and_what_was_left_before(tmp_path: Path) -> None:
    database = Database.open(home=tmp_path)
    try:
        left = editions.begin(database, "nightly", edition="monday")
        loading.load(database, left, [ItemRow("one", "d", "")])
        editions.finish(database, left, reason="it was cancelled in Prefect")
        editions.skip(database, "nightly", "tuesday", reason="missed: nobody was there")
        told = [(one.name, one.reason) for one in shown_editions(database)]
        assert told == [("tuesday", "missed: nobody was there"), ("monday", "it was cancelled in Prefect")]
    finally:
        database.close()


@pytest.mark.parametrize("begun", [False, True])
async def test_a_night_that_is_refused_is_noted_unless_it_had_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: bool
) -> None:
    async def refuse(run: BatchRun, flow_run: FlowRun) -> None:
        if begun:
            database = Database.open(home=tmp_path / "home")
            editions.finish(database, editions.begin(database, "nightly", edition=edition_of(at)))
            database.close()
        raise FolderBusy("another session is at work in there")

    async def due(*_: object) -> Due:
        return Due(at, None)

    at = float(int(time.time()))
    (tmp_path / "in.txt").write_text("hello\n")
    monkeypatch.setattr(taking, "carry_out_in", refuse)
    monkeypatch.setattr(taking, "_due", due)
    settings = Settings(home=tmp_path / "home")
    monkeypatch.setattr(taking, "load_settings", lambda *_: settings)
    context = SimpleNamespace(flow_run=SimpleNamespace(id=UUID(int=0)))
    monkeypatch.setattr(FlowRunContext, "get", lambda: context)
    given = {"input": str(tmp_path / "in.txt"), "name": "nightly", "agent": "scripted", "models": ["scripted/ok"]}
    state = await taking.take_turn(given, How("skip", 300, None, None))
    assert state.is_failed()
    assert state.message == "another session is at work in there"
    database = Database.open(home=tmp_path / "home")
    try:
        [edition] = control.editions_of(database, "nightly")
    finally:
        database.close()
    assert edition.name == edition_of(at)
    told = ("finished", "") if begun else ("skipped", "it could not begin: another session is at work in there")
    assert (edition.status, edition.reason) == told


def test_the_newest_is_what_began_last_in_whatever_order_the_rows_were_written(tmp_path: Path) -> None:
    database = Database.open(home=tmp_path)
    try:
        for batch, edition, at in (("b", "later", 300.0), ("b", "earlier", 100.0), ("a", "between", 200.0)):
            editions.finish(database, editions.begin(database, batch, edition=edition, now=at))
        assert [one.name for one in control.editions_of(database, "b")] == ["later", "earlier"]
        assert control.batch_names(database) == ["b", "a"]
        assert [row.name for row in batches_page(database, limit=5).rows] == ["b", "a"]
        assert editions.begin(database, "b").name == "later"
    finally:
        database.close()


def test_a_batch_that_only_ever_was_skipped_begins_anew(tmp_path: Path) -> None:
    database = Database.open(home=tmp_path)
    try:
        editions.skip(database, "nightly", "monday", reason="missed")
        assert not editions.begin(database, "nightly").resumed
    finally:
        database.close()
