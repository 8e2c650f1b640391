"""What the agent prints about itself: its version, and the models it can use."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass

from atomic.agent import Agent
from atomic.errors import ModelRefError
from atomic.models import ModelRef
from atomic.text import one_line

PATIENCE = 30.0  # seconds; the slowest release measured takes four on a busy machine
_OFFLINE = {"PI_OFFLINE": "1", "ATOMIC_OFFLINE": "1"}  # neither question needs the network
_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")


@dataclass(frozen=True, slots=True)
class Printed:
    """What a command printed; ``problem`` says why it is not to be relied on."""

    text: str = ""
    problem: str | None = None


def printed(agent: Agent, *arguments: str) -> Printed:
    """Start a resolved agent with these arguments, away from any project, and read what it prints."""
    environ = {**os.environ, **agent.env, **_OFFLINE}
    with tempfile.TemporaryDirectory() as nowhere:
        try:
            done = subprocess.run(
                [*agent.command, *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                cwd=nowhere,
                env=environ,
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Printed(problem=f"it does not answer `{' '.join(arguments)}` within {PATIENCE:.0f} s")
        except OSError as error:
            return Printed(problem=f"it does not start: {error.strerror or error}")
    out, err = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    if done.returncode:
        said = one_line(_last_error(err) or out)
        return Printed(out, f"it does not start: exit code {done.returncode}{f', {said}' if said else ''}")
    return Printed(out or err)  # older releases print both answers on stderr


def version_in(text: str) -> str | None:
    """The version in what `--version` printed."""
    found = _VERSION.search(text)
    return found[0] if found else None


def models_in(text: str) -> list[ModelRef]:
    """The models in what `--list-models` printed: a table whose first two columns are provider and model."""
    rows = [line.split() for line in text.splitlines()]
    head = next((n for n, row in enumerate(rows) if row[:2] == ["provider", "model"]), None)
    models = []
    for row in rows[head + 1 :] if head is not None else ():
        try:
            models.append(ModelRef.parse("/".join(row[:2])))
        except ModelRefError:
            continue  # a remark below the table
    return models


def _last_error(text: str) -> str:
    """The line that says what was wrong: Node prints it among others."""
    lines = [line for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "Error" in line), lines[-1] if lines else "")
