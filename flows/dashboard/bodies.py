"""What was said at an entry of an outline: read from the stream when somebody looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from atomic.errors import PlaceError, RecordError
from atomic.framing import decode
from atomic.record import AttemptFolder
from atomic.text import Masker
from atomic.verdict.fields import block_text, mapping, mappings, text
from flows.dashboard.outline import Entry, Sort
from flows.dashboard.streams import body
from flows.dashboard.text import folded

LARGEST = 4 << 20  # bytes of a record that is taken apart; of a larger one its beginning is shown as it stands
SHOWN = 20_000  # characters of a text
_INDENTED = orjson.OPT_INDENT_2


@dataclass(frozen=True, slots=True)
class Piece:
    """A text of an entry, fit for a page. ``left`` characters of it are not shown."""

    name: str
    text: str
    left: int = 0


@dataclass(frozen=True, slots=True)
class Body:
    """An entry with its texts, masked. ``problem`` says why there are none."""

    entry: Entry
    pieces: tuple[Piece, ...] = ()
    problem: str = ""


def read_bodies(folder: AttemptFolder, entries: Sequence[Entry], masker: Masker) -> list[Body]:
    """The bodies of these entries. Blocks."""
    return [_read(folder, entry, masker) for entry in entries]


def _read(folder: AttemptFolder, entry: Entry, masker: Masker) -> Body:
    try:
        raw = body(folder, entry.offset, LARGEST)
        start = body(folder, entry.start, LARGEST) if entry.start != entry.offset else raw
    except FileNotFoundError:
        return Body(entry, problem="the stream is gone")
    except (OSError, RecordError, PlaceError) as error:
        return Body(entry, problem=str(error))
    found = [*_pieces(entry, _object(start), _object(raw))]
    if not found and len(raw) >= LARGEST:
        found = [("beginning of the record", raw[: SHOWN * 2].decode("utf-8", "replace"))]
    return Body(entry, tuple(_piece(name, masker.data(said)) for name, said in found if said))


def _pieces(entry: Entry, start: dict[str, Any], end: dict[str, Any]) -> list[tuple[str, str]]:
    message = mapping(end.get("message"))
    match entry.sort:
        case Sort.TOOL if not message:
            result = mapping(end.get("result"))
            arguments = start.get("args")
            given = [("arguments", _pretty(arguments))] if arguments not in (None, {}) else []
            return [*given, ("result", _content(result.get("content")))]
        case Sort.ASSISTANT:
            thought = "\n\n".join(
                text(block.get("thinking"))
                for block in mappings(message.get("content"))
                if block.get("type") == "thinking"
            )
            return [
                ("thinking", thought),
                ("", _content(message.get("content"))),
                ("error", text(message.get("errorMessage"))),
            ]
        case Sort.PROMPT | Sort.NOTE | Sort.TOOL:
            return [("", _content(message.get("content"))), ("error", text(end.get("errorMessage")))]
        case Sort.COMPACTION:
            result = mapping(end.get("result"))
            return [("summary", text(result.get("summary"))), ("error", text(end.get("errorMessage")))]
        case Sort.RETRY:
            return [("error", text(start.get("errorMessage"))), ("in the end", text(end.get("finalError")))]
        case Sort.FALLBACK:
            return [("reason", text(start.get("reason"))), ("in the end", text(end.get("finalError")))]
        case _:
            return []


def _content(content: object) -> str:
    """Text as it stands; of a picture that there is one: it is never shown."""
    said = block_text(content)
    pictures = sum(block.get("type") == "image" for block in mappings(content))
    return f"{said}\n[{pictures} picture{'s' * (pictures > 1)}]".strip("\n") if pictures else said


def _pretty(value: object) -> str:
    try:
        return orjson.dumps(value, option=_INDENTED).decode()
    except (TypeError, ValueError):  # halves of pairs
        return str(value)


def _object(line: bytes) -> dict[str, Any]:
    try:
        return decode(line)
    except ValueError:
        return {}


def _piece(name: str, said: str) -> Piece:
    shown, left = folded(said, SHOWN)
    return Piece(name, shown, left)
