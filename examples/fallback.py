"""One prompt through several models, without Prefect, with what happens on the way."""

from __future__ import annotations

import asyncio

from asked import asked

from atomic import NoModelAnswered, RunEvent, run
from atomic.runner import AttemptEnded, AttemptStarted


def tell(event: RunEvent) -> None:
    """Print the starts and ends of attempts; there are more events, such as live progress."""
    match event:
        case AttemptStarted(n=n, model=model, reason=reason):
            print(f"attempt {n}: {model} ({reason})")
        case AttemptEnded(n=n, verdict=verdict):
            print(f"attempt {n}: {verdict.kind or 'answered'}  {verdict.message}")


async def main() -> None:
    """Ask, and print the answer or why there is none."""
    given = asked("Fall back from model to model.", ["scripted/overflow", "scripted/rate-limit", "other/ok"])
    try:
        result = await run("Name three risks.", models=given.models, agent=given.agent, on_event=tell)
    except NoModelAnswered as error:
        print(error, *(f"  {one.model}: {one.kind}" for one in error.result.attempts), sep="\n")
        raise SystemExit(error.exit_code) from None
    print(f"\n{result.answer}\n\nanswered by {result.answered_by}; the record is in {result.record}")


if __name__ == "__main__":
    asyncio.run(main())
