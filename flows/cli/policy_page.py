"""One policy in lines for a person on stdout: its models, what bounds a run, and what is done on each failure."""

from __future__ import annotations

import shlex
import sys

from atomic.checks import Checks
from atomic.models import ModelCatalog
from atomic.policy import FallbackPolicy, describe
from atomic.policy.describe import KindRow
from atomic.runner import ceiling_usd
from atomic.text import printable
from flows.cli.figures import duration, money
from flows.cli.output import DIM, paint
from flows.cli.sentences import OWN_MODEL
from flows.cli.tables import Cell, Column, paragraph, parts, table

NO_LIMIT = "no limit"
OWN = " *"  # behind a kind whose rule is the policy's own
WAITS = "waits"
COLUMNS = (
    Column("kind"),
    Column("what is done", least=38),
    Column("cools", rank=1),
    Column(WAITS, rank=2),
)
AFTER_TOOLS = {
    "carry": "the next model goes on with the conversation",
    "fresh": "the next model begins anew",
    "stop": "the run stops",
}
LEAD = 14  # cells before a fact


def policy_page(name: str, policy: FallbackPolicy, catalog: ModelCatalog) -> list[str]:
    """The lines."""
    rows = describe(policy)
    lines = paragraph(f"{printable(name)}: ", " → ".join(map(str, policy.models)) or OWN_MODEL, sys.stdout, 2)
    for fact, text in facts(policy, catalog).items():
        lines += paragraph(f"  {fact:<{LEAD - 2}}", text, sys.stdout)
    head, *kinds = table(COLUMNS, [_cells(row) for row in rows], sys.stdout)
    lines += ["", head, *kinds, ""]
    notes = [f"{row.kind}: {row.note}" for row in rows if row.note]
    if any(row.source == "policy" for row in rows):
        notes.insert(0, f"{OWN.strip()} the policy's own; all else are defaults")
    if WAITS in head:
        notes.append(f"{WAITS}: whether it passes by waiting; near: when the provider names a time within max_wait")
    for note in notes:
        lines += [paint(line, DIM, stream=sys.stdout) for line in paragraph("", note, sys.stdout, 2)]
    return lines


def facts(policy: FallbackPolicy, catalog: ModelCatalog) -> dict[str, str]:
    """What bounds a run and its sessions, said also where nothing does."""
    limits = policy.limits
    of_run = (
        f"cost {money(limits.cost_usd) if limits.cost_usd else NO_LIMIT}",
        f"tokens {limits.tokens:,}" if limits.tokens else f"tokens {NO_LIMIT}",
        f"attempts {policy.max_attempts:,}",
        f"waiting {duration(policy.max_wait) if policy.max_wait else 'never'}",
    )
    seconds = {"length": limits.total, "silence": limits.idle, "one tool": limits.tool, "first byte": limits.startup}
    of_session = (
        *(f"{what} {duration(value) if value else NO_LIMIT}" for what, value in seconds.items()),
        f"turns {limits.turns:,}" if limits.turns else f"turns {NO_LIMIT}",
        f"its end {duration(limits.settle) if limits.settle else NO_LIMIT}",
    )
    return {
        "a run": parts(of_run),
        "a session": parts(of_session),
        "may cost": may_cost(policy, catalog),
        "after tools": f"{policy.after_tools}: {AFTER_TOOLS[policy.after_tools]}",
        **({"checks": checks(policy)} if Checks.of(policy) else {}),
    }


def checks(policy: FallbackPolicy) -> str:
    """What answers are checked by, and what follows where they are not accepted."""
    schema, limit = policy.answer_schema, policy.limits.check
    by = (
        *((f"schema {printable(str(schema))}",) if schema else ()),
        *(
            (f"{printable(shlex.join(policy.check))} ({duration(limit) if limit else NO_LIMIT})",)
            if policy.check
            else ()
        ),
        f"rejected: {policy.after_rejection}: {AFTER_TOOLS[policy.after_rejection]}",
    )
    return parts(by)


def may_cost(policy: FallbackPolicy, catalog: ModelCatalog) -> str:
    """The most that a run may cost, in words."""
    limits = policy.limits
    if limits.cost_usd:
        return f"at most {money(limits.cost_usd)}, and what the message under way adds when that is reached"
    ceiling = ceiling_usd(policy, catalog)
    if ceiling is not None:
        return f"at most about {money(ceiling)}: {limits.tokens:,} tokens at the highest price of its models"
    if limits.tokens:
        return f"unknown: {limits.tokens:,} tokens at a price that nobody knows"
    return "whatever it takes: limits.cost_usd or limits.tokens bound it, as do --max-cost and --max-tokens of a run"


def _cells(row: KindRow) -> tuple[Cell, ...]:
    own = OWN if row.source == "policy" else ""
    return (f"{row.kind}{own}", row.action, row.cools, row.passing)
