"""How a batch's progress reads."""

from __future__ import annotations

import io

import pytest

from flows.batch import BatchProgress, Notice
from flows.cli import batch_progress
from flows.cli.batch_progress import PlainBatchProgress, bar, batch_progress_for, standing


def _said(progress: BatchProgress) -> str:
    return "".join(text for text, _ in standing(progress))


def test_it_says_done_failed_running_parked_rate_cost_and_time_left() -> None:
    progress = BatchProgress(
        batch="nightly",
        edition="e",
        total=300,
        answered=209,
        failed=3,
        running=8,
        parked=4,
        pending=76,
        per_minute=31.04,
        seconds_left=171,
        cost_usd=11.4,
        tokens=9_100_000,
    )
    assert _said(progress) == (
        "212/300 done · 3 failed · 8 running · 4 parked · 31.0 a minute · 9.1M tokens · $11.40 · 2 min 51 s left"
    )


def test_it_says_why_nothing_runs() -> None:
    assert _said(BatchProgress(batch="n", edition="e", state="paused", total=2)) == "0/2 done · 0 running · paused"
    waiting = BatchProgress(batch="n", edition="e", total=2, parked=2, waiting_until=4e9)
    assert "every model cools down until 2096-10-02" in _said(waiting)


@pytest.mark.parametrize(("answered", "failed"), [(0, 0), (1, 0), (0, 1), (999, 1), (500, 500), (1000, 0), (0, 1000)])
def test_the_bar_keeps_its_width_and_shows_every_failure(answered: int, failed: int) -> None:
    parts = bar(BatchProgress(batch="n", edition="e", total=1000, answered=answered, failed=failed))
    assert sum(len(text) for text, _ in parts) in (batch_progress.BAR, batch_progress.BAR + 1)
    assert (len(parts[1][0]) > 0) == (failed > 0)


def test_a_log_gets_a_line_now_and_then_and_every_notice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    told = PlainBatchProgress()
    for done in range(4):
        told(BatchProgress(batch="n", edition="e", total=9, answered=done, seconds=1))
        now += 1
    told(Notice(text="a\x1b[31mnotice\nof two lines"))
    now += 10
    told(BatchProgress(batch="n", edition="e", total=9, answered=4, seconds=14))
    now += 100
    told(BatchProgress(batch="n", edition="e", total=9, answered=4, seconds=114))
    told(BatchProgress(batch="n", edition="e", total=9, answered=4, seconds=114, state="paused"))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" done")[0] for line in lines if "done" in line] == ["n  0/9", "n  4/9", "n  4/9"]
    assert lines[-1].endswith("paused")
    (notice,) = [line for line in lines if line.startswith("note")]
    assert "\x1b" not in notice


def test_what_is_no_terminal_gets_lines() -> None:
    assert type(batch_progress_for(io.StringIO())) is PlainBatchProgress
