"""A batch from its input to its results: editions, what runs again and what does not, and what is refused."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from atomic.errors import BatchBroken, EditionBusy, FolderBusy, InputError, PlaceError, PolicyError, UsageError
from atomic.failures import FailureKind
from atomic.record import RunStore
from atomic.runner import execute
from atomic.text import Masker
from flows.batch import BatchResult, Ending
from flows.batch.carry_out import load
from flows.batch.items import item_of, run_of
from flows.batch.results import ResultFiles
from flows.database import Loaded, editions, items, loading
from flows.history.rebuilding import rebuild
from tests.agents import answer
from tests.flows.batches import Batch, batch, until  # noqa: F401 - a fixture

MIXED = [("a", "x/ok"), ("b", "x/overflow+y/ok"), ("c", "x/overflow"), ("d", "x/tool")]


def counts(result: BatchResult) -> tuple[int, int, int]:
    return result.answered, result.failed, result.left


async def test_every_item_is_there_once(batch: Batch) -> None:  # noqa: F811
    batch.write(MIXED)
    result = await batch.run()
    assert result.ending is Ending.FINISHED
    assert counts(result) == (3, 1, 0)
    assert result.kinds == {FailureKind.OVERFLOW: 1}
    assert result.exit_code == 1
    lines = batch.lines()
    assert {name: line["status"] for name, line in lines.items()} == {
        "a": "answered",
        "b": "answered",
        "c": "failed",
        "d": "answered",
    }
    assert lines["b"]["answered_by"] == "y/ok"
    assert [attempt["kind"] for attempt in lines["b"]["attempts"]] == ["overflow", None]
    assert batch.lines("errors.jsonl").keys() == {"c"}
    assert result.tokens == sum(run.usage.tokens for run in batch.runs())


async def test_a_record_knows_its_item_and_a_line_its_record(batch: Batch) -> None:  # noqa: F811
    batch.write([{"custom_id": "one", "prompt": "hello", "tags": ["mine"], "metadata": {"row": 7}}])
    result = await batch.run(models=["x/ok"], tags=["all"], metadata={"night": True})
    (run,) = batch.runs()
    assert (run.batch, run.edition, run.custom_id) == ("items", result.edition, "one")
    assert run.tags == ("all", "mine")
    assert run.metadata == {"night": True, "row": 7}
    assert Path(batch.lines()["one"]["record"]).name == run.run_id


async def test_a_second_call_finds_nothing_to_do(batch: Batch) -> None:  # noqa: F811
    batch.write(MIXED)
    first = await batch.run()
    runs, lines = len(batch.runs()), batch.lines()
    again = await batch.run()
    assert counts(again) == counts(first)
    assert (again.ran, again.edition) == (0, first.edition)
    assert len(batch.runs()) == runs
    assert batch.lines() == lines
    assert "3 answered" in batch.said()


async def test_failed_ones_run_again_when_asked(batch: Batch) -> None:  # noqa: F811
    batch.write(MIXED)
    await batch.run()
    result = await batch.run(retry_failed=True)
    assert (result.ran, counts(result)) == (1, (3, 1, 0))
    assert batch.lines().keys() == {"a", "b", "c", "d"}


async def test_all_run_again_when_asked(batch: Batch) -> None:  # noqa: F811
    batch.write(MIXED)
    await batch.run()
    before = {name: line["run_id"] for name, line in batch.lines().items()}
    result = await batch.run(redo=True)
    assert result.ran == 4
    assert all(line["run_id"] != before[name] for name, line in batch.lines().items())


async def test_a_new_edition_is_asked_for_and_keeps_the_old_results(batch: Batch) -> None:  # noqa: F811
    batch.write(MIXED[:1])
    first = await batch.run(edition="monday")
    second = await batch.run(new=True)
    assert first.edition == "monday" != second.edition
    assert second.ran == 1
    assert batch.lines()["a"]["run_id"] != batch.lines("results-monday.jsonl")["a"]["run_id"]
    assert counts(await batch.run(edition="monday")) == (1, 0, 0)


async def test_a_changed_prompt_runs_again_and_a_changed_policy_does_not(batch: Batch) -> None:  # noqa: F811
    batch.write(MIXED[:2])
    await batch.run()
    batch.write([{"custom_id": "a", "prompt": "another", "models": ["x/ok"]}, ("b", "z/ok")])
    result = await batch.run()
    assert result.ran == 1
    assert batch.lines()["b"]["answered_by"] == "y/ok"
    assert [run.custom_id for run in batch.runs()].count("a") == 2


async def test_a_part_and_then_the_rest(batch: Batch) -> None:  # noqa: F811
    batch.write([(str(n), "x/ok") for n in range(5)])
    part = await batch.run(limit=2)
    assert (part.ending, part.ran, part.left, part.exit_code) == (Ending.LIMIT, 2, 3, 0)
    assert batch.lines().keys() == {"0", "1"}
    assert "3 left" in part.go_on
    rest = await batch.run()
    assert (rest.ran, rest.left, rest.edition) == (3, 0, part.edition)


async def test_an_answer_that_was_not_yet_written_down_is_not_bought_again(batch: Batch) -> None:  # noqa: F811
    """As a kill leaves it between the end of a run and its item's."""
    batch.write(MIXED[:1])
    request = batch.prepare()
    await batch.run(limit=1, edition="night")
    database = batch.database()
    edition = editions.begin(database, "items", edition="other")
    load(database, edition, request)[0].close()
    (claimed,) = items.claim(database, edition, 1)
    bought = await execute(run_of(request, edition, claimed, item_of(claimed)), store=request.store)
    editions.finish(database, edition)
    database.close()
    runs = len(batch.runs())
    result = await batch.run(edition="other")
    assert counts(result) == (1, 0, 0)
    assert len(batch.runs()) == runs
    assert batch.lines()["a"]["run_id"] == bought.run_id


async def test_prompts_may_be_files_and_one_that_changed_meanwhile_is_not_sent(batch: Batch) -> None:  # noqa: F811
    file = batch.folder / "one.md"
    file.write_text("the prompt")
    batch.write([{"custom_id": "one", "prompt_file": "one.md"}])

    run = batch.begin(models=["x/ok"])
    with pytest.MonkeyPatch.context() as patch:
        loaded = loading.load

        def and_change(*args: Any, **given: Any) -> Loaded:
            found = loaded(*args, **given)
            file.write_text("something else")
            return found

        patch.setattr(loading, "load", and_change)
        assert counts(await run.to_its_end()) == (0, 1, 0)
    assert "changed" in batch.lines()["one"]["message"]
    assert not batch.runs()
    assert counts(await batch.run(models=["x/echo"])) == (1, 0, 0)
    assert "something else" in batch.lines()["one"]["answer"]


async def test_what_is_wrong_with_an_input_is_said_before_anything(batch: Batch) -> None:  # noqa: F811
    batch.write(
        [
            ("a", "x/ok"),
            ("a", "x/ok"),
            {"custom_id": "b", "prompt": ""},
            {"custom_id": "c", "prompt": "p", "policy": "no"},
        ]
    )
    with pytest.raises(InputError) as raised:
        batch.prepare()
    assert len(raised.value.problems) == 3
    assert not batch.runs()
    assert not batch.output.exists()


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"concurrency": 0}, UsageError),
        ({"limit": 0}, UsageError),
        ({"max_cost": -1}, UsageError),
        ({"name": "a/b"}, UsageError),
        ({"policy": "unknown"}, PolicyError),
        ({"max_cost": 5, "agent": "true"}, PolicyError),  # nobody knows the price of x/ok
        ({"cwd": "/nowhere"}, PlaceError),
    ],
)
async def test_what_cannot_be_is_refused(batch: Batch, given: dict[str, Any], error: type[UsageError]) -> None:  # noqa: F811
    batch.write(MIXED[:1])
    with pytest.raises(error):
        batch.prepare(**given)
    assert not batch.output.exists()


async def test_results_of_others_are_not_touched(batch: Batch) -> None:  # noqa: F811
    batch.write(MIXED[:1])
    batch.output.mkdir()
    (batch.output / "results.jsonl").write_text("precious\n")
    with pytest.raises(PlaceError, match=r"results\.jsonl"):
        batch.prepare()
    assert (batch.output / "results.jsonl").read_text() == "precious\n"


async def test_an_input_that_changes_after_its_check_is_not_begun(batch: Batch) -> None:  # noqa: F811
    batch.write(MIXED)
    run = batch.begin()
    batch.write(MIXED[:2])
    with pytest.raises(UsageError, match="changed"):
        await run.to_its_end()
    assert not batch.runs()


async def test_one_at_a_time(batch: Batch) -> None:  # noqa: F811
    batch.write([("a", "x/slow-2")])
    going = asyncio.ensure_future(batch.run())
    await until(batch.runs)
    with pytest.raises(EditionBusy, match="is running"):
        await batch.run()
    assert counts(await going) == (1, 0, 0)


async def test_a_disk_that_takes_no_results_loses_no_answer(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    batch.write([(str(n), "x/ok") for n in range(4)])

    def full(*_: object) -> None:
        raise PlaceError("no space", path="x", reason="full")

    with monkeypatch.context() as patch:
        patch.setattr(ResultFiles, "append", full)
        with pytest.raises(BatchBroken, match="no space") as raised:
            await batch.run(concurrency=1)
    assert raised.value.exit_code == 1, "something was spent"
    answered = [run.custom_id for run in batch.runs() if run.status == "answered"]
    assert answered
    result = await batch.run()
    assert counts(result) == (4, 0, 0)
    assert batch.lines().keys() == {"0", "1", "2", "3"}
    assert len({run.custom_id for run in batch.runs() if run.status == "answered"}) == 4
    assert sum(run.status == "answered" for run in batch.runs()) == 4


def waiting(batch: Batch, flag: Path) -> str:  # noqa: F811
    """An agent whose sessions with one model end when there is such a file."""
    return batch.agent(
        f'case "$*" in *"--model x/wait"*) while [ ! -e "{flag}" ]; do sleep 0.05; done;; esac\n{answer()}'
    )


@pytest.mark.parametrize("how", ["removed", "moved", "emptied"])
async def test_results_that_somebody_takes_away_are_written_anew(batch: Batch, how: str) -> None:  # noqa: F811
    batch.write([(str(n), "x/wait" if n else "x/ok") for n in range(6)])
    results, flag = batch.output / "results.jsonl", batch.folder / "flag"
    going = asyncio.ensure_future(batch.run(concurrency=2, agent=waiting(batch, flag)))
    await until(lambda: results.exists() and results.stat().st_size)
    if how == "removed":
        shutil.rmtree(batch.output)
    elif how == "moved":
        batch.output.rename(batch.folder / "elsewhere")
    else:
        results.unlink()
    flag.touch()
    result = await going
    assert counts(result) == (6, 0, 0)
    assert batch.lines().keys() == {str(n) for n in range(6)}
    assert "written anew" in batch.said()


async def test_a_database_that_is_removed_meanwhile_ends_it_and_no_answer_is_bought_twice(batch: Batch) -> None:  # noqa: F811
    batch.write([(str(n), "x/wait" if n else "x/ok") for n in range(8)])
    results, flag = batch.output / "results.jsonl", batch.folder / "flag"
    agent = waiting(batch, flag)
    going = asyncio.ensure_future(batch.run(concurrency=2, agent=agent))
    await until(lambda: results.exists() and results.stat().st_size)
    for file in batch.home.glob("history.db*"):
        file.unlink()
    flag.touch()
    with pytest.raises(BatchBroken, match="removed") as raised:
        await going
    assert "history rebuild" in str(raised.value.hint)
    rebuild(None, batch.home, RunStore(batch.home / "records", home=batch.home), Masker())
    assert counts(await batch.run(agent=agent)) == (8, 0, 0)
    assert batch.lines().keys() == {str(n) for n in range(8)}
    answered = [run.custom_id for run in batch.runs() if run.status == "answered"]
    assert len(answered) == len(set(answered)) == 8


async def test_progress_is_told(batch: Batch) -> None:  # noqa: F811
    batch.write([(str(n), "x/slow-15") for n in range(3)])
    await batch.run(concurrency=1)
    told = batch.progress()
    assert {one.total for one in told} == {3}
    assert [one.done for one in told] == sorted(one.done for one in told)
    assert max(one.running for one in told) == 1
    assert all(one.answered + one.failed + one.running + one.parked + one.pending <= 3 for one in told)


async def test_items_that_would_be_in_each_other_s_way_are_refused_before_anything(
    batch: Batch,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ATOMIC_FLOWS_SHARED")
    (batch.folder / "apart").mkdir()
    batch.write([("a", "scripted/ok"), ("b", "scripted/ok")])
    with pytest.raises(FolderBusy) as error:
        batch.prepare(concurrency=8)
    assert error.value.message == f"2 items would be run in {batch.folder}, 2 at a time, and get in each other's way"
    for way in ("-j 1", "--shared", "--workspace worktree"):
        assert way in str(error.value.hint)
    assert not batch.runs()
    assert batch.prepare(concurrency=8, limit=1).asked.limit == 1
    assert (await batch.run(concurrency=1)).answered == 2
    assert (await batch.run(concurrency=8, shared=True, redo=True)).answered == 2
    item = {"custom_id": "c", "prompt": "p", "models": ["scripted/ok"], "cwd": str(batch.folder / "apart")}
    batch.write([("a", "scripted/ok"), item])
    assert batch.prepare(concurrency=8).folders == (batch.folder, batch.folder / "apart")
    (batch.folder / ".git").mkdir()
    with pytest.raises(FolderBusy):  # one repository
        batch.prepare(concurrency=8)


async def test_a_batch_waits_for_nobody_in_its_folder(
    batch: Batch,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ATOMIC_FLOWS_SHARED")
    batch.write([("a", "scripted/ok"), ("b", "scripted/ok")])
    ready = batch.begin(concurrency=1)
    with ready.request.store.occupants.at_work("run 1", [batch.folder]), pytest.raises(FolderBusy, match="run 1 is at"):
        await ready.to_its_end()
    assert not batch.runs()
    assert (await ready.to_its_end()).answered == 2


async def test_answers_are_checked_whatever_policy_an_item_has(batch: Batch) -> None:  # noqa: F811
    schema = batch.folder / "risks.json"
    schema.write_text('{"required": ["risks"]}')
    batch.write([("a", "scripted/ok+other/json"), ("b", "scripted/ok")])
    result = await batch.run(check="grep -q none", answer_schema="risks.json")
    lines = batch.lines()
    assert (result.answered, result.kinds) == (1, {FailureKind.REJECTED: 1})
    assert lines["a"]["answered_by"] == "other/json"
    assert lines["b"]["kind"] == "rejected"
    with pytest.raises(PolicyError, match="cannot be started"):
        batch.prepare(check="no-such-program")


async def test_what_a_prompt_is_made_of_is_looked_at_again_though_the_input_is_the_same(batch: Batch) -> None:  # noqa: F811
    file, template = batch.folder / "one.md", batch.folder / "t.j2"
    file.write_text("the prompt")
    batch.write([{"custom_id": "one", "prompt_file": "one.md"}])
    await batch.run(models=["x/ok"])
    at = file.stat()
    file.write_text("the PROMPT")
    os.utime(file, ns=(at.st_atime_ns, at.st_mtime_ns))
    assert (await batch.run(models=["x/ok"])).ran == 1

    batch.write([{"custom_id": "one", "word": "hello"}])
    template.write_text("say {{ word }}")
    given: dict[str, Any] = {"models": ["x/ok"], "template": template}
    assert [(await batch.run(**given)).ran for _ in range(2)] == [1, 0]
    template.write_text("SAY {{ word }}")
    assert [(await batch.run(**given)).ran for _ in range(2)] == [1, 0]
    other = batch.folder / "other"
    other.mkdir()
    assert [(await batch.run(**given, cwd=other)).ran for _ in range(2)] == [1, 0]


async def test_results_of_an_edition_that_the_history_has_lost_are_not_bought_again(batch: Batch) -> None:  # noqa: F811
    batch.write([("a", "scripted/ok"), ("b", "scripted/ok")])
    first = await batch.run()
    for file in batch.home.glob("history.db*"):
        file.unlink()
    with pytest.raises(UsageError, match=first.edition) as raised:
        await batch.run()
    assert "history rebuild" in str(raised.value.hint)
    rebuild(None, batch.home, RunStore(batch.home / "records", home=batch.home), Masker())
    again = await batch.run()
    assert (again.edition, again.ran, again.answered) == (first.edition, 0, 2)
    assert (await batch.run(new=True)).ran == 2
