"""Opening files in whose place somebody may have put something else: a pipe would hold its reader for ever, a device
fill the memory."""

from __future__ import annotations

import errno
import json
import os
import stat
from io import FileIO
from pathlib import Path
from typing import Any

LARGEST_SETTINGS = 16 << 20  # bytes of a file of settings, keys or models: a person or an agent keeps them in memory


def open_regular(path: Path | str) -> FileIO:
    """Open a file for reading, unbuffered. Raises OSError as opening does, and where there is no regular file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return FileIO(descriptor)


def read_regular(path: Path | str, most: int) -> bytes:
    """The bytes of a file. Raises OSError as :func:`open_regular`, and where it holds more than ``most``."""
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise OSError(errno.EFBIG, f"larger than {most} bytes", str(path))
        return file.read()


def read_json(path: Path | str) -> Any:
    """What a file of settings says that is JSON, with or without a byte order mark. Raises OSError as
    :func:`read_regular`, ValueError for what is no JSON, or nested too deeply."""
    try:
        return json.loads(read_regular(path, LARGEST_SETTINGS).decode("utf-8-sig"))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
