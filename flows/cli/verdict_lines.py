"""What a verdict says, in lines for a person on stdout. All parts are cleaned."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from atomic.text import one_line
from flows.cli.figures import count, duration, money, several
from flows.cli.output import DIM, YELLOW, paint

if TYPE_CHECKING:
    from atomic.verdict import Verdict

MESSAGE = 500  # characters of a message or a warning
SHOWN_LINES = 12  # of what a check said
LINE = 100  # characters of a message in a line of its own among others
SIGN = 300  # characters of the text of one piece of evidence


def evidence_lines(verdict: Verdict) -> list[str]:
    """Where the records that decided it are, and what they say."""
    lines = []
    for one in verdict.evidence:
        where = f"line {one.line}, byte {one.offset}" if one.line else "outside the stream"
        text = paint(one_line(one.text, SIGN), DIM, stream=sys.stdout)
        lines.append(f"{where}  {one_line(one.event)}  {text}".rstrip())
    return lines


def check_lines(verdict: Verdict) -> list[str]:
    """What the policy's checks said of the answer; nothing where it has none."""
    report = verdict.check
    if report is None:
        return []
    said = report.output.splitlines()
    cut = [f"… {several(len(said) - SHOWN_LINES, 'line')} more in check.txt"] if len(said) > SHOWN_LINES else []
    shown = [one_line(line, SIGN) for line in said[:SHOWN_LINES]] + cut
    return [
        f"{report.outcome} after {duration(report.seconds)}",
        *(paint(line, DIM, stream=sys.stdout) for line in shown),
    ]


def work_lines(verdict: Verdict) -> list[str]:
    """What the agent did, what it used, and what its stream was like."""
    usage = verdict.usage
    cost = money(verdict.cost_usd)
    read, wrote, cached = count(usage.input), count(usage.output), count(usage.cache_read)
    failed = f" ({verdict.failed_tool_calls} failed)" if verdict.failed_tool_calls else ""
    work = f"{several(verdict.turns, 'turn')}, {several(verdict.tool_calls, 'tool call')}{failed}"
    own = f"{several(verdict.retries, 'retry', 'retries')}, {several(verdict.compactions, 'compaction')}"
    lines = [
        f"{work}, {own}",
        f"tokens: {read} in, {wrote} out, {cached} from cache · {cost}",
        f"stream: {several(verdict.records, 'record')}, {several(verdict.noise, 'line')} of noise"
        + (f", {verdict.torn} bytes torn" if verdict.torn else "")
        + f", {'settled' if verdict.settled else 'not settled'}"
        + f", exit code {'unknown' if verdict.exit_code is None else verdict.exit_code}",
    ]
    if verdict.stopped:
        lines.append(f"stopped by us: {verdict.stopped}")
    return lines


def warning_lines(warnings: tuple[str, ...]) -> list[str]:
    """What a person should know."""
    return [f"{paint('warning', YELLOW, stream=sys.stdout)} {one_line(warning, MESSAGE)}" for warning in warnings]
