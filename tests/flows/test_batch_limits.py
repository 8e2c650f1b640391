"""What holds a batch back: cooldowns, which park items; budgets; failures that come in a row."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from atomic.agent import Agent
from atomic.failures import FailureKind
from atomic.models import ModelRef
from atomic.policy import model_key
from flows.batch import Ending, probes, work
from flows.cooldowns import SharedCooldowns, shared_names
from flows.database import Cooldown, Database, cooldowns
from tests.agents import answer
from tests.flows.batches import Batch, batch, fails, until  # noqa: F401 - a fixture
from tests.loopback.provider import Provider

LIMITED = "429 rate limit exceeded"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits at all is parked."""
    monkeypatch.setattr(work, "PARK_FROM", 0.1)


def limited_once(batch: Batch, model: str = "a/one") -> str:  # noqa: F811
    """An agent whose first session with a model hits a rate limit."""
    flag = batch.folder / "limited"
    return batch.agent(
        f'case "$*" in *"--model {model}"*) if mkdir "{flag}" 2>/dev/null; then {fails(LIMITED)} exit 1; fi;; esac\n'
        + answer()
    )


class TestParking:
    async def test_a_parked_run_holds_no_slot_and_goes_on_where_it_was(self, batch: Batch) -> None:  # noqa: F811
        batch.write([("first", "a/one"), ("second", "b/two")])
        policy = {"cooldown": {"rate_limit": 2}}
        result = await batch.run(agent=limited_once(batch), policy=policy, concurrency=1)
        assert (result.answered, result.failed) == (2, 0)
        lines = batch.lines()
        assert list(lines) == ["second", "first"]  # the other one had the only slot meanwhile
        assert [attempt["kind"] for attempt in lines["first"]["attempts"]] == ["rate_limit", None]
        assert len(batch.runs()) == 2
        assert any(told.parked for told in batch.progress())

    async def test_items_whose_models_cool_down_do_not_begin(self, batch: Batch) -> None:  # noqa: F811
        batch.write([(str(n), "a/one") for n in range(4)])
        result = await batch.run(agent=limited_once(batch), policy={"cooldown": {"rate_limit": 2}}, concurrency=1)
        assert result.answered == 4
        assert sum(len(run.attempts) for run in batch.runs()) == 5  # one session found it out for all
        assert any(told.waiting_until for told in batch.progress())

    async def test_after_a_cooldown_the_provider_is_asked_before_a_session_is(
        self,
        batch: Batch,  # noqa: F811
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(probes, "FIRST_PAUSE", 2.0)
        monkeypatch.setenv("PI_CODING_AGENT_DIR", str(batch.folder))
        with Provider() as provider:
            own = {"baseUrl": provider.base_url("asked"), "api": "openai-completions", "apiKey": "k"}
            (batch.folder / "models.json").write_text(
                json.dumps({"providers": {"a": {**own, "models": [{"id": "one"}]}}})
            )
            batch.write([(str(n), "a/one") for n in range(4)])
            provider.refuse_lists("asked", 2)  # the first before the batch begins
            result = await batch.run(agent=limited_once(batch), policy={"cooldown": {"rate_limit": 1}}, concurrency=1)
            assert provider.listed["asked"] == 3
        assert result.answered == 4
        assert sum(len(run.attempts) for run in batch.runs()) == 5  # no session found out that it was too early
        assert "a does not take sessions again yet (it answered 429: too many requests)" in batch.said()

    async def test_the_batch_goes_on_with_another_provider_and_comes_back(self, batch: Batch) -> None:  # noqa: F811
        batch.write([(str(n), "a/one+b/two") for n in range(6)])
        agent = limited_once(batch).strip()
        slow = batch.agent(f'sleep 0.4\nexec "{agent}" "$@"')
        result = await batch.run(agent=slow, policy={"cooldown": {"rate_limit": 1}}, concurrency=1)
        assert result.answered == 6
        by = [run.answered_by for run in batch.runs()]
        assert batch.runs()[0].attempts[0].kind is FailureKind.RATE_LIMIT
        asked = [run.attempts[-1].model for run in batch.runs()]
        assert asked[0] == "b/two"
        assert asked[-1] == "a/one"
        assert len(by) == 6

    async def test_what_others_have_found_is_known(self, batch: Batch) -> None:  # noqa: F811
        batch.write([("one", "a/ok+b/ok")])
        database = batch.database()
        cooldowns.put(database, [Cooldown(model_key(ModelRef.parse("a/ok")), time.time() + 600)])
        database.close()
        await batch.run()
        assert batch.lines()["one"]["answered_by"] == "b/ok"

    async def test_what_is_found_is_told_to_others(self, batch: Batch) -> None:  # noqa: F811
        batch.write([("one", "a/rate-limit+b/ok")])
        await batch.run()
        database = batch.database()
        (found,) = cooldowns.current(database)
        database.close()
        assert found.key == model_key(ModelRef.parse("a/rate-limit"))
        assert found.kind is FailureKind.RATE_LIMIT
        assert found.until > time.time() + 30

    async def test_at_the_deadline_it_gives_up_what_waits(self, batch: Batch) -> None:  # noqa: F811
        batch.write([(str(n), "a/rate-limit") for n in range(200)])
        result = await batch.run(deadline=time.time() + 3, concurrency=1, stop_after=0)
        assert (result.failed, result.left) == (200, 0)
        assert result.kinds == {FailureKind.RATE_LIMIT: 200}
        assert len(batch.runs()) == 1
        assert len(batch.lines()) == 200
        assert "cooling down" in batch.lines()["2"]["message"]

    async def test_when_it_is_stopped_what_is_parked_waits_for_the_next_start(self, batch: Batch) -> None:  # noqa: F811
        batch.write([("one", "a/one")])
        run = batch.begin(agent=limited_once(batch), policy={"cooldown": {"rate_limit": 2}})
        going = asyncio.ensure_future(run.to_its_end())
        await until(lambda: any(told.parked for told in batch.progress()))
        run.stop(Ending.INTERRUPTED, "now", "Ctrl-C")
        result = await going
        assert (result.left, result.exit_code) == (1, 130)
        again = await batch.run(agent=str(next(batch.folder.glob("agent-*"))))
        assert again.answered == 1


class TestSharedCooldowns:
    async def test_the_later_end_counts_and_the_database_has_it(self, tmp_path: Path) -> None:
        database = Database.open(home=tmp_path)
        mine, theirs = SharedCooldowns(database, {}), SharedCooldowns(database, {})
        now = time.time()
        mine.put("model/a/b", now + 100, FailureKind.QUOTA, "empty")
        mine.put("model/a/b", now + 50, None, "")
        await mine.written()
        await theirs.refresh()
        assert mine["model/a/b"] == theirs["model/a/b"] == now + 100
        assert theirs.kind("model/a/b") is FailureKind.QUOTA
        database.close()

    def test_one_persons_key_does_not_stop_anothers(self, tmp_path: Path) -> None:
        model = ModelRef.parse("openai/gpt-5")
        names = [
            shared_names(Agent(env={"OPENAI_API_KEY": key, "PI_CODING_AGENT_DIR": str(tmp_path)}), [model])
            for key in ("sk-mine-000000", "sk-theirs-0000", "sk-mine-000000")
        ]
        assert names[0] == names[2] != names[1]
        assert "mine" not in str(names)


class TestBudget:
    async def test_no_session_begins_when_the_tokens_are_used_up(self, batch: Batch) -> None:  # noqa: F811
        batch.write([(str(n), "x/ok") for n in range(6)])
        result = await batch.run(max_tokens=2000, concurrency=1)
        assert (result.ending, result.exit_code) == (Ending.BUDGET, 3)
        assert result.answered == 2
        assert result.left == 4
        assert "2,000 tokens" in result.reason
        assert "larger budget" in result.go_on
        same = await batch.run(max_tokens=2000)
        assert (same.ending, same.ran) == (Ending.BUDGET, 0)
        more = await batch.run(max_tokens=100_000)
        assert (more.ending, more.answered, more.ran) == (Ending.FINISHED, 6, 4)

    async def test_what_failed_attempts_cost_counts(self, batch: Batch) -> None:  # noqa: F811
        batch.write([(str(n), "x/overflow+y/overflow-with-answer") for n in range(4)])
        result = await batch.run(max_tokens=2000, concurrency=1, stop_after=0)
        assert result.ending is Ending.BUDGET
        assert result.tokens == sum(run.usage.tokens for run in batch.runs())

    async def test_live_sessions_are_stopped_when_that_is_asked(self, batch: Batch) -> None:  # noqa: F811
        batch.write([(str(n), "x/expensive-500") for n in range(3)])
        given: dict[str, Any] = {"max_tokens": 10**9, "on_budget": "stop", "concurrency": 2}
        result = await batch.run(max_cost=1, **given)
        assert (result.ending, result.answered, result.left) == (Ending.BUDGET, 0, 3)
        assert {run.kind for run in batch.runs()} == {FailureKind.CANCELLED}
        assert "$1 is used up" in result.reason
        assert result.cost_usd is not None
        assert result.cost_usd >= 1, "what the stopped messages had used counts"
        spent = len(batch.runs())
        assert (await batch.run(max_cost=1, **given)).ending is Ending.BUDGET
        assert len(batch.runs()) == spent, "and it counts for the next start"
        more = await batch.run(max_cost=result.cost_usd + 0.5, **given)
        assert len(batch.runs()) > spent
        assert more.cost_usd is not None
        assert more.cost_usd >= result.cost_usd + 0.5

    async def test_live_sessions_may_finish_when_that_is_asked(self, batch: Batch) -> None:  # noqa: F811
        batch.write([(str(n), "x/expensive-1") for n in range(3)])
        result = await batch.run(max_cost=0.6, max_tokens=10**9, on_budget="finish", concurrency=1)
        assert (result.ending, result.answered, result.left) == (Ending.BUDGET, 1, 2)

    async def test_an_items_own_budget_ends_the_item_alone(self, batch: Batch) -> None:  # noqa: F811
        batch.write([("dear", "x/expensive-500"), ("cheap", "x/ok")])
        result = await batch.run(policy={"limits": {"cost_usd": 0.3, "tokens": 10**9}})
        assert batch.lines().keys() == {"cheap"}
        assert (result.answered, result.left) == (1, 1)


class TestHalting:
    async def test_failures_in_a_row_halt_it(self, batch: Batch) -> None:  # noqa: F811
        batch.write([*((f"bad-{n}", "x/overflow") for n in range(6)), ("good", "x/ok")])
        result = await batch.run(stop_after=3, concurrency=1)
        assert (result.ending, result.exit_code) == (Ending.HALTED, 1)
        assert (result.failed, result.left) == (3, 4)
        assert "overflow" in result.reason
        assert "--retry-failed" in result.go_on

    async def test_an_answer_between_begins_anew(self, batch: Batch) -> None:  # noqa: F811
        kinds = ["overflow", "overflow", "ok", "overflow", "overflow", "refusal", "overflow"]
        batch.write([(str(n), f"x/{kind}") for n, kind in enumerate(kinds)])
        result = await batch.run(stop_after=3, concurrency=1)
        assert result.ending is Ending.FINISHED

    @pytest.mark.parametrize("kind", ["unreadable", "configuration"])
    async def test_a_broken_agent_halts_it_at_once(self, batch: Batch, kind: str) -> None:  # noqa: F811
        batch.write([(str(n), f"x/{kind}") for n in range(4)])
        result = await batch.run(concurrency=1)
        assert (result.ending, result.failed) == (Ending.HALTED, 1)
        assert kind in result.reason
