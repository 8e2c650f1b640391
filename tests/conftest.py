"""What holds for every test."""

from __future__ import annotations

import os

# The tests start hundreds of processes: without bytecode on disk, each compiles what it imports, for seconds.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
