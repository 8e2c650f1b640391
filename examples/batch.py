"""A batch: every prompt of an input, with what it came to. Start it again, and nothing is asked twice."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from asked import asked

from flows.batch import BatchEvent, Notice, run_batch

PROMPTS = Path(__file__).with_name("prompts.jsonl")


def tell(event: BatchEvent) -> None:
    """Print how it stands, once a second."""
    if isinstance(event, Notice):
        print(event.text)
    else:
        print(f"{event.done} of {event.total} done, {event.running} running")


def main() -> None:
    """Run it, and print a line for each answer."""
    given = asked("A batch of prompts.", ["scripted/rate-limit", "other/ok"])
    batch = run_batch(PROMPTS, output="answers", models=given.models, agent=given.agent, shared=True, on_event=tell)
    result = asyncio.run(batch)
    for line in Path(result.results).read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        print(f"{item['custom_id']}: {item['answer'] or item['kind']}")
    print(f"{result.answered} of {result.total} answered, in {result.results}", result.go_on)


if __name__ == "__main__":
    main()
