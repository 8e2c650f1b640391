"""The prompt: read, and refused where it could not mean what its writer means."""

from __future__ import annotations

from pathlib import Path

from atomic.errors import PlaceError, PromptError

_BLANKS = "\ufeff \t\r\n\v\f\x1c\x1d\x1e\x1f\x85\xa0\u2028\u2029"  # what the agent strips from a prompt's ends


def read_prompt(prompt: str | bytes | Path, *, slash: bool = False) -> bytes:
    """The bytes of a prompt given as text, as bytes, or as the file that holds it; they are sent exactly so.

    Raises PromptError for one that is empty, no UTF-8 text, or begins with '/' without ``slash``; PlaceError for a
    file that cannot be read.
    """
    data = _bytes(prompt)
    where = f" in {prompt}" if isinstance(prompt, Path) else ""
    text = _text(data, where).strip(_BLANKS)
    if not text:
        raise PromptError(f"the prompt{where} is empty", hint="Say what the agent should do.", reason="empty")
    if text.startswith("/") and not slash:
        word = text.split(maxsplit=1)[0]
        raise PromptError(
            f"the prompt{where} begins with '/': the agent would take {word[:40]!r} for a command of its own",
            hint="Put a word before it; or allow commands and templates with slash=True (--slash) if one is meant.",
            reason="slash",
        )
    return data


def _bytes(prompt: str | bytes | Path) -> bytes:
    if isinstance(prompt, bytes):
        return prompt
    if isinstance(prompt, Path):
        try:
            return prompt.read_bytes()
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise PlaceError(
                f"cannot read the prompt from {prompt}: {reason}", path=str(prompt), reason=reason
            ) from error
    if not isinstance(prompt, str):
        raise PromptError(f"a prompt is text, bytes or a Path, not {type(prompt).__name__}", reason="type")
    try:
        return prompt.encode()
    except UnicodeEncodeError as error:
        raise PromptError(
            f"the prompt holds half a character at position {error.start}: it cannot be sent as UTF-8",
            reason="encoding",
            offset=error.start,
        ) from None


def _text(data: bytes, where: str) -> str:
    """The text that these bytes are. Raises PromptError where they are none."""
    offset = data.find(b"\0")
    if offset < 0:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            offset = error.start
    raise PromptError(
        f"the prompt{where} is no UTF-8 text: byte {offset} is {data[offset]:#04x}",
        hint="Convert it to UTF-8; for a picture or another binary file, name its path in the prompt.",
        reason="binary",
        offset=offset,
    )
