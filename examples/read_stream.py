"""The verdict of a recorded stream: `python examples/read_stream.py STREAM [EXIT_CODE]`.

As it stands, of one that the scripted agent writes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from atomic import read_verdict


def main() -> None:
    """Read the stream that is named, or one that is made for it."""
    if len(sys.argv) > 1:
        code = int(sys.argv[2]) if len(sys.argv) > 2 else None
        explain(Path(sys.argv[1]), code)
        return
    with tempfile.TemporaryDirectory() as folder:
        stream = Path(folder, "stream.jsonl")
        agent = [sys.executable, "-m", "atomic.scripted", "--mode", "json", "--model", "scripted/overflow"]
        with stream.open("wb") as output:
            code = subprocess.run(agent, input=b"hi", stdout=output, check=False).returncode
        explain(stream, code)


def explain(stream: Path, exit_code: int | None) -> None:
    """Print what the stream came to, and the events that say so."""
    verdict = read_verdict(stream, exit_code=exit_code)
    print(f"{verdict.status}: {verdict.kind or verdict.answered_by}  {verdict.message}")
    for one in verdict.evidence:
        print(f"  line {one.line}, byte {one.offset}: {one.event}  {one.text}")


if __name__ == "__main__":
    main()
