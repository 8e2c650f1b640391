"""The two options that every example takes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Asked:
    """Which agent to call, with which models."""

    agent: str
    models: list[str]


def asked(description: str, models: Sequence[str]) -> Asked:
    """Read the command line; ``models`` are those of the scripted agent."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--agent", default="scripted", help="the agent's command (default: the scripted agent)")
    parser.add_argument("-m", "--model", action="append", metavar="PROVIDER/ID", help="in order; may be repeated")
    given = parser.parse_args()
    return Asked(given.agent, given.model or list(models))
