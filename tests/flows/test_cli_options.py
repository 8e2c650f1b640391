from __future__ import annotations

import pytest
from typer.testing import CliRunner

from atomic.policy.facts import IDLE, MOST
from atomic.settings.facts import BatchSettings
from flows.cli import numbers
from flows.cli.app import app

DOLLARS, SECONDS = ("--max-cost",), ("--idle", "--timeout")
COUNTS = ("--max-tokens",)
BAD = ("nan", "-1", "1e400", "-inf", "five", "")


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (("run", "x"), (*DOLLARS, *SECONDS, *COUNTS)),
        (("batch", "x.txt"), (*DOLLARS, *COUNTS, "--stop-after", "--limit", "--jobs")),
        (("history", "list"), ("--limit",)),
    ],
)
def test_odd_numbers_are_usage_errors(command: tuple[str, ...], options: tuple[str, ...]) -> None:
    for option in options:
        for bad in (*BAD, str(MOST + 1), "1" * 5000):
            done = CliRunner(env={"COLUMNS": "200"}).invoke(app, [*command, f"{option}={bad}"])
            assert done.exit_code == 2, (option, bad)
            assert option in done.stderr, (option, bad)


def test_good_numbers_are_taken() -> None:
    assert (numbers.dollars("2.50"), numbers.seconds("0"), numbers.count("1_000"), numbers.some("1")) == (
        2.5,
        0,
        1000,
        1,
    )
    assert numbers.MOST == MOST


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (
            "run",
            (
                "Dollars of the run",
                "Tokens of the run",
                f"{IDLE:.0f} unless set",
                "Length of one session",
                "Who answers",
            ),
        ),
        ("batch", ("Dollars of the edition", f"{BatchSettings().concurrency} unless set", "0: never", "Who answers")),
    ],
)
def test_help_says_unit_default_and_effect(command: str, says: tuple[str, ...]) -> None:
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, [command, "--help"])
    assert [said for said in says if said not in done.stdout] == []
    assert done.stdout.count("\n") < 80
