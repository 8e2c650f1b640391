"""What the framer hands out: records, and the running count of what it saw."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object of the stream. ``file[offset:offset + size]`` are its bytes, without the LF.

    Of a passed-over ``turn_end`` or ``agent_end`` only the type is decoded, of a huge tool result or prompt only what
    its head and tail hold: ``clipped`` says so.
    """

    line: int  # from 1; noise lines count as lines too
    offset: int  # bytes from the start of the stream
    size: int  # bytes
    type: str  # "" when the object has no string `type`
    data: dict[str, Any]
    clipped: bool = False


@dataclass(frozen=True, slots=True)
class Noise:
    """A sample of what is no record: where it is, and its first bytes."""

    line: int
    offset: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Damage:
    """A block of NUL bytes, as a crash of the machine leaves it."""

    offset: int
    size: int


@dataclass(slots=True)
class StreamStats:
    """What a framer has seen so far: it grows while the stream is fed."""

    bytes: int = 0
    lines: int = 0  # the unfinished last one is counted when the framer is closed
    records: int = 0  # JSON objects, passed-over ones included
    noise: int = 0  # lines (or parts of broken ones) that are no JSON object
    noise_samples: list[Noise] = field(default_factory=list)
    torn: int = 0  # bytes of a torn last line; known when the framer is closed
    damage: list[Damage] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)  # records by type, passed-over ones included
    updates: int = 0  # message_update records: the answer as it is written
    first_update_offset: int | None = None  # where the first of them begins: the first token
    live_usage: dict[str, Any] | None = None  # as last sampled, at the latest by Framer.close; None between messages
