"""What a run came to, for a person, on stderr."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from atomic.errors import EXIT_ANSWERED, EXIT_BUDGET, EXIT_FAILED, EXIT_USAGE
from atomic.failures import FailureKind
from atomic.policy import FallbackPolicy
from atomic.policy.rules import Move
from atomic.recovery import Recovered
from atomic.runner import RunResult
from atomic.text import one_line, printable
from flows.cli.figures import count, duration, money
from flows.cli.output import BOLD, DIM, GREEN, RED, YELLOW, paint, say
from flows.cli.sentences import OWN_MODEL
from flows.cli.spoken import spoken
from flows.cli.tables import Cell, Column, table


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to (None where it never began), its exit code, and its page in Prefect's UI."""

    result: RunResult | None
    code: int
    page: str | None = None


# The others are plain failures. An agent that is not set up sent nothing, just as with a wrong option here.
EXIT_CODES = {FailureKind.BUDGET: EXIT_BUDGET, FailureKind.CONFIGURATION: EXIT_USAGE}
# What helps where another model would not have.
REMEDIES = {
    FailureKind.UNREADABLE: "what ran is no agent that is known here: check --agent, or [agent] in the settings",
    FailureKind.BUDGET: "--max-cost and --max-tokens (limits.cost_usd, limits.tokens) set the budget of a run",
    FailureKind.CONFIGURATION: "what the agent said of it is in stderr.txt of the attempt",
}
CELL = 60  # characters of a reason in a table
ATTEMPTS = (
    Column(""),
    Column("attempt", rank=1),
    Column("model", least=20, cut="middle"),
    Column("came to"),
    Column("why", least=16, fold=True),
)


def exit_code(result: RunResult) -> int:
    """The exit code that a run's end means."""
    if result.answered:
        return EXIT_ANSWERED
    return EXIT_CODES.get(result.kind, EXIT_FAILED) if result.kind else EXIT_FAILED


def tell(result: RunResult, policy: FallbackPolicy, name: str, page: str | None = None) -> None:
    """How it ended, what it took, where the record is and how to look at it. ``policy`` is that of the run, by its
    ``name`` in the settings; ``page``: of the run in Prefect's UI."""
    if result.answered:
        head = f"{paint('✓ answered', GREEN, BOLD)} by {one_line(result.answered_by or OWN_MODEL)}"
    else:
        head = f"{paint('✗ failed:', RED, BOLD)} {paint(str(result.kind), RED)}"
    attempts = len(result.attempts)
    figures = [
        f"{attempts} attempt{'' if attempts == 1 else 's'}",
        duration(result.seconds),
        f"{count(result.usage.tokens)} tokens",
        money(result.cost_usd),
    ]
    say(f"{head}  {paint(' · '.join(figures), DIM)}")
    if result.recorded:
        say("  this is the recorded answer of an earlier run with the same key: nothing was bought")
    if result.message and not result.answered:
        say(f"  {one_line(result.message, 1000)}")
        if (advice := remedy(result, policy, name)) is not None:
            say(paint(f"  {one_line(advice, 500)}", DIM))
    for warning in result.warnings:
        say(f"  {paint('warning', YELLOW)} {one_line(warning, 500)}")
    if result.changes is not None:
        apply = paint(f" · atomic-flows apply {result.run_id}", DIM) if result.changes.patch else ""
        say(f"  {result.changes}{apply}")
    say(f"  {paint('record', DIM)}  {printable(result.record)}")
    say(f"  {paint('look', DIM)}    atomic-flows explain {result.run_id} · atomic-flows record cat {result.run_id}")
    if page is not None:
        say(f"  {paint('page', DIM)}    {printable(page)}")


def remedy(result: RunResult, policy: FallbackPolicy, name: str) -> str | None:
    """What might have helped a run that nobody answered; None where nothing is known to."""
    kind = result.kind
    if kind is FailureKind.CONFIGURATION and result.verdicts and result.verdicts[-1].check is not None:
        return "the policy's check could not be run: `atomic-flows policy check`, and check.txt of the attempt"
    if kind is None or kind in REMEDIES:
        return None if kind is None else REMEDIES[kind]
    if policy.rule(kind).then is Move.STOP:
        return None if kind is FailureKind.CANCELLED else f'[policy.{name}.on] {kind} = "next" would go on after {kind}'
    if len({attempt.model for attempt in result.attempts}) == 1 and len(policy.models) <= 1:
        return "one model was tried; -m MODEL -m MODEL names the ones to fall back to"
    return None


def tell_recovered(found: Recovered) -> None:
    """What a kill had left, and what became of it; nothing where there was nothing."""
    if sentence := found.sentence():
        say(paint(printable(sentence), YELLOW))


def attempts_table(result: RunResult) -> list[str]:
    """The attempts, a row each, for stderr."""
    rows: list[tuple[Cell, ...]] = []
    for attempt in result.attempts:
        answered = attempt.status == "answered"
        came_to = ("answered", GREEN) if answered else (str(attempt.kind), RED)
        why = one_line(spoken(attempt.message), CELL)
        rows.append(("✓" if answered else "✗", str(attempt.n), one_line(attempt.model or OWN_MODEL), came_to, why))
    return table(ATTEMPTS, rows, sys.stderr)
