"""Bytes → records: split, skip what no one needs, follow a growing file."""

from __future__ import annotations

from atomic.framing.decode import decode
from atomic.framing.facts import Damage, Noise, Record, StreamStats
from atomic.framing.follow import Follower, Ticker
from atomic.framing.framer import Framer
from atomic.framing.reading import open_stream, read_records, read_with

__all__ = [
    "Damage",
    "Follower",
    "Framer",
    "Noise",
    "Record",
    "StreamStats",
    "Ticker",
    "decode",
    "open_stream",
    "read_records",
    "read_with",
]
