"""Whether a compressed file is whole. zstandard reads a file that was cut off as if it ended there, and says nothing.

The layout is that of RFC 8878: a frame is a header, blocks with a size each, and a checksum.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import zstandard

from atomic.regular import open_regular

MAGIC = b"\x28\xb5\x2f\xfd"
_LONGEST_HEADER = 18
_BLOCK_HEADER = 3
_RLE = 1  # a block that is one byte, many times
_CHECKSUM = 4


def torn_frame(path: Path) -> int | None:
    """The offset of the first frame that is not whole; None where all are, and for a file that is not compressed. Reads
    headers only. Raises OSError."""
    with open_regular(path) as file:
        size = file.seek(0, 2)
        file.seek(0)
        if file.read(len(MAGIC)) != MAGIC:
            return None
        at = 0
        while at < size:
            end = _end_of_frame(file, at)
            if end is None or end > size:
                return at
            at = end
    return None


def _end_of_frame(file: BinaryIO, start: int) -> int | None:
    file.seek(start)
    header = file.read(_LONGEST_HEADER)
    try:
        checksum = _CHECKSUM if zstandard.get_frame_parameters(header).has_checksum else 0
        at = start + zstandard.frame_header_size(header)
    except zstandard.ZstdError:
        return None
    while True:
        file.seek(at)
        block = file.read(_BLOCK_HEADER)
        if len(block) < _BLOCK_HEADER:
            return None
        told = int.from_bytes(block, "little")
        at += _BLOCK_HEADER + (1 if told >> 1 & 3 == _RLE else told >> 3)
        if told & 1:
            return at + checksum
