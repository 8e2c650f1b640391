"""One run: what its caller gets, what it records, and what it refuses before anything is spent."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atomic.agent import Agent
from atomic.errors import (
    AgentNotFound,
    ModelRefError,
    NoModelAnswered,
    PlaceError,
    PolicyError,
    PromptError,
    RecordError,
    UsageError,
)
from atomic.failures import FailureKind
from atomic.models import ModelCatalog, ModelEntry, ModelRef, Price
from atomic.policy import FallbackPolicy, Limits
from atomic.record import AttemptRecord, RunStore
from atomic.runner import (
    AttemptEnded,
    AttemptProgress,
    AttemptStarted,
    RunEnded,
    RunEvent,
    RunRequest,
    RunResult,
    RunStarted,
    Waiting,
    check_budget,
    execute,
    prepare,
    run,
    run_sync,
)
from atomic.session import AttemptSpec, Progress
from atomic.settings import Settings
from atomic.verdict.facts import Status, Usage, Verdict

KIND = FailureKind
OK = Verdict(
    status=Status.ANSWERED,
    answer="yes",
    complete=True,
    usage=Usage(input=10, output=5, cost_usd=0.5),
    cost_usd=0.5,
)


def bad(kind: FailureKind, **more: Any) -> Verdict:
    return Verdict(status=Status.FAILED, kind=kind, message=f"it was {kind}", **more)


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class Scripted:
    """Carries attempts out by a list of verdicts; keeps what each was asked."""

    def __init__(self, *verdicts: Verdict, clock: Clock, session: bool = False) -> None:
        self.verdicts = list(verdicts)
        self.specs: list[AttemptSpec] = []
        self.clock = clock
        self.session = session

    async def __call__(
        self, spec: AttemptSpec, *, on_progress: Callable[[Progress], None] | None = None
    ) -> AttemptRecord:
        self.specs.append(spec)
        record = begin(spec)
        if self.session:
            spec.folder.session.write_text("{}\n")
        if on_progress is not None:
            on_progress(Progress(spec.n, None, 0.0, Usage(), 0, None, 0, 0, "thinking", 0))
        verdict = self.verdicts[spec.n - 1]
        record = record.concluded(
            verdict, ended_at=self.clock.now, session_file="session/session.jsonl" if self.session else None
        )
        spec.folder.write(record)
        return record


def begin(spec: AttemptSpec) -> AttemptRecord:
    spec.folder.create(spec.prompt)
    model = None if spec.model is None else str(spec.model)
    name = spec.folder.path.name
    record = AttemptRecord(run_id=spec.run_id, n=spec.n, model=model, carry=spec.carry_from is not None, record=name)
    spec.folder.write(record)
    return record


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "records", home=tmp_path / "home", fsync=False)


@pytest.fixture
def conf(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


def request_of(policy: FallbackPolicy, **more: Any) -> RunRequest:
    return RunRequest(prompt=b"do it", policy=policy, agent=Agent(command=("/bin/true",)), cwd=Path("/"), **more)


async def carried_out(
    store: RunStore, clock: Clock, policy: FallbackPolicy, *verdicts: Verdict, **more: Any
) -> tuple[RunResult, Scripted, list[RunEvent]]:
    events: list[RunEvent] = []
    attempts = Scripted(*verdicts, clock=clock, session=more.pop("session", False))
    seams = {key: more.pop(key) for key in ("cooldowns", "key_is_bad", "flow_run_id") if key in more}
    result = await execute(
        request_of(policy, **more),
        store=store,
        run_attempt=attempts,
        on_event=events.append,
        clock=clock,
        sleep=clock.sleep,
        **seams,
    )
    return result, attempts, events


TWO = FallbackPolicy(models=["a/one", "b/one:high"])


class TestRunning:
    async def test_a_model_that_fails_is_followed_by_the_next_and_every_attempt_is_told(
        self, store: RunStore, clock: Clock
    ) -> None:
        verdicts = bad(KIND.OVERFLOW), OK.model_copy(update={"answered_by": "b/one"})
        result, attempts, events = await carried_out(store, clock, TWO, *verdicts, name="risks")
        assert (result.status, result.answer, result.answered_by) == (Status.ANSWERED, "yes", "b/one")
        assert [str(spec.model) for spec in attempts.specs] == ["a/one", "b/one:high"]
        assert [spec.prompt for spec in attempts.specs] == [b"do it", b"do it"]
        told = [event for event in events if not isinstance(event, AttemptProgress)]
        assert [type(event) for event in told] == [
            *(RunStarted, AttemptStarted, AttemptEnded, AttemptStarted, AttemptEnded, RunEnded),
        ]
        assert isinstance(told[0], RunStarted)
        assert told[0].run_id == result.run_id
        assert isinstance(told[3], AttemptStarted)
        assert "overflow" in told[3].reason
        assert isinstance(told[-1], RunEnded)
        assert told[-1].result == result
        assert told[-1].run == store.open(result.run_id).read()
        assert told[-1].attempts == tuple(one.read() for one in store.open(result.run_id).attempts())

    async def test_the_record_holds_what_the_caller_got(self, store: RunStore, clock: Clock) -> None:
        result, _, _ = await carried_out(
            store, clock, TWO, bad(KIND.EMPTY), OK, tags=("x",), metadata={"a": 1}, batch="b", flow_run_id="f"
        )
        record = store.open(result.run_id).read()
        assert (record.status, record.answer, record.answered_by) == ("answered", "yes", "a/one")
        assert record.attempts == result.attempts
        assert record.policy == TWO.model_dump(mode="json")
        assert (record.tags, record.metadata, record.batch, record.flow_run_id) == (("x",), {"a": 1}, "b", "f")
        assert Path(result.record, "run.json").is_file()
        assert len(record.policy_digest) == 64

    async def test_run_json_says_what_is_at_work_while_it_works(self, store: RunStore, clock: Clock) -> None:
        seen: list[tuple[str, list[object]]] = []

        async def look(spec: AttemptSpec, *, on_progress: object = None) -> AttemptRecord:
            live = store.open(spec.run_id).read()
            seen.append((live.status, [attempt.status for attempt in live.attempts]))
            record = begin(spec).concluded(OK if spec.n == 2 else bad(KIND.OVERFLOW), ended_at=clock.now)
            spec.folder.write(record)
            return record

        await execute(request_of(TWO), store=store, run_attempt=look, clock=clock, sleep=clock.sleep)
        assert seen == [("running", [None]), ("running", [Status.FAILED, None])]

    async def test_a_run_that_nobody_answered_has_its_last_kind_and_names_all_models(
        self, store: RunStore, clock: Clock
    ) -> None:
        result, _, _ = await carried_out(store, clock, TWO, bad(KIND.OVERFLOW), bad(KIND.INVALID_REQUEST))
        assert (result.status, result.kind, result.answer) == (Status.FAILED, KIND.INVALID_REQUEST, None)
        assert "a/one: overflow" in result.message
        assert "b/one:high: invalid_request" in result.message
        assert [verdict.kind for verdict in result.verdicts] == [KIND.OVERFLOW, KIND.INVALID_REQUEST]

    async def test_every_model_gets_the_same_agent_folder_and_flags(self, store: RunStore, clock: Clock) -> None:
        _, attempts, _ = await carried_out(store, clock, TWO, bad(KIND.OVERFLOW), OK)
        assert len({(id(spec.agent), spec.cwd, spec.run_id) for spec in attempts.specs}) == 1

    async def test_an_accepted_answer_answers_the_run_with_a_warning(self, store: RunStore, clock: Clock) -> None:
        policy = FallbackPolicy(models=["a/one", "b/one"], on={"overflow": {"accept": "complete"}})
        whole = bad(KIND.OVERFLOW, answer="whole", complete=True)
        result, _, _ = await carried_out(store, clock, policy, whole)
        assert (result.status, result.answer, result.answered_by) == (Status.ANSWERED, "whole", "a/one")
        assert any("accepts a complete answer" in warning for warning in result.warnings)

    async def test_another_model_s_answer_and_the_agent_s_own_retries_are_not_silent(
        self, store: RunStore, clock: Clock
    ) -> None:
        other = OK.model_copy(update={"answered_by": "c/other", "retries": 3, "inner_fallbacks": 1})
        result, _, _ = await carried_out(store, clock, TWO, other)
        assert result.answered_by == "c/other"
        assert result.inner_retries == 3
        assert any("a/one was asked, c/other answered" in warning for warning in result.warnings)
        assert any("tried again 3 times" in warning for warning in result.warnings)

    async def test_without_models_the_agent_s_own_is_asked_once(self, store: RunStore, clock: Clock) -> None:
        result, attempts, _ = await carried_out(store, clock, FallbackPolicy(), bad(KIND.CRASHED))
        assert [spec.model for spec in attempts.specs] == [None]
        assert "two or more" in result.message

    async def test_the_json_has_just_the_promised_names(self, store: RunStore, clock: Clock) -> None:
        result, _, _ = await carried_out(store, clock, TWO, bad(KIND.RATE_LIMIT, retry_at=1300.0), OK)
        data = json.loads(json.dumps(result.to_json()))
        assert list(data) == [
            *("run_id", "name", "status", "kind", "message", "answer", "answered_by", "attempts"),
            *("usage", "cost_usd", "seconds", "record", "flow_run_id", "changes"),
        ]
        assert list(data["usage"]) == ["input", "output", "cacheRead", "cacheWrite", "cost_usd"]
        assert data["attempts"][0] == {
            "n": 1,
            "model": "a/one",
            "status": "failed",
            "kind": "rate_limit",
            "message": "it was rate_limit",
            "answered_by": None,
            "carry": False,
            "retry_at": 1300.0,
            "record": "attempt-1",
        }


class TestWaiting:
    async def test_a_run_waits_for_a_cooldown_and_says_until_when(self, store: RunStore, clock: Clock) -> None:
        policy = FallbackPolicy(models=["a/one"], max_wait=100)
        result, _, events = await carried_out(store, clock, policy, bad(KIND.RATE_LIMIT), OK)
        assert result.answered
        assert clock.slept == [60]
        assert [event.until for event in events if isinstance(event, Waiting)] == [1060]

    async def test_waits_together_never_exceed_the_patience(self, store: RunStore, clock: Clock) -> None:
        policy = FallbackPolicy(models=["a/one"], max_wait=100)
        result, _, _ = await carried_out(store, clock, policy, *[bad(KIND.RATE_LIMIT)] * 8)
        assert (result.status, result.kind) == (Status.FAILED, KIND.RATE_LIMIT)
        assert sum(clock.slept) <= 100
        assert "max_wait" in result.message

    async def test_cooldowns_can_be_shared_with_other_runs(self, store: RunStore, clock: Clock) -> None:
        shared: dict[str, float] = {"model/a/one": 1500.0}
        _, attempts, _ = await carried_out(store, clock, TWO, bad(KIND.RATE_LIMIT), OK, cooldowns=shared)
        assert str(attempts.specs[0].model) == "b/one:high"
        assert shared["model/b/one"] == 1060

    @pytest.mark.parametrize("confirmed", [True, False])
    async def test_a_key_cools_down_only_when_a_request_confirms_that_it_is_bad(
        self, store: RunStore, clock: Clock, confirmed: bool
    ) -> None:
        asked: list[str] = []

        async def key_is_bad(model: ModelRef) -> bool:
            asked.append(str(model))
            return confirmed

        shared: dict[str, float] = {}
        verdicts = bad(KIND.AUTH), bad(KIND.AUTH), OK
        result, attempts, _ = await carried_out(store, clock, TWO, *verdicts, cooldowns=shared, key_is_bad=key_is_bad)
        assert [str(spec.model) for spec in attempts.specs] == ["a/one", "a/one", "b/one:high"]
        assert result.answered
        assert ("credential/a" in shared) is confirmed
        assert asked

    async def test_a_probe_that_fails_confirms_nothing_and_is_told(self, store: RunStore, clock: Clock) -> None:
        async def key_is_bad(model: ModelRef) -> bool:
            raise OSError("no route")

        shared: dict[str, float] = {}
        verdicts = bad(KIND.AUTH), bad(KIND.AUTH), OK
        result, _, _ = await carried_out(store, clock, TWO, *verdicts, cooldowns=shared, key_is_bad=key_is_bad)
        assert result.answered
        assert not shared
        assert any("no route" in warning for warning in result.warnings)


class TestCarrying:
    async def test_after_tools_the_next_model_gets_the_session_and_the_continue_prompt(
        self, store: RunStore, clock: Clock
    ) -> None:
        policy = FallbackPolicy(models=["a/one", "b/one"], continue_prompt="Go on, please.")
        worked = bad(KIND.OVERFLOW, tool_calls=1)
        result, attempts, _ = await carried_out(store, clock, policy, worked, OK, session=True)
        second = attempts.specs[1]
        assert second.prompt == b"Go on, please."
        assert second.carry_from == Path(result.record, "attempt-1", "session", "session.jsonl")
        assert [attempt.carry for attempt in result.attempts] == [False, True]

    async def test_without_tools_the_prompt_itself_is_sent_again(self, store: RunStore, clock: Clock) -> None:
        _, attempts, _ = await carried_out(store, clock, TWO, bad(KIND.OVERFLOW), OK, session=True)
        assert (attempts.specs[1].prompt, attempts.specs[1].carry_from) == (b"do it", None)


class TestSpending:
    async def test_the_next_attempt_may_spend_what_the_earlier_ones_left(self, store: RunStore, clock: Clock) -> None:
        policy = FallbackPolicy(models=["a/one", "b/one"], limits=Limits(tokens=100, cost_usd=2, idle=7))
        spent = bad(KIND.OVERFLOW, usage=Usage(input=30, cost_usd=0.5), cost_usd=0.5)
        _, attempts, _ = await carried_out(store, clock, policy, spent, OK)
        assert [(s.limits.tokens, s.limits.cost_usd, s.limits.idle) for s in attempts.specs] == [
            (100, 2, 7),
            (70, 1.5, 7),
        ]

    async def test_when_the_budget_is_used_up_nothing_more_starts(self, store: RunStore, clock: Clock) -> None:
        policy = FallbackPolicy(models=["a/one", "b/one"], limits=Limits(tokens=100))
        result, attempts, _ = await carried_out(store, clock, policy, bad(KIND.OVERFLOW, usage=Usage(input=100)))
        assert len(attempts.specs) == 1
        assert "100 tokens is used up" in result.message

    async def test_usage_is_of_all_attempts_and_an_unknown_cost_is_not_zero(
        self, store: RunStore, clock: Clock
    ) -> None:
        unpriced = bad(KIND.OVERFLOW, usage=Usage(input=30, output=1))
        result, _, _ = await carried_out(store, clock, TWO, unpriced, OK)
        assert (result.usage.input, result.usage.output) == (40, 6)
        assert result.cost_usd == 0.5
        assert any("nobody knows what its 31 tokens cost" in warning for warning in result.warnings)
        alone, _, _ = await carried_out(store, clock, TWO, unpriced, unpriced)
        assert alone.cost_usd is None

    async def test_an_attempt_that_cost_nothing_does_not_make_an_unknown_cost_zero(
        self, store: RunStore, clock: Clock
    ) -> None:
        nothing_sent = bad(KIND.OVERFLOW, usage=Usage(cost_usd=0), cost_usd=0.0)
        unpriced = OK.model_copy(update={"usage": Usage(input=10, output=5), "cost_usd": None})
        result, _, _ = await carried_out(store, clock, TWO, nothing_sent, unpriced)
        assert (result.cost_usd, result.usage.cost_usd) == (None, None)

    async def test_a_price_that_is_known_fills_in_what_the_stream_does_not_say(
        self, store: RunStore, clock: Clock
    ) -> None:
        catalog = ModelCatalog(table={"a/one": ModelEntry(price=Price(input=2, output=4))})
        silent = OK.model_copy(update={"usage": Usage(input=1_000_000, output=500_000), "cost_usd": None})
        result, _, _ = await carried_out(store, clock, TWO, silent, catalog=catalog)
        assert result.cost_usd == pytest.approx(4)
        kept = store.open(result.run_id).attempt(1).read().verdict
        assert kept is not None
        assert kept.cost_usd == pytest.approx(4)

    async def test_a_session_of_several_models_is_not_priced_as_one(self, store: RunStore, clock: Clock) -> None:
        catalog = ModelCatalog(table={"a/one": ModelEntry(price=Price(input=2, output=4))})
        mixed = OK.model_copy(update={"usage": Usage(input=9), "cost_usd": None, "inner_fallbacks": 1})
        result, _, _ = await carried_out(store, clock, TWO, mixed, catalog=catalog)
        assert result.cost_usd is None

    def test_a_dollar_budget_that_cannot_be_kept_is_refused_unless_tokens_bound_it(self) -> None:
        dollars = FallbackPolicy(models=["a/one", "b/one"], limits=Limits(cost_usd=1))
        with pytest.raises(PolicyError, match="nobody knows the price of b/one") as caught:
            check_budget(dollars, lambda model: model.provider == "a")
        assert caught.value.models == ["b/one"]
        check_budget(dollars, lambda model: True)
        check_budget(dollars.model_copy(update={"limits": Limits(cost_usd=1, tokens=5)}), lambda model: False)
        with pytest.raises(PolicyError, match="default model"):
            check_budget(FallbackPolicy(limits=Limits(cost_usd=1)), lambda model: True)


def test_a_mistyped_level_is_refused_unless_the_model_is_called_so(tmp_path: Path) -> None:
    agent = Agent(command=("/bin/true",), env={"ATOMIC_CODING_AGENT_DIR": str(tmp_path)})
    settings = Settings(home=tmp_path)
    with pytest.raises(ModelRefError, match="did you mean anthropic/claude-opus-4-5:high"):
        prepare("x", models=["a/b", "anthropic/claude-opus-4-5:hihg"], agent=agent, settings=settings)
    (tmp_path / "models.json").write_text('{"providers": {"own": {"models": [{"id": "m:hihg"}]}}}')
    request = prepare("x", models=["own/m:hihg"], agent=agent, settings=settings)
    assert str(request.policy.models[0]) == "own/m:hihg"


class TestKeys:
    async def test_a_key_that_was_answered_gives_the_recorded_answer_and_starts_nothing(
        self, store: RunStore, clock: Clock
    ) -> None:
        first, _, _ = await carried_out(store, clock, TWO, bad(KIND.OVERFLOW), OK, key="triage")
        again, attempts, _ = await carried_out(store, clock, TWO, key="triage")
        assert attempts.specs == []
        assert again.recorded
        assert again.model_copy(update={"recorded": False}) == first

    @pytest.mark.parametrize(
        ("prompt", "folder", "told"),
        [
            (b"else", "/", r"another prompt$"),
            (b"do it", "/tmp", r"another folder \(/\)"),
            (b"else", "/tmp", "another prompt and another folder"),
        ],
    )
    async def test_an_answered_key_is_refused_for_another_prompt_or_folder(
        self, store: RunStore, clock: Clock, prompt: bytes, folder: str, told: str
    ) -> None:
        first, _, _ = await carried_out(store, clock, TWO, OK, key="triage")
        other = RunRequest(prompt=prompt, policy=TWO, agent=Agent(), cwd=Path(folder), key="triage")
        with pytest.raises(UsageError, match=told) as caught:
            await execute(other, store=store, run_attempt=Scripted(clock=clock))
        assert caught.value.run_id == first.run_id
        assert (await carried_out(store, clock, TWO, key="triage"))[0].answer == "yes", "it is as it was"

    async def test_a_recorded_answer_is_given_without_its_prompt(self, store: RunStore, clock: Clock) -> None:
        first, _, _ = await carried_out(store, clock, TWO, OK, key="triage")
        (Path(first.record) / "prompt.md").unlink()
        assert (await carried_out(store, clock, TWO, key="triage"))[0].answer == "yes"

    async def test_a_failed_run_s_key_is_free_again(self, store: RunStore, clock: Clock) -> None:
        await carried_out(store, clock, TWO, bad(KIND.REFUSAL), key="triage")
        result, attempts, _ = await carried_out(store, clock, TWO, OK, key="triage")
        assert result.answered
        assert len(attempts.specs) == 1

    async def test_a_key_whose_run_is_on_its_way_is_refused(self, store: RunStore, clock: Clock) -> None:
        refused: list[UsageError] = []

        async def meanwhile(spec: AttemptSpec, *, on_progress: object = None) -> AttemptRecord:
            try:
                await execute(request_of(TWO, key="triage"), store=store, run_attempt=Scripted(OK, clock=clock))
            except UsageError as error:
                refused.append(error)
            return begin(spec).concluded(OK, ended_at=clock.now)

        await execute(request_of(TWO, key="triage"), store=store, run_attempt=meanwhile)
        assert "already running" in refused[0].message


class TestEndingFromOutside:
    async def test_a_cancelled_run_is_recorded_as_cancelled_and_the_cancel_goes_on(self, store: RunStore) -> None:
        at_work = asyncio.Event()

        async def hang(spec: AttemptSpec, *, on_progress: object = None) -> AttemptRecord:
            record = begin(spec)
            at_work.set()
            try:
                await asyncio.Event().wait()
            finally:
                spec.folder.write(record.concluded(bad(KIND.CANCELLED), ended_at=1.0))
            raise AssertionError

        events: list[RunEvent] = []
        request = request_of(TWO, key="triage")
        task = asyncio.create_task(execute(request, store=store, run_attempt=hang, on_event=events.append))
        await at_work.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (record,) = store.iter_runs()
        assert (record.status, record.kind) == ("failed", KIND.CANCELLED)
        assert [attempt.kind for attempt in record.attempts] == [KIND.CANCELLED]
        assert isinstance(events[-1], RunEnded)
        assert store.claim("triage").answered is None

    async def test_an_answer_that_was_there_when_the_cancel_came_is_kept(self, store: RunStore, clock: Clock) -> None:
        async def answered_and_cancelled(spec: AttemptSpec, *, on_progress: object = None) -> AttemptRecord:
            spec.folder.write(begin(spec).concluded(OK, ended_at=1.0))
            raise asyncio.CancelledError

        with pytest.raises(asyncio.CancelledError):
            await execute(request_of(TWO, key="k"), store=store, run_attempt=answered_and_cancelled)
        result, attempts, _ = await carried_out(store, clock, TWO, key="k")
        assert (result.answer, attempts.specs) == ("yes", [])

    async def test_a_cancel_while_waiting_ends_the_run_too(self, store: RunStore, clock: Clock) -> None:
        async def cancelled(seconds: float) -> None:
            raise asyncio.CancelledError

        attempts = Scripted(bad(KIND.RATE_LIMIT), clock=clock)
        policy = FallbackPolicy(models=["a/one"])
        with pytest.raises(asyncio.CancelledError):
            await execute(request_of(policy), store=store, run_attempt=attempts, clock=clock, sleep=cancelled)
        (record,) = store.iter_runs()
        assert (record.status, record.kind, len(record.attempts)) == ("failed", KIND.CANCELLED, 1)

    async def test_an_attempt_that_cannot_be_made_ends_the_run_and_its_error_goes_on(self, store: RunStore) -> None:
        async def full(spec: AttemptSpec, *, on_progress: object = None) -> AttemptRecord:
            raise PlaceError("the disk is full", path="/x", reason="full")

        with pytest.raises(RecordError, match="full"):  # no usage error: other attempts may have been paid for
            await execute(request_of(TWO), store=store, run_attempt=full)
        (record,) = store.iter_runs()
        assert record.status == "failed"
        assert "the disk is full" in record.message

    async def test_a_watcher_that_fails_never_breaks_the_run(self, store: RunStore, clock: Clock) -> None:
        def broken(event: RunEvent) -> None:
            raise ValueError("no terminal")

        attempts = Scripted(OK, clock=clock)
        result = await execute(request_of(TWO), store=store, run_attempt=attempts, on_event=broken)
        assert result.answered
        assert any("ValueError: no terminal" in warning for warning in result.warnings)


class TestRefusing:
    @pytest.mark.parametrize("prompt", ["", " \n\t", b"", b"\xef\xbb\xbf \n"])
    def test_an_empty_prompt(self, conf: Settings, prompt: str | bytes) -> None:
        with pytest.raises(PromptError) as caught:
            prepare(prompt, agent="scripted", settings=conf)
        assert caught.value.reason == "empty"

    @pytest.mark.parametrize("prompt", ["/compact", "\n /skill:x y", "\ufeff/model"])
    def test_a_prompt_that_the_agent_would_take_for_a_command(self, conf: Settings, prompt: str) -> None:
        with pytest.raises(PromptError, match="command") as caught:
            prepare(prompt, agent="scripted", settings=conf)
        assert caught.value.reason == "slash"
        assert prepare(prompt, agent="scripted", settings=conf, slash=True).prompt == prompt.encode()

    @pytest.mark.parametrize("prompt", ["-n 5 items", "@alice said", "--help", "a/b", "what is /etc?"])
    def test_any_other_first_character_is_just_text(self, conf: Settings, prompt: str) -> None:
        assert prepare(prompt, agent="scripted", settings=conf).prompt == prompt.encode()

    @pytest.mark.parametrize(("prompt", "offset"), [(b"abc\0d", 3), (b"ab\xff", 2), ("x\ud800", 1)])
    def test_a_prompt_that_is_no_text_with_the_place(self, conf: Settings, prompt: str | bytes, offset: int) -> None:
        with pytest.raises(PromptError) as caught:
            prepare(prompt, agent="scripted", settings=conf)
        assert caught.value.offset == offset

    def test_a_file_that_is_missing_binary_or_a_folder(self, conf: Settings, tmp_path: Path) -> None:
        for path in (tmp_path / "missing.md", tmp_path):
            with pytest.raises(PlaceError) as caught:
                prepare(path, agent="scripted", settings=conf)
            assert caught.value.path == str(path)
        picture = tmp_path / "picture.png"
        picture.write_bytes(b"\x89PNG\r\n")
        with pytest.raises(PromptError, match=r"picture\.png"):
            prepare(picture, agent="scripted", settings=conf)

    def test_a_file_is_sent_byte_for_byte(self, conf: Settings, tmp_path: Path) -> None:
        file = tmp_path / "päth with 'quotes'.md"
        file.write_bytes("Fix it\r\n\u2028ä".encode())
        assert prepare(file, agent="scripted", settings=conf).prompt == file.read_bytes()

    def test_a_working_folder_that_is_none(self, conf: Settings, tmp_path: Path) -> None:
        file = tmp_path / "file"
        file.touch()
        for cwd, reason in ((file, "not a folder"), (tmp_path / "none", "no such folder")):
            with pytest.raises(PlaceError, match=reason):
                prepare("x", agent="scripted", cwd=cwd, settings=conf)
        assert prepare("x", agent="scripted", cwd=str(tmp_path), settings=conf).cwd == tmp_path.resolve()

    def test_an_agent_that_is_not_there(self, conf: Settings) -> None:
        with pytest.raises(AgentNotFound, match="no-such-agent"):
            prepare("x", agent="no-such-agent --flag", settings=conf)

    def test_a_policy_that_nobody_defined_with_the_nearest(self, tmp_path: Path) -> None:
        conf = Settings(home=tmp_path, policies={"nightly": {"models": ["a/b"]}})
        with pytest.raises(PolicyError, match="did you mean 'nightly'"):
            prepare("x", agent="scripted", policy="nigthly", settings=conf)

    @pytest.mark.parametrize("more", [{"name": "a\nb"}, {"key": " "}, {"metadata": {"x": object()}}])
    def test_words_that_no_record_could_hold(self, conf: Settings, more: dict[str, Any]) -> None:
        with pytest.raises(UsageError):
            prepare("x", agent="scripted", settings=conf, **more)

    async def test_nothing_is_recorded_of_a_run_that_was_refused(self, conf: Settings, store: RunStore) -> None:
        with pytest.raises(PromptError):
            await run("", agent="scripted", settings=conf, store=store)
        assert list(store.iter_runs()) == []

    async def test_the_synchronous_form_inside_a_loop_with_what_to_write_instead(self, conf: Settings) -> None:
        with pytest.raises(UsageError, match="event loop") as caught:
            run_sync("x", agent="scripted", settings=conf)
        assert "await run" in (caught.value.hint or "")


class TestChoosing:
    def test_a_policy_is_a_name_a_mapping_or_an_object_and_models_take_its_models_place(self, tmp_path: Path) -> None:
        tables = {"default": {"models": ["d/m"], "max_wait": 1}, "n": {"extends": "default", "models": ["n/m"]}}
        conf = Settings(home=tmp_path, policies=tables)

        def chosen(**more: Any) -> tuple[list[str], float]:
            policy = prepare("x", agent="scripted", settings=conf, **more).policy
            return [str(model) for model in policy.models], policy.max_wait

        assert chosen() == (["d/m"], 1)
        assert chosen(policy="n") == (["n/m"], 1)
        assert chosen(policy={"extends": "n", "max_wait": 2}) == (["n/m"], 2)
        assert chosen(policy=TWO) == (["a/one", "b/one:high"], 900)
        assert chosen(models=["x/y", ModelRef.parse("z/w:low")]) == (["x/y", "z/w:low"], 1)
        assert chosen(policy="n", models=["x/y"]) == (["x/y"], 1)

    def test_an_agent_named_for_one_call_keeps_the_flags_of_the_settings(self, tmp_path: Path) -> None:
        conf = Settings.model_validate({"home": tmp_path, "agent": {"args": ["--tools", "a"], "env": {"K": "v"}}})
        agent = prepare("x", agent="scripted", settings=conf).agent
        assert (agent.args, dict(agent.env)) == (("--tools", "a"), {"K": "v"})


class TestWithTheScriptedAgent:
    """Real processes: what a user's first run does."""

    async def test_the_second_model_answers_and_its_record_is_whole(
        self, conf: Settings, store: RunStore, tmp_path: Path
    ) -> None:
        result = await run(
            "Say yes",
            policy=FallbackPolicy(models=["scripted/overflow", "scripted/ok"]),
            agent="scripted",
            cwd=tmp_path,
            settings=conf,
            store=store,
        )
        assert result.answered
        assert result.answered_by == "scripted/ok"
        assert [attempt.kind for attempt in result.attempts] == [KIND.OVERFLOW, None]
        with store.open(result.run_id).attempt(1).open_stream() as stream:
            assert b"unresolvedOverflow" in stream.read()

    async def test_work_of_tools_is_done_once_and_carried(
        self, conf: Settings, store: RunStore, tmp_path: Path
    ) -> None:
        result = await run(
            "Add a line",
            policy=FallbackPolicy(models=["scripted/tool-overflow", "other/echo"]),
            agent="scripted",
            cwd=tmp_path,
            settings=conf,
            store=store,
        )
        assert [attempt.carry for attempt in result.attempts] == [False, True]
        assert (tmp_path / "worked.txt").read_text().count("\n") == 1
        assert "Another model worked on this" in (result.answer or "")

    def test_the_synchronous_form_raises_with_every_attempt_when_nobody_answers(
        self, conf: Settings, store: RunStore, tmp_path: Path
    ) -> None:
        def ask(**more: Any) -> RunResult:
            return run_sync(
                "Say yes",
                models=["scripted/refusal"],
                agent="scripted",
                cwd=tmp_path,
                settings=conf,
                store=store,
                **more,
            )

        with pytest.raises(NoModelAnswered, match="scripted/refusal: refusal") as caught:
            ask()
        assert [attempt.kind for attempt in caught.value.result.attempts] == [KIND.REFUSAL]
        assert "two or more" in (caught.value.hint or "")
        assert ask(check=False).kind is KIND.REFUSAL

    async def test_a_cancelled_run_leaves_no_process(self, conf: Settings, store: RunStore, tmp_path: Path) -> None:
        at_work = asyncio.Event()
        events: list[RunEvent] = []

        def watch(event: RunEvent) -> None:
            events.append(event)
            if isinstance(event, AttemptProgress) and event.progress.tool:
                at_work.set()

        task = asyncio.create_task(
            run(
                "Sleep",
                models=["scripted/sleep-tool"],
                agent="scripted",
                cwd=tmp_path,
                settings=conf,
                store=store,
                on_event=watch,
            )
        )
        await at_work.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (record,) = store.iter_runs()
        assert (record.status, record.kind) == ("failed", KIND.CANCELLED)
        attempt = store.open(record.run_id).attempt(1).read()
        assert attempt.pid is not None
        with pytest.raises(ProcessLookupError):
            os.kill(attempt.pid, 0)
