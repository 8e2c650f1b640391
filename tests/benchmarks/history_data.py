"""A history of plausible runs, straight into the tables: models that answer, fail, are rate limited on bad days and
fall back; nightly batches with editions and items; prices, tags, names. The same seed gives the same rows.

    uv run python -m tests.benchmarks.history_data --runs 1000000 /tmp/history/history.db
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import insert

from atomic.record.layout import first_id
from flows.database import Database
from flows.database.buckets import bucket_of
from flows.database.labels import Label, hopped, labels_of, name_of
from flows.database.tables import attempts as a
from flows.database.tables import batches, editions, items, run_labels
from flows.database.tables import labels as label_table
from flows.database.tables import runs as r

DAY = 86_400.0
AT_ONCE = 10_000  # runs written by one transaction
POLICIES = (
    ("anthropic/claude-opus-4-5:high", "openai/gpt-5.2", "google/gemini-3-pro"),
    ("anthropic/claude-sonnet-4-5", "openai/gpt-5.2-mini"),
    ("openai/gpt-5.2", "openrouter/qwen/qwen3-coder:free"),
)
PRICES = {  # dollars for a million tokens in and out; none: nobody knows
    "anthropic/claude-opus-4-5": (5.0, 25.0),
    "openai/gpt-5.2": (1.75, 14.0),
    "google/gemini-3-pro": (2.0, 12.0),
    "anthropic/claude-sonnet-4-5": (3.0, 15.0),
    "openai/gpt-5.2-mini": (0.25, 2.0),
}
FAILURES = ("rate_limit", "overflow", "provider_unavailable", "crashed", "network", "quota", "refusal")
MUTE = ("network", "provider_unavailable", "quota")  # no token comes before them
WEIGHTS = (40, 15, 15, 10, 10, 6, 4)
BATCHES = ("nightly-triage", "nightly-docs", "weekly-audit")
TAGS = ("triage", "docs", "audit", "team-a", "team-b", "urgent")
VERBS = ("Triage the new issues of", "Write the release notes of", "List the risks in", "Fix the flaky test in")
_LETTERS = "234567abcdefghijklmnopqrstuvwxyz"

Begun = dict[tuple[str, int], tuple[int, str]]


@dataclass
class Made:
    """Rows of some runs."""

    runs: list[dict[str, Any]] = field(default_factory=list)
    attempts: list[dict[str, Any]] = field(default_factory=list)
    items: list[dict[str, Any]] = field(default_factory=list)


def times(n: int, *, days: float, end: float, chance: random.Random) -> Iterator[float]:
    """When runs began, in order: more by night, when batches run, and a little more each week."""
    found = []
    for _ in range(n):
        day = int(days * (1 - chance.random() ** 1.15))
        hour = chance.choice((1, 2, 2, 3, 3, 4, *range(6, 24)))
        found.append(end - (day + 1) * DAY + hour * 3600 + chance.random() * 3600)
    return iter(sorted(min(at, end) for at in found))


def make(database: Database, n: int, *, days: float = 365, end: float | None = None, seed: int = 1) -> None:
    """Fill the database with ``n`` runs of the ``days`` before ``end`` (seconds since the epoch; None: now)."""
    chance = random.Random(seed)
    end = time.time() if end is None else end
    known: dict[Label, int] = {}
    begun = _batches(database, days, end)
    some = Made()
    for at in times(n, days=days, end=end, chance=chance):
        _add(some, at, end, chance, begun)
        if len(some.runs) == AT_ONCE:
            _write(database, some, known)
            some = Made()
    _write(database, some, known)


def _batches(database: Database, days: float, end: float) -> Begun:
    """By batch and day: the number and name of its edition."""
    found = {}
    nobody = dict.fromkeys(("control_by", "pid", "process_started", "boot_id", "host", "user"))
    with database.writing() as connection:
        for name in BATCHES:
            row = {"name": name, "created_at": end - days * DAY, "host": "ci", "user": "ci"}
            batch = connection.execute(insert(batches).values(row).returning(batches.c.id)).scalar_one()
            for day in range(int(days) + 2):
                at = end - day * DAY
                edition = {
                    **nobody,
                    "batch_id": batch,
                    "name": time.strftime("%Y-%m-%d", time.gmtime(at)),
                    "status": "finished",
                    "reason": "",
                    "term": 1,
                    "control": "run",
                    "input": f"{name}.jsonl",
                    "fingerprint": "",
                    "output": f"out/{name}",
                    "created_at": at,
                    "begun_at": at,
                    "heartbeat_at": at,
                    "ended_at": at,
                }
                made = insert(editions).values(edition).returning(editions.c.id, editions.c.name)
                found[name, day] = tuple(connection.execute(made).one())
    return found


def _add(some: Made, at: float, end: float, chance: random.Random, begun: Begun) -> None:
    run_id = f"{first_id(at)[:-6]}{''.join(chance.choices(_LETTERS, k=6))}"
    if some.runs and run_id <= some.runs[-1]["run_id"]:  # two of one millisecond
        run_id = f"{some.runs[-1]['run_id'][:-6]}{_next(some.runs[-1]['run_id'][-6:])}"
    models = chance.choices(POLICIES, (6, 3, 1))[0]
    bad = (int(at / DAY) * 2_654_435_761 % 100) < 8  # one day in twelve a provider is ill
    batch = chance.choice(BATCHES) if chance.random() < 0.4 else None
    edition = begun[batch, int((end - at) / DAY)] if batch else None
    steps: list[dict[str, Any]] = []
    clock = at + 0.05
    kind: str | None = None
    for model in models:
        kind = chance.choices(FAILURES, WEIGHTS)[0] if chance.random() < (0.35 if bad else 0.09) else None
        steps.append(_attempt(run_id, len(steps) + 1, model, kind, clock, chance))
        clock = steps[-1]["ended_at"]
        if kind in (None, "refusal"):
            break
    costs = [step["cost_usd"] for step in steps if step["cost_usd"] is not None]
    running = at > end - 600 and chance.random() < 0.5
    status = "running" if running else "failed" if kind else "answered"
    answered_by = name_of(steps[-1]["model"]) if status == "answered" else None
    row = {
        "run_id": run_id,
        "name": f"{chance.choice(VERBS).split()[0].lower()}-{chance.randrange(200)}" if chance.random() < 0.2 else None,
        "key": None if batch is None else f"{batch}/{run_id}",
        "batch": batch,
        "edition": edition[1] if edition else None,
        "custom_id": f"item-{len(some.items)}-{run_id[-8:]}" if batch else None,
        "status": status,
        "kind": kind if status == "failed" else None,
        "message": "" if status != "failed" else f"{kind}: the last model said no",
        "first_model": steps[0]["model"],
        "answered_by": answered_by,
        "policy_digest": "0" * 64,
        "attempts": len(steps),
        "created_at": at,
        "ended_at": None if running else clock + 0.02,
        **{name: sum(step[name] for step in steps) for name in ("input", "output", "cache_read", "cache_write")},
        "cost_usd": sum(costs) if costs else None,
        "tags": json.dumps(chance.sample(TAGS, chance.randrange(3))),
        "metadata": "{}",
        "warnings": "[]",
        "cwd": "/srv/repositories/product",
        "record": f"/srv/records/{run_id[:4]}/{run_id[4:6]}/{run_id[6:8]}/{run_id}",
        "flow_run_id": None,
        "host": "ci",
        "user": "ci",
        "prompt": f"{chance.choice(VERBS)} repository {chance.randrange(5000)}. Answer in a table, shortest first.",
        "last_model": steps[-1]["model"],
        "hopped": hopped(status, steps[0]["model"], answered_by),
        "took": None if running else bucket_of(clock + 0.02 - at),
    }
    some.runs.append(row)
    some.attempts += steps
    if edition:
        some.items.append(_item(row, edition[0], len(some.items)))


def _attempt(run_id: str, n: int, model: str, kind: str | None, at: float, chance: random.Random) -> dict[str, Any]:
    name = name_of(model) or ""
    took = chance.lognormvariate(3.2, 0.9) * (0.3 if kind else 1)
    waited = None if kind in MUTE else min(chance.lognormvariate(0.2, 0.6), took)
    tokens_in = 0 if waited is None else int(chance.lognormvariate(8.5, 1))
    used = {
        "input": tokens_in // 4,
        "output": 0 if kind else int(chance.lognormvariate(6, 0.8)),
        "cache_read": tokens_in // 2,
        "cache_write": tokens_in // 4,
    }
    price = PRICES.get(name)
    cost = None if price is None else (used["input"] * price[0] + used["output"] * price[1]) / 1e6
    return {
        "run_id": run_id,
        "n": n,
        "model": model,
        "status": "failed" if kind else "answered",
        "kind": kind,
        "message": f"{kind}: said the provider" if kind else "",
        "answered_by": None if kind else name,
        "carry": False,
        "retry_at": None,
        "record": f"attempt-{n}",
        "started_at": at,
        "ended_at": at + took,
        "first_event_at": at + 0.4,
        "first_token_at": None if waited is None else at + waited,
        "exit_code": 0,
        "turns": 2,
        "tool_calls": 3,
        "failed_tool_calls": 0,
        "retries": 0,
        "compactions": 0,
        **used,
        "cost_usd": cost,
        "asked": name,
        "took": bucket_of(took),
        "waited": bucket_of(waited),
    }


def _item(run: dict[str, Any], edition: int, position: int) -> dict[str, Any]:
    ended = run["status"] != "running"
    return {
        "edition_id": edition,
        "position": position,
        "custom_id": run["custom_id"],
        "digest": "0" * 16,
        "state": run["status"],
        "round": 0,
        "term": 1,
        "held": False,
        "shard": 0,
        "claims": 1,
        "parked_until": None,
        "changed_at": run["ended_at"] or run["created_at"],
        "run_id": run["run_id"] if ended else None,
        "kind": run["kind"],
        "source": "{}",
        "result": "{}" if ended else None,
    }


def _write(database: Database, some: Made, known: dict[Label, int]) -> None:
    if not some.runs:
        return
    by_run: dict[str, list[dict[str, Any]]] = {}
    for step in some.attempts:
        by_run.setdefault(step["run_id"], []).append(step)
    with database.writing() as connection:
        connection.execute(insert(r), some.runs)
        connection.execute(insert(a), some.attempts)
        if some.items:
            connection.execute(insert(items), some.items)
        pairs = []
        for run in some.runs:
            for one in labels_of(run, by_run[run["run_id"]]):
                if one not in known:
                    made = insert(label_table).values(what=one[0], value=one[1]).returning(label_table.c.id)
                    known[one] = connection.execute(made).scalar_one()
                pairs.append({"label_id": known[one], "run_id": run["run_id"]})
        connection.execute(insert(run_labels), sorted(pairs, key=lambda pair: (pair["label_id"], pair["run_id"])))


def _next(text: str) -> str:
    """The text that follows in the order of ids."""
    number = sum(_LETTERS.index(letter) * 32**n for n, letter in enumerate(reversed(text))) + 1
    return "".join(_LETTERS[number >> shift & 31] for shift in range(25, -1, -5))


def main() -> None:
    """Make a history in a new file, or at a URL."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("where", help="a new file, or the URL of an empty database")
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--days", type=float, default=365)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    url = given.where if "://" in given.where else f"sqlite:///{Path(given.where).absolute()}"
    database = Database.open(url, home=Path("/nowhere"))
    begun = time.monotonic()
    make(database, given.runs, days=given.days, seed=given.seed)
    database.close()
    print(f"{given.runs:,} runs in {time.monotonic() - begun:.0f} s at {given.where}")


if __name__ == "__main__":
    main()
