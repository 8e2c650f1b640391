"""Records of plausible runs, by the store's own functions and no agent, told to the history as runs and batches tell
it: answered, failed, fallen back, still running; single ones and items of editions; text of every language and none.
The same seed makes the same runs, but for their ids and times."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

from atomic.failures import FailureKind
from atomic.models import ModelRef
from atomic.record import AttemptRecord, RunFolder, RunRecord, RunStore
from atomic.record.totals import with_attempts
from atomic.runner.results import result_of
from atomic.text import Masker
from atomic.verdict.facts import Status, Usage, Verdict
from flows.batch.results import result_line
from flows.database import ClaimedItem, Cooldown, Database, Edition, Ended, ItemRow, cooldowns, editions, items, loading
from flows.database.runs import Recorded, record_runs
from flows.history.copying import recorded

MODELS = ("anthropic/claude-opus-4-5:high", "openai/gpt-5.2", "openrouter/qwen/qwen3-coder:free", None)
KINDS = (FailureKind.OVERFLOW, FailureKind.QUOTA, FailureKind.RATE_LIMIT, FailureKind.REFUSAL, FailureKind.CANCELLED)
WORDS = (
    "Sort the mail",
    "Zähle die Schafe 🐑",
    "列出风险",
    "=SUM(A1)\ttab",
    "[bold]no markup[/bold] \x1b[31m",
    "half \ud83d",
)
BATCHES = {"nightly-triage": ("2026-11-29", "2026-11-30"), "weekly-audit": ("w48",), "schafe 🐑": ("α", "β")}
AT_ONCE = 200  # items that are claimed at a time, and runs that are told at a time
STAYED = 3  # items of an edition that did not run
MASKER = Masker()


def make(database: Database, store: RunStore, n: int, *, seed: int = 1) -> None:
    """``n`` runs, in the records and in the history. Two in three are items of batches."""
    chance = random.Random(seed)
    of_batches = [(batch, edition) for batch, names in BATCHES.items() for edition in names]
    share = 2 * n // 3 // len(of_batches)
    for batch, edition in of_batches:
        _carry_out(database, store, batch, edition, share, chance)
    left = n - share * len(of_batches)
    while left:
        some = [_single(store, chance) for _ in range(min(AT_ONCE, left))]
        record_runs(database, some)
        left -= len(some)
    cooldowns.put(database, [Cooldown("openai/gpt-5.2", time.time() + 3600, FailureKind.QUOTA, "no more today")])


def _carry_out(database: Database, store: RunStore, batch: str, edition: str, n: int, chance: random.Random) -> None:
    begun = editions.begin(database, batch, edition=edition, input="in.jsonl", output="out")
    rows = [
        ItemRow(f"item {at} {chance.choice(WORDS[:3])}", f"{at:016x}", '{"prompt": "x"}') for at in range(n + STAYED)
    ]
    loading.load(database, begun, rows)
    left = n
    while left:
        claimed = items.claim(database, begun, min(AT_ONCE, left))
        done = [_of_item(store, begun, item, chance) for item in claimed]
        record_runs(database, done)
        items.end(database, begun, [_ended(item, one) for item, one in zip(claimed, done, strict=True)])
        left -= len(claimed)
    editions.finish(database, begun, reason="")


def _of_item(store: RunStore, edition: Edition, item: ClaimedItem, chance: random.Random) -> Recorded:
    facts = {"batch": edition.batch, "edition": edition.name, "custom_id": item.custom_id, "key": item.key}
    return _run(store, chance, running=False, **facts)


def _ended(item: ClaimedItem, one: Recorded) -> Ended:
    line = result_line(item.custom_id, result_of(one.run, (), one.record))
    return Ended(item.id, Status(one.run.status), one.run.kind, one.run.run_id, line)


def _single(store: RunStore, chance: random.Random) -> Recorded:
    facts: dict[str, Any] = {"tags": tuple(chance.sample(("triage", "docs", "schön", ""), chance.randrange(4)))}
    if chance.random() < 0.5:
        facts |= {
            "name": chance.choice(WORDS),
            "metadata": {"ticket": chance.randrange(99), "of": chance.choice(WORDS)},
        }
    if chance.random() < 0.2:
        facts["flow_run_id"] = "00000000-0000-0000-0000-000000000000"
    return _run(store, chance, running=chance.random() < 0.01, **facts)


def _run(store: RunStore, chance: random.Random, *, running: bool, **facts: Any) -> Recorded:
    prompt = f"{chance.choice(WORDS)} {chance.randrange(5000)}. {'More of it. ' * chance.randrange(60)}"
    folder = store.create(prompt.encode("utf-8", "replace"), cwd="/srv/product", policy_digest="0" * 64, **facts)
    steps = list(_attempts(folder, chance, running=running))
    run = with_attempts(folder.read(), steps)
    if running:
        folder.write(run)
    else:
        run = _concluded(run, steps[-1], chance)
        folder.finish(run)
    return recorded(store, run, MASKER, steps)


def _attempts(folder: RunFolder, chance: random.Random, *, running: bool) -> Iterator[AttemptRecord]:
    """Those of a run, up to one that answers, or the last that may be made."""
    begun = time.time()
    most = chance.randrange(1, 4)
    for n in range(1, most + 1):
        attempt = folder.attempt(n)
        attempt.create(b"x")
        model = chance.choice(MODELS)
        started = AttemptRecord(
            run_id=folder.run_id, n=n, model=model, started_at=begun, record=f"attempt-{n}", carry=n > 1
        )
        if running and n == most:
            attempt.write(started)
            yield started
            return
        verdict = _verdict(model, chance, begun, failed=running or chance.random() < 0.3)
        begun += chance.lognormvariate(3, 1)
        done = started.concluded(verdict, ended_at=begun)
        attempt.write(done)
        yield done
        if done.status is Status.ANSWERED:
            return


def _verdict(model: str | None, chance: random.Random, begun: float, *, failed: bool) -> Verdict:
    cost = None if model is None else chance.random()
    counts = {name: chance.randrange(5) for name in ("turns", "tool_calls", "failed_tool_calls", "retries")}
    return Verdict(
        status=Status.FAILED if failed else Status.ANSWERED,
        kind=chance.choice(KINDS) if failed else None,
        message=chance.choice(WORDS) if failed else "",
        answered_by=None if failed or model is None else ModelRef.parse(model).name,
        answer=None if failed else chance.choice(WORDS),
        retry_at=begun + 60 if failed and chance.random() < 0.2 else None,
        usage=Usage(input=chance.randrange(9000), output=chance.randrange(900), cache_read=7, cost_usd=cost),
        cost_usd=cost,
        first_event_at=begun + 0.1,
        first_token_at=None if failed else begun + chance.random(),
        exit_code=0,
        **counts,
    )


def _concluded(run: RunRecord, last: AttemptRecord, chance: random.Random) -> RunRecord:
    told = {"status": str(last.status), "kind": last.kind, "message": last.message, "answered_by": last.answered_by}
    answer = None if last.verdict is None else last.verdict.answer
    warnings = (chance.choice(WORDS),) if chance.random() < 0.1 else ()
    return run.model_copy(update={**told, "answer": answer, "ended_at": last.ended_at, "warnings": warnings})
