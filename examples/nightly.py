"""`run_prompt` inside a flow of one's own: the key makes it safe to retry the flow, since an answer is bought once."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from asked import asked
from prefect import flow

from flows import run_prompt


@flow(retries=2, retry_delay_seconds=60)
async def nightly(models: list[str], agent: str) -> str | None:
    """Triage what came in today."""
    key = f"triage-{agent}-{datetime.now(UTC):%Y-%m-%d}"
    result = await run_prompt("Triage the new issues.", models=models, agent=agent, name="triage", key=key)
    return result.answer


if __name__ == "__main__":
    given = asked("A nightly flow.", ["scripted/quota", "other/ok"])
    print(asyncio.run(nightly(given.models, given.agent)))
