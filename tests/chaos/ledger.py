"""The scripted agent with a ledger of its own: `python -m tests.chaos.ledger LEDGER [options]`.

A line is added for each prompt that was settled, after the agent has said so on its stream: what it sold, in its own
words, whatever becomes of the record.
"""

from __future__ import annotations

import sys
from pathlib import Path

from atomic.scripted.__main__ import main
from atomic.scripted.agent import Agent
from atomic.scripted.catalog import ANSWERED, read_name


def sold(ledger: Path, prompt: str) -> int:
    """How often this prompt was answered."""
    return ledger.read_text().splitlines().count(prompt) if ledger.exists() else 0


def keep(ledger: Path) -> None:
    """From now on, note every answer of this process."""
    settle = Agent.settle

    def noted(agent: Agent) -> None:
        settle(agent)
        part = read_name(agent.model)
        if part is not None and part.behaviour.comes_to == ANSWERED:
            with ledger.open("a") as file:
                file.write(f"{agent.prompt}\n")

    Agent.settle = noted  # type: ignore[method-assign, assignment]


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
    sys.exit(main(sys.argv[2:]))
