"""What `atomic-flows --help` costs against a bare Typer program with as many commands: CPU of whole processes.

python -m tests.benchmarks.help
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.report import Row, report

ROUNDS = 7
BARE = '''import typer
app = typer.Typer()
for n in range(12):
    @app.command(f"command{n}")
    def command(name: str = "", count: int = 1, quiet: bool = False) -> None:
        """Do something."""
app()
'''
OURS = "from flows.cli import main; main()"


def _cpu(program: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *program, "--help"], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Measure and print. Returns the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        bare_file = Path(folder) / "bare.py"
        bare_file.write_text(BARE)
        least = {"bare": float("inf"), "ours": float("inf")}
        for _ in range(ROUNDS):
            for name, program in (("bare", [str(bare_file)]), ("ours", ["-c", OURS])):
                least[name] = min(least[name], _cpu(program))
    return report(
        "--help",
        [
            Row("bare Typer", least["bare"] * 1000, " ms"),
            Row("atomic-flows", least["ours"] * 1000, " ms"),
            Row("against bare Typer", least["ours"] / least["bare"], "×", 3),
        ],
    )


if __name__ == "__main__":
    sys.exit(main())
