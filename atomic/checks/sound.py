"""Whether a policy's checks can be carried out: looked at before anything is spent."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from atomic.checks.json_schema import read_schema
from atomic.errors import PolicyError
from atomic.policy import FallbackPolicy


def anchored(policy: FallbackPolicy) -> FallbackPolicy:
    """The policy with the whole path of its schema's file. One that comes from a file of settings has it already:
    relative to that file; any other is relative to the working folder."""
    if policy.answer_schema is None:
        return policy
    whole = Path(os.path.abspath(os.path.expanduser(policy.answer_schema)))  # noqa: PTH100, PTH111 - refuses nothing
    return policy if whole == policy.answer_schema else policy.model_copy(update={"answer_schema": whole})


def laid_over(policy: FallbackPolicy, command: str | Sequence[str] | None, schema: str | Path | None) -> FallbackPolicy:
    """The policy with another command or schema, where one is given. Raises PolicyError."""
    given = {name: value for name, value in {"check": command, "schema": schema}.items() if value is not None}
    if not given:
        return policy
    return anchored(FallbackPolicy.model_validate({**policy.model_dump(mode="json"), **given}))


def require_sound(policy: FallbackPolicy, cwd: Path) -> None:
    """Refuse checks that could not be carried out in this folder. Raises PolicyError."""
    if policy.answer_schema is not None:
        read_schema(policy.answer_schema)
    if policy.check and not _can_be_started(policy.check[0], cwd):
        program = policy.check[0]
        where = f"no executable file in {cwd}" if os.sep in program else "no program on PATH"
        raise PolicyError(
            f"check = {program!r} cannot be started: there is {where} of that name",
            hint="Give a program, or a file relative to the folder that the agent works in; a shell's words (&&, |, "
            "$NAME) need one: sh -c '…'.",
            key="check",
            command=list(policy.check),
        )


def _can_be_started(program: str, cwd: Path) -> bool:
    if os.sep not in program:
        return shutil.which(program) is not None
    path = cwd / program
    return os.path.isfile(path) and os.access(path, os.X_OK)  # noqa: PTH113 - names may be too long
