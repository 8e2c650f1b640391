"""The answer of a session put to the policy's checks: a schema first, which costs nothing, then a command."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from signal import Signals

from atomic.agent import Agent
from atomic.checks import Checks, fit
from atomic.errors import AtomicError, PolicyError
from atomic.processes import GRACE, Child, Kin, ProcessId, Steady, adoption
from atomic.record.files import FILE_MODE, make_folder
from atomic.record.folders import AttemptFolder
from atomic.regular import read_regular
from atomic.session.leftovers import end_leftovers
from atomic.text import Masker, one_line, printable
from atomic.verdict.facts import CheckOutcome, CheckReport

LARGEST_OUTPUT = 16 << 20  # bytes that a check may write: one that writes more has lost its way, and fills the disk
TOLD = 8_000  # characters of an output that the next model is told: two pages, both ends of a long one
_LOOK = 1.0  # seconds between looks at how much a check has written
_MESSAGE = 300  # characters of a verdict's message


@dataclass(frozen=True, slots=True)
class Checking:
    """One answer that is to be checked. ``cwd`` is where the agent worked; ``sweeps`` says whether what the command
    leaves running is ended; ``begun`` is told which process the command is."""

    answer: str
    checks: Checks
    folder: AttemptFolder
    cwd: Path
    sweeps: bool = True
    may_stay: tuple[str, ...] = ()
    grace: float = GRACE
    begun: Callable[[ProcessId], None] = lambda _: None

    async def report(self, steady: Steady) -> CheckReport:
        """What the checks say; all that they wrote is in ``check.txt``. A cancel ends the command and all below it, and
        is left to the caller, as ``steady`` has it. Raises OSError where nothing can be written."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        with contextlib.suppress(AtomicError):
            make_folder(self.folder.path)  # the agent may have taken it away
        report = await self._by_schema(steady)
        if report is None and not steady.cancelled:
            report = await self._by_command(steady)
        if steady.cancelled:
            report = CheckReport(outcome=CheckOutcome.CANCELLED, message="stopped before its answer had been checked")
        assert report is not None, "there is something to check by"
        return report.model_copy(update={"seconds": round(loop.time() - started, 3)})

    async def _by_schema(self, steady: Steady) -> CheckReport | None:
        """None where the command has the word."""
        if self.checks.schema is None:
            return None
        work = asyncio.get_running_loop().run_in_executor(None, fit, self.answer, self.checks.schema)
        try:
            problems = await steady.result(work)
        except PolicyError as error:  # it was sound when the run began
            return CheckReport(outcome=CheckOutcome.BROKEN, message=error.message)
        if not problems:
            return None if self.checks.command else CheckReport(outcome=CheckOutcome.ACCEPTED)
        output = "\n".join(problems)
        self._write(output.encode("utf-8", "replace"))
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        first = one_line(problems[0], _MESSAGE)
        message = (first if first.startswith("the answer ") else f"the answer does not fit the schema: {first}") + more
        return CheckReport(outcome=CheckOutcome.REJECTED, message=message, output=told(output))

    async def _by_command(self, steady: Steady) -> CheckReport:
        try:
            child = self._start()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            message = f"the check could not be started: {self.checks.command[0]}: {reason}"
            return CheckReport(outcome=CheckOutcome.BROKEN, message=one_line(message, _MESSAGE))
        self.begun(child.id)
        kin = Kin(self.folder.marker, since=child.id.start_time, seen=frozenset((child.id,)))
        kin.leader = child.pid if child.keeps_number else None
        if (adopted := adoption()) is not None:
            adopted.enter(kin)
        stopped = None
        try:
            stopped = await self._until_ended(child)
        except asyncio.CancelledError:
            steady.cancelled = True
        await child.stop(steady, grace=self.grace)
        sweeps = self.sweeps or stopped is not None or steady.cancelled
        await end_leftovers(kin, steady, sweeps=sweeps, may_stay=self.may_stay)
        code = child.exited.result() if child.exited.done() else None
        child.reap()
        output = self._output()
        if stopped is None and code == 0:
            return CheckReport(outcome=CheckOutcome.ACCEPTED)
        said = stopped or _ended(code)
        last = next((line for line in reversed(output.splitlines()) if line.strip()), "")
        message = one_line(f"the check {said}: {last}" if last else f"the check {said}", _MESSAGE)
        return CheckReport(outcome=CheckOutcome.REJECTED, message=message, output=told(output) or said)

    def _start(self) -> Child:
        """The command, with real files for its streams, as the agent has them."""
        with tempfile.TemporaryFile(dir=self.folder.path) as answer:
            answer.write(self.answer.encode("utf-8", "replace"))
            answer.seek(0)
            output = os.open(self.folder.check, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, FILE_MODE)
            try:
                return Child(
                    self.checks.command,
                    # Without the agent's own variables: they may be secret, and recovery would not have them.
                    env=Agent().environment(self.folder.marker),
                    cwd=self.cwd,
                    stdin=answer.fileno(),
                    stdout=output,
                    stderr=output,
                )
            finally:
                os.close(output)

    async def _until_ended(self, child: Child) -> str | None:
        """Wait for its end. Returns why it is to be stopped before, in words."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self.checks.seconds if self.checks.seconds else None
        while not child.exited.done():
            pause = _LOOK if until is None else min(_LOOK, max(until - loop.time(), 0))
            await asyncio.wait([child.exited], timeout=pause)
            if child.exited.done():
                break
            if until is not None and loop.time() >= until:
                return f"took longer than limits.check = {self.checks.seconds:g} s and was stopped"
            if self._written() > LARGEST_OUTPUT:
                return f"wrote more than {LARGEST_OUTPUT >> 20} MiB and was stopped"
        return None

    def _written(self) -> int:
        try:
            return self.folder.check.stat().st_size
        except OSError:
            return 0  # it took its own output away

    def _output(self) -> str:
        """What it wrote, cleaned, as far as it is kept. Raises OSError."""
        if self._written() > LARGEST_OUTPUT:
            os.truncate(self.folder.check, LARGEST_OUTPUT)
        data = read_regular(self.folder.check, LARGEST_OUTPUT)
        if self.folder.store.redact is not None:
            self._write(data)
        return printable(data.decode("utf-8", "replace"))

    def _write(self, data: bytes) -> None:
        masker: Masker | None = self.folder.store.redact
        descriptor = os.open(self.folder.check, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(data if masker is None else masker.raw(data))


def told(output: str) -> str:
    """An output as the next model is told it: cleaned, and of a long one its both ends."""
    text = printable(output).strip()
    if len(text) <= TOLD:
        return text
    half = TOLD // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


def _ended(code: int | None) -> str:
    if code is None:
        return "could not be waited for"
    if code >= 0:
        return f"exited with {code}"
    try:
        return f"was ended by {Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
