"""The attempt task in a flow that decides itself which model comes next: here, a cheap one first, and a dear one only
when the answer is too short."""

from __future__ import annotations

import asyncio

from asked import asked
from prefect import flow

from flows import attempt


@flow
async def ladder(models: list[str], agent: str, enough: int = 20) -> str | None:
    """Climb until somebody has said enough."""
    answer = None
    for model in models:
        verdict = await attempt("Explain what a fallback is.", model, agent=agent)
        answer = verdict.answer if verdict.answered else answer
        if answer is not None and len(answer) >= enough:
            break
    return answer


if __name__ == "__main__":
    given = asked("A ladder of one's own.", ["scripted/empty", "other/ok"])
    print(asyncio.run(ladder(given.models, given.agent)))
