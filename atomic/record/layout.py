"""Where the files of a run lie, and how runs are named.

    <records>/<yyyy>/<mm>/<dd>/<run id>/     run.json  prompt.md
        attempt-1/                           attempt.json  prompt.md  stderr.txt  check.txt  session/
                                             stream.jsonl → stream.jsonl.zst (+ stream.index.json) when it has ended

A run's id holds its time, so the folder follows from the id. Ids sort by time to the millisecond.
"""

from __future__ import annotations

import re
import secrets
import time
from pathlib import PurePosixPath

RUN_FILE = "run.json"
DAMAGED_FILE = "run.json.damaged"  # what recovery found in the place of a run.json
PROMPT_FILE = "prompt.md"
ATTEMPT_FILE = "attempt.json"
STREAM_FILE = "stream.jsonl"
PACKED_FILE = "stream.jsonl.zst"
INDEX_FILE = "stream.index.json"
STDERR_FILE = "stderr.txt"
CHECK_FILE = "check.txt"  # what the policy's check wrote, where it has one
OVERLAY_FOLDER = "agent"
SESSION_FOLDER = "session"
SESSION_FILE = "session.jsonl"

_ALPHABET = "234567abcdefghijklmnopqrstuvwxyz"  # base32, ordered so that text order is number order
_RUN_ID = re.compile(r"(\d{4})(\d\d)(\d\d)-\d{6}-[2-7a-z]{8}", re.ASCII)
_ID_PREFIX = re.compile(r"\d{1,8}|\d{8}-(\d{0,6}|\d{6}-[2-7a-z]{0,8})", re.ASCII)
_ATTEMPT = re.compile(r"attempt-([1-9]\d{0,8})", re.ASCII)


def new_run_id(now: float) -> str:
    """``YYYYMMDD-HHMMSS-xxxxxxxx`` in UTC. The first two of the eight base32 characters are the fraction of the
    second, the others chance; whoever creates the folder does so exclusively, so that a collision shows."""
    return _id(now, secrets.randbits(30))


def first_id(at: float) -> str:
    """The smallest id that a run created at this time (seconds since the epoch) can have: ids that sort before it are
    of older runs, all others of this time or later."""
    return _id(at, 0)


def _id(now: float, chance: int) -> str:
    whole, fraction = divmod(now, 1)
    number = int(fraction * 1024) << 30 | chance
    tail = "".join(_ALPHABET[number >> shift & 31] for shift in range(35, -1, -5))
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(whole))}-{tail}"


def is_run_id(text: str) -> bool:
    """Whether the text is a whole run id. Whatever is not never becomes part of a path."""
    return _RUN_ID.fullmatch(text) is not None


def is_id_prefix(text: str) -> bool:
    """Whether the text could be the beginning of a run id."""
    return _ID_PREFIX.fullmatch(text) is not None


def run_path(run_id: str) -> PurePosixPath:
    """The run's folder, relative to the records. Raises ValueError for what is not a run id."""
    match = _RUN_ID.fullmatch(run_id)
    if match is None:
        raise ValueError(f"not a run id: {run_id!r}")
    return PurePosixPath(*match.groups(), run_id)


def attempt_name(n: int) -> str:
    """The name of attempt n's folder."""
    return f"attempt-{n}"


def attempt_number(name: str) -> int | None:
    """The number of the attempt whose folder has this name; None for any other name."""
    match = _ATTEMPT.fullmatch(name)
    return int(match[1]) if match else None
