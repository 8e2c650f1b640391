"""The command line. Commands are thin: parse, call, print; what is costly to import is imported when it is called."""

from __future__ import annotations

from flows.cli.entry import main

__all__ = ["main"]
