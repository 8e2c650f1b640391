"""What an attempt is asked: the run's prompt, or what a conversation is carried on with. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from atomic.policy.defaults import OUTPUT, REJECTED_BEFORE
from atomic.policy.facts import Attempted, FallbackPolicy, Start
from atomic.text import printable

NOTHING_SAID = "(nothing)"


def prompt_of(prompt: bytes, policy: FallbackPolicy, step: Start, attempts: Sequence[Attempted]) -> bytes:
    """The bytes to send. A carried conversation is not told the run's prompt again; a check's output comes within a
    text that begins with words of the policy's or of the run's, so that it can be no command of the agent's."""
    if step.rejected is None:
        return policy.continue_prompt.encode() if step.carry else prompt
    output = _output(attempts, step.rejected)
    if step.carry:
        return policy.rejected_prompt.replace(OUTPUT, output).encode()
    return b"%b\n\n%b" % (prompt, REJECTED_BEFORE.replace(OUTPUT, output).encode())


def _output(attempts: Sequence[Attempted], n: int) -> str:
    report = next((attempt.verdict.check for attempt in attempts if attempt.n == n), None)
    return (printable(report.output or report.message).strip() if report else "") or NOTHING_SAID
