"""Chaos on single runs: `python -m tests.chaos.single [--rounds N] [--real] [--server] [--seed S]`.

In each round a run is started, one process of its tree is killed with SIGKILL at a random moment, and the same prompt
is started again with the same key. The choices follow from the seed; what the kill hits depends on the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import secrets
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from tests.chaos.ground import Ground, real_agent, scripted
from tests.chaos.invariants import broken, unsettled
from tests.chaos.victims import kill_one, of_attempts
from tests.e2e.releases import RELEASES

PATIENCE = 180.0  # seconds for a command to end: a run that hangs is a failure of the round, not of the program
ROUNDS = 100
WHOLE = 0.3  # share of rounds whose moment is counted from the command's start, not from its first agent's


class BrokenError(AssertionError):
    """A round after which something does not hold."""


def one_round(ground: Ground, n: int, seed: int) -> str:
    """Start, kill, start again, look. Returns what was killed. Raises BrokenError, with all it takes to repeat it."""
    dice = random.Random(f"{seed}/{n}")
    prompt = f"round {n}"
    models = dice.choice(ground.scenes)
    # Rather early than late: many a run is short.
    whole, moment = dice.random() < WHOLE, ground.moments * dice.random() ** 2
    first = ground.start(prompt, *models)
    if not whole:
        _at_work(first, ground)
    time.sleep(moment)
    killed = kill_one(first, ground.store, dice, server=ground.through_prefect)
    since = "it was started" if whole else "its agent was"
    story = f"seed {seed}, {prompt}: {' '.join(models)}, {killed} killed {moment:.2f} s after {since}"
    _ended(first, story)
    second = ground.start(prompt, ground.good)
    out, err = _ended(second, story)
    if second.returncode != 0 or b"Traceback" in err:
        raise BrokenError(f"{story}\nthe next start ended with {second.returncode}:\n{err.decode(errors='replace')}")
    faults = list(broken(ground, prompt, json.loads(out)))
    if ground.through_prefect:
        faults += list(unsettled(ground.store.home))
    if faults:
        raise BrokenError("\n  ".join([story, *faults]))
    return killed


def _at_work(command: subprocess.Popen[bytes], ground: Ground) -> None:
    """Return when an agent of the command runs, or the command has ended."""
    while command.poll() is None and not of_attempts(ground.store):
        time.sleep(0.01)


def _ended(command: subprocess.Popen[bytes], story: str) -> tuple[bytes, bytes]:
    try:
        return command.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        command.kill()
        out, err = command.communicate()
        raise BrokenError(f"{story}\na command did not end:\n{(out + err).decode(errors='replace')}") from None


def main() -> int:
    """The program; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.single", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--first", type=int, default=1, help="number of the first round, to repeat one")
    parser.add_argument("--real", action="store_true", help="real agents from npm, each release in turn")
    parser.add_argument("--server", action="store_true", help="through the local Prefect server, which is a victim too")
    parser.add_argument("--seed", type=int, default=None)
    given = parser.parse_args()
    seed = secrets.randbelow(10**6) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    killed: Counter[str] = Counter()
    failed = 0
    makers = _makers(real=given.real, server=given.server)
    with contextlib.ExitStack() as opened:
        grounds: dict[int, Ground] = {}
        for n in range(given.first, given.first + given.rounds):
            turn = n % len(makers)
            if turn not in grounds:
                grounds[turn] = opened.enter_context(makers[turn]())
            try:
                killed[one_round(grounds[turn], n, seed)] += 1
            except BrokenError as error:
                failed += 1
                home = grounds.pop(turn).store.home  # the next rounds get another one
                print(f"{error}\n  to look into: {home}", flush=True)
    print(f"seed {seed}: {given.rounds} rounds, {failed} failed; killed: {dict(killed)}")
    return 1 if failed else 0


def _makers(*, real: bool, server: bool) -> list[Callable[[], AbstractContextManager[Ground]]]:
    """What makes each ground, in a folder that stays; the rounds take them in turn."""

    def folder() -> Path:
        return Path(tempfile.mkdtemp(prefix="chaos-"))

    if real:
        return [lambda release=release: real_agent(folder(), release) for release in RELEASES]  # type: ignore[misc]
    return [lambda: scripted(folder(), through_prefect=server)]


if __name__ == "__main__":
    sys.exit(main())
