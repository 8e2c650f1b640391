"""Memory that reading a stream takes above an interpreter that has only imported the package. Each figure is the peak
of a fresh process.

    python -m tests.benchmarks.memory [--quick]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks import streams
from tests.benchmarks.report import Row, report

MIB = 1024 * 1024
# Name, how the stream is made, its bytes, its bytes with --quick, and how many MB are allowed.
CASES: list[tuple[str, Callable[[Path, int], Path], int, int, float]] = [
    ("cumulative stream of 1 GB", streams.cumulative, 10**9, 128 * 10**6, 20),
    ("today's stream of 1 GB", streams.today, 10**9, 128 * 10**6, 20),
    ("agent_end of 100 MiB", streams.agent_end, 100 * MIB, 100 * MIB, 20),
    ("tool result of 40 MB", streams.tool_result, 40 * 10**6, 40 * 10**6, 60),
]


def peak() -> int:
    """Bytes that this process has had in memory at most."""
    try:
        # Not getrusage: there a new process begins with its parent's peak.
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except FileNotFoundError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def child(path: str) -> int:
    """In the fresh process: read the stream, if one is given, and print the peak."""
    from atomic.framing import read_records

    if path:
        for _ in read_records(Path(path)):
            pass
    sys.stdout.write(str(peak()))
    return 0


def peak_of(path: Path | None) -> int:
    """The peak of a fresh process that reads the stream; of one that reads none when there is none."""
    command = [sys.executable, "-m", "tests.benchmarks.memory", "--child", str(path or "")]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> int:
    """Measure all cases. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller streams where that changes nothing")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        return child(options.child)
    start = peak_of(None)
    rows = []
    for name, make, size, quick_size, at_most in CASES:
        with tempfile.TemporaryDirectory() as folder:
            path = make(Path(folder) / "stream.jsonl", quick_size if options.quick else size)
            rows.append(Row(name, (peak_of(path) - start) / 1e6, "MB", at_most))
    rows.append(Row("the interpreter, for comparison", start / 1e6, "MB"))
    return report("Peak memory above the interpreter", rows)


if __name__ == "__main__":
    sys.exit(main())
