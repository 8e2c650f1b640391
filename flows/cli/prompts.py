"""The prompt as an argument: text, ``-`` for stdin, ``@FILE``; any size, any first character."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, BinaryIO

from typer.core import TyperCommand

from atomic.errors import PlaceError, PromptError, UsageError
from flows.cli.output import DIM, paint, say

LONGEST_PROMPT = 256 << 20  # bytes; hundreds of times what any model reads, and it fits in memory
_PIECE = 1 << 20


class PromptCommand(TyperCommand):
    """A command whose argument may begin with a dash, as prompts do: ``run "-5 + 3?"``.

    A word that begins like an option, is none, and holds a blank or is a number can only be the prompt. Anything else
    that begins with a dash is taken for a mistyped option, never silently for a prompt that costs money.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # Resilient parsing is the shell's, for a line that is not yet whole.
        return super().parse_args(ctx, args if ctx.resilient_parsing else self.shield(args))

    def shield(self, args: list[str]) -> list[str]:
        """The arguments with such a prompt moved behind ``--``. Raises UsageError for an unknown option."""
        takes_value = {name for option in self.params for name in option.opts if not getattr(option, "is_flag", False)}
        known = {name for option in self.params for name in (*option.opts, *option.secondary_opts)} | {"--help"}
        skip = False
        for n, arg in enumerate(args):
            if arg == "--":
                break
            if skip or not arg.startswith("-") or arg == "-":
                skip = False
                continue
            name = arg.partition("=")[0]
            if name in known or (arg[:2] in known and not arg.startswith("--")):
                skip = arg in takes_value
                continue
            if _only_a_prompt(arg):
                return [*args[:n], *args[n + 1 :], "--", arg] if "--" not in args else args
            raise _unknown(arg, known)
        return args


def _only_a_prompt(arg: str) -> bool:
    return any(c.isspace() for c in arg) or arg[1:2].isdigit()


def _unknown(arg: str, known: set[str]) -> UsageError:
    import difflib

    near = difflib.get_close_matches(arg.partition("=")[0], sorted(known), n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    return UsageError(
        f"no such option: {arg}", hint=f"{meant}A prompt that begins with a dash comes last, after `--`", option=arg
    )


def read_prompt(text: str) -> bytes:
    """The prompt's bytes. Raises PlaceError for a file that cannot be read, PromptError for a stdin that is closed
    and for a prompt longer than LONGEST_PROMPT."""
    if text == "-":
        if sys.stdin is None:
            raise PromptError(
                "the prompt should come from stdin, which is closed",
                hint="give it by a pipe, as an argument, or as @FILE",
                reason="no stdin",
            )
        if sys.stdin.isatty():
            say(paint("the prompt, please; end it with Ctrl-D", DIM))
        return _bounded(sys.stdin.buffer, "stdin")
    if text.startswith("@") and len(text) > 1:
        file = Path(os.path.expanduser(text[1:]))  # noqa: PTH111 (does not raise where there is no such user)
        try:
            with file.open("rb") as opened:
                return _bounded(opened, str(file))
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            hint = "@FILE reads the prompt from a file; give a text that begins with @ by stdin: `atomic-flows run -`"
            raise PlaceError(f"{file}: {reason}", hint=hint, path=str(file), reason=reason) from None
    return os.fsencode(text)


def _bounded(source: BinaryIO, name: str) -> bytes:
    """All of a source, which may be a pipe or a device that never ends. Raises PromptError."""
    data = bytearray()
    while piece := source.read(_PIECE):
        data += piece
        if len(data) > LONGEST_PROMPT:
            raise PromptError(
                f"the prompt from {name} is longer than {LONGEST_PROMPT >> 20} MiB",
                hint="let it name files that the agent can read, and give the words alone",
                reason="too long",
            )
    return bytes(data)
