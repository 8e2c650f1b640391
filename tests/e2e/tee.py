"""A wrapper around the agent: `python tee.py COPY COMMAND…` passes its output on and keeps a copy of every byte."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CHUNK = 1 << 16


def main(copy: str, *command: str) -> int:
    """Run the command; returns its exit code."""
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process, Path(copy).open("wb") as kept:
        assert process.stdout is not None
        while chunk := os.read(process.stdout.fileno(), CHUNK):
            kept.write(chunk)
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
