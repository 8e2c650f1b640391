"""The command line. Commands are thin: parse, call, print; what is costly to import is imported when it is called."""

from __future__ import annotations

import signal

__all__ = ["main"]


def main() -> None:
    """Run the command line on ``sys.argv`` and exit with its code."""
    # Nothing is to be cleaned up yet: until the modules are there, Ctrl-C ends the process without a word.
    interrupts = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if interrupts:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from flows.cli import entry

    if interrupts:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    entry.main()
