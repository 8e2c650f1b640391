"""A child process with files for its streams. Starting it awaits nothing, so that no cancel can fall between the fork
and the handle; its end is told by the kernel (pidfd), or polled for where there is no such thing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from atomic.processes.ids import ProcessId, identify
from atomic.processes.steady import Steady

GRACE = 5.0  # seconds from SIGTERM to SIGKILL: an agent ends its tools and writes its last lines in well under one
LAST_WAIT = 10.0  # seconds that processes have to vanish after SIGKILL: only one that hangs in the kernel needs more
POLL = 0.02  # seconds between looks at a child on systems without pidfd


class Child:
    """One running child. It leads a session of its own, so that a terminal's Ctrl-C does not reach it."""

    # Numbers of the children that are not reaped yet: whoever looks for somebody else's processes may pass them over.
    numbers: ClassVar[set[int]] = set()

    def __init__(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, stdin: int, stdout: int, stderr: int
    ) -> None:
        """Start it. Raises OSError (no such program, no permission, too long, a folder that is gone) and ValueError
        (a NUL in an argument)."""
        self._loop = asyncio.get_running_loop()
        self._popen = subprocess.Popen(
            argv, env=env, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True
        )
        self.numbers.add(self._popen.pid)
        self._pidfd: int | None = None
        # Exit code, negative for a signal; None when somebody else took it.
        self.exited: asyncio.Future[int | None] = self._loop.create_future()
        found = identify(self._popen.pid)
        self.id = found or ProcessId(self._popen.pid, 0.0)  # not there: somebody else reaps this process's children
        try:
            self._pidfd = os.pidfd_open(self.pid)
            self._loop.add_reader(self._pidfd, self._look)
        except (AttributeError, OSError, NotImplementedError):
            self._poll()

    @property
    def pid(self) -> int:
        """Its number. Where ``keeps_number``, no other process can get it until ``reap``."""
        return self._popen.pid

    @property
    def keeps_number(self) -> bool:
        """Whether its end can be seen without reaping it, so that its number stays its own until then."""
        return hasattr(os, "waitid")

    async def stop(self, steady: Steady, *, grace: float = GRACE) -> bool:
        """End it: SIGTERM, ``grace`` seconds, SIGKILL. Bounded; returns whether it is gone."""
        for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, LAST_WAIT)):
            if self.exited.done():
                break
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)  # Popen.send_signal would reap it first, and its number with it
            await steady.wait(self.exited, seconds)
        return self.exited.done()

    def reap(self) -> None:
        """Let go of its number: now, or when it has ended."""
        if not self.exited.done():
            self.exited.add_done_callback(lambda _: self.reap())
            return
        self._release()
        self._popen.wait()
        self.numbers.discard(self.pid)

    def _look(self) -> None:
        ended, code = self._ended()
        if ended and not self.exited.done():
            self._release()
            self.exited.set_result(code)

    def _poll(self) -> None:
        self._look()
        if not self.exited.done():
            self._loop.call_later(POLL, self._poll)

    def _ended(self) -> tuple[bool, int | None]:
        """Whether it has ended, and how; it stays unreaped where the system can tell without reaping."""
        if not self.keeps_number:
            code = self._popen.poll()
            return code is not None, code
        try:
            found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True, None
        if found is None:
            return False, None
        return True, found.si_status if found.si_code == os.CLD_EXITED else -found.si_status

    def _release(self) -> None:
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
