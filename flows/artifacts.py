"""What Prefect's pages show of attempts and runs: short texts, never transcripts. The record has everything."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, Self
from uuid import UUID

import httpx
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import ArtifactCreate
from prefect.logging import get_logger

from atomic.record import AttemptRecord
from atomic.runner import RunResult
from atomic.text import Masker, slug
from atomic.verdict.facts import Usage, Verdict
from flows.markdown import cell, code

TELL_LIMIT = 5.0  # seconds for one call to the server, retries included; the run does not wait for more at its end
MOST_EVIDENCE = 5
MOST_WARNINGS = 10
ATTEMPT_LINK = "attempt"

Call = Callable[[PrefectClient], Awaitable[object]]


class Teller:
    """Tells the server about one flow run, in the background. What cannot be told is a warning: the record has it."""

    def __init__(self, masker: Masker, *, pages: str | None = None) -> None:
        """``pages``: the address of the dashboard, for links; None where there is none."""
        self.masker = masker
        self.pages = pages
        self.failed = 0
        self.gone = False  # nobody is there: whoever tells the end meets the same, and says so
        self._tasks: set[asyncio.Task[None]] = set()

    def tell(self, call: Call) -> None:
        """Make this call soon. It is tried for TELL_LIMIT seconds."""
        task = asyncio.get_running_loop().create_task(self._tell(call))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Wait for what is under way; it is bounded. A warning where not all could be told."""
        while self._tasks:
            await asyncio.wait(self._tasks)
        if self.failed and not self.gone:
            get_logger("atomic_flows").warning(
                "Prefect's server did not take %d message(s) about this run; the record is whole", self.failed
            )

    async def _tell(self, call: Call) -> None:
        try:
            async with asyncio.timeout(TELL_LIMIT), get_client() as client:
                await call(client)
        except httpx.TransportError:
            self.gone = True
        except Exception:  # noqa: BLE001 - whatever the server or the way to it does, it must not break a run
            self.failed += 1


def attempt_artifact(
    record: AttemptRecord, folder: str, teller: Teller, *, task_run_id: UUID, flow_run_id: UUID | None
) -> Call:
    """The markdown of an attempt, on its task run, without a key."""
    artifact = ArtifactCreate(
        type="markdown",
        description=f"{ATTEMPT_LINK} {record.n}",
        data=attempt_markdown(record, folder, teller.masker, teller.pages),
        task_run_id=task_run_id,
        flow_run_id=flow_run_id,
    )
    return lambda client: client.create_artifact(artifact)


def run_artifact(result: RunResult, teller: Teller, *, flow_run_id: UUID) -> Call:
    """The table of a run's attempts, on its flow run: with a key, and so with versions, where the run has a name."""
    masker = teller.masker
    artifact = ArtifactCreate(
        type="table",
        key=f"run-{slug(masker(result.name))}" if result.name else None,
        description=run_markdown(result, masker, teller.pages),
        data=json.dumps(attempt_rows(result, masker)),
        flow_run_id=flow_run_id,
    )
    return lambda client: client.create_artifact(artifact)


def attempt_markdown(record: AttemptRecord, folder: str, masker: Masker, pages: str | None = None) -> str:
    """Verdict, evidence, model, usage and record of an attempt; ``pages`` is the dashboard's address."""
    verdict = record.verdict or Verdict(status="failed", message="no verdict")
    lines = [
        f"## Attempt {record.n}: {_outcome(verdict)}",
        "",
        *_items(
            ("Message", code(masker(verdict.message)) if verdict.message else None),
            ("Model", code(record.model or "the agent's own default")),
            ("Answered by", code(verdict.answered_by) if verdict.answered_by else None),
            ("The provider named it", code(verdict.response_model) if verdict.response_model else None),
            ("Carried on from the attempt before", "yes" if record.carry else None),
            ("Usage", usage_text(verdict.usage, verdict.cost_usd)),
            ("Work", _work(verdict)),
            ("Check", str(verdict.check.outcome) if verdict.check else None),
            ("Exit code", "unknown" if verdict.exit_code is None else str(verdict.exit_code)),
            ("Record", code(masker(folder))),
            ("Transcript and events", _link(pages, f"{record.run_id}/{record.n}")),
            ("Stream", _stream(record)),
        ),
    ]
    if verdict.evidence:
        lines += ["", "### Evidence", ""]
        lines += [
            f"- {code(one.event)}, line {one.line}, byte {one.offset}: {code(masker(one.text))}"
            for one in verdict.evidence[:MOST_EVIDENCE]
        ]
    if verdict.check and verdict.check.output:
        said = verdict.check.output.splitlines()[:MOST_EVIDENCE]
        lines += ["", "### What the check said", "", *(f"- {code(masker(line))}" for line in said)]
    if verdict.warnings:
        lines += ["", "### Warnings", "", *(f"- {code(masker(text))}" for text in verdict.warnings[:MOST_WARNINGS])]
    return "\n".join(lines)


def run_markdown(result: RunResult, masker: Masker, pages: str | None = None) -> str:
    """The sentence above a run's table; ``pages`` is the dashboard's address."""
    outcome = f"answered by {code(result.answered_by or 'the agent')}" if result.answered else f"failed: {result.kind}"
    usage = usage_text(result.usage, result.cost_usd)
    changes = "" if result.changes is None else f" {str(result.changes).capitalize()}."
    link = _link(pages, result.run_id)
    more = "" if link is None else f". {link}"
    return f"Run {code(result.run_id)} {outcome}. {usage}.{changes} Record: {code(masker(result.record))}{more}"


def attempt_rows(result: RunResult, masker: Masker) -> list[dict[str, Any]]:
    """A row for each attempt."""
    return [
        {
            "attempt": one.n,
            "model": cell(one.model or "the agent's own default"),
            "status": one.status,
            "kind": one.kind or "",
            "message": cell(masker(one.message)),
            "answered by": cell(one.answered_by or ""),
            "carried": "yes" if one.carry else "",
            "record": cell(one.record),
        }
        for one in result.attempts
    ]


def usage_text(usage: Usage, cost: float | None) -> str:
    """Tokens and dollars in a line; a cost that nobody knows is not shown as none."""
    dollars = "cost unknown" if cost is None else f"${cost:.4f}"
    cached = usage.cache_read or usage.cache_write
    cache = f", cache {usage.cache_read:,} read and {usage.cache_write:,} written" if cached else ""
    return f"{usage.input:,} tokens in, {usage.output:,} out{cache}, {dollars}"


def _link(pages: str | None, path: str) -> str | None:
    """A link into the dashboard. Its address is the user's own, the path is made of ids."""
    return None if pages is None else f"[Open in the dashboard](<{pages}/runs/{path}>)"


def _outcome(verdict: Verdict) -> str:
    return "answered" if verdict.answered else f"failed, {verdict.kind or 'unknown'}"


def _work(verdict: Verdict) -> str:
    failed = f" ({verdict.failed_tool_calls} failed)" if verdict.failed_tool_calls else ""
    return (
        f"{verdict.turns} turns, {verdict.tool_calls} tool calls{failed}; "
        f"by the agent itself {verdict.retries} retries, {verdict.compactions} compactions"
    )


def _stream(record: AttemptRecord) -> str | None:
    if record.stream is None:
        return None
    return f"{code(record.stream.name)}, {record.stream.bytes:,} bytes, sha256 {code(record.stream.sha256)}"


def _items(*items: tuple[str, str | None]) -> list[str]:
    return [f"- **{name}**: {text}" for name, text in items if text is not None]
