"""`batch` and what goes with it, as people meet it: processes of their own, without Prefect."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atomic.processes import marked
from tests.flows.conftest import CommandLine

PATIENCE = 120.0  # seconds for what other processes do; nothing is measured by it


@pytest.fixture
def prompts(cli: CommandLine) -> Callable[..., str]:
    """Writes an input of these models, an item each; its name."""

    def write(*models: str, name: str = "prompts") -> str:
        items = [{"custom_id": f"item-{n}", "prompt": f"prompt {n}", "models": [m]} for n, m in enumerate(models)]
        (cli.project / f"{name}.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items))
        return f"{name}.jsonl"

    return write


def _lines(file: str | Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(file).read_text().splitlines()]


def _batch(cli: CommandLine, name: str = "prompts") -> dict[str, Any]:
    """The batch as `status` tells it."""
    found: list[dict[str, Any]] = json.loads(cli("status", "--json").out)["batches"]
    return next((one for one in found if one["batch"] == name), {})


def _until(holds: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _left_over(cli: CommandLine) -> bool:
    markers = [f"{folder.parent.name}/{folder.name[8:]}" for folder in cli.home.glob("records/*/*/*/*/attempt-*")]
    return any(marked(markers).values())


def test_a_batch_is_run_told_and_gone_on_with(cli: CommandLine, prompts: Callable[..., str]) -> None:
    given = ("batch", prompts("a/ok", "b/overflow", "c/ok"), "--direct", "--agent", "scripted")
    first = cli(*given)
    assert first.code == 1, first.err
    results = Path(first.out.strip())
    assert results == cli.project / "prompts-results" / "results.jsonl"
    assert {line["custom_id"]: line["status"] for line in _lines(results)} == {
        "item-0": "answered",
        "item-1": "failed",
        "item-2": "answered",
    }
    for said in (
        "2 of 3 answered, 1 failed",
        "1 overflow",
        "errors.jsonl",
        "--retry-failed runs the failed ones again",
    ):
        assert said in first.err

    again = cli(*given, "--json")
    told = json.loads(again.out)
    assert (again.code, told["ran"], told["answered"], told["exit_code"]) == (1, 0, 2, 1)

    prompts("a/ok", "b/ok", "c/ok")
    third = json.loads(cli(*given, "--retry-failed", "--json").out)
    assert (third["ran"], third["answered"], third["exit_code"]) == (1, 3, 0)
    assert len(cli.records()) == 4

    new = json.loads(cli(*given, "--new", "--limit", "1", "--json").out)
    assert (new["ran"], new["left"], new["ending"]) == (1, 2, "limit")
    assert "goes on with the 2 left" in new["go_on"]


def test_a_dry_run_tells_all_and_starts_nothing(cli: CommandLine, prompts: Callable[..., str]) -> None:
    (cli.project / "atomic-flows.toml").write_text('[policy.default]\nmodels = ["a/ok"]\nlimits = { cost_usd = 2 }\n')
    (cli.project / "two.csv").write_text("prompt,policy\nhello,default\nbye,\n")
    (cli.home / "atomic-flows.toml").write_text('[model."a/ok"]\nprice = { input = 1, output = 1 }\n')
    given = ("batch", "two.csv", "--agent", "scripted", "--dry-run")
    told = cli(*given, "--max-tokens", "1000")
    assert told.code == 0, told.err
    for said in ("2 items, csv", "default  1 items  a/ok  at most $2.00 each", "at most $4.00 in all", "at most 1,000"):
        assert said in told.out
    facts = json.loads(cli(*given, "--json", "--max-cost", "3").out)
    assert (facts["items"], facts["ceiling_usd"], facts["unbounded"]) == (2, 3, 0)
    (cli.project / "empty.toml").write_text("")
    open_ended = cli("batch", prompts("a/ok"), "--config", "empty.toml", "--agent", "scripted", "--dry-run")
    assert "nothing bounds it" in open_ended.out
    assert cli.records() == []
    assert not (cli.home / "history.db").exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["none.jsonl"], "none.jsonl"),
        (["prompts.jsonl", "--policy", "nope"], "nope"),
        (["prompts.jsonl", "--deadline", "dawn"], "no deadline"),
        (["prompts.jsonl", "--deadline", "2020-01-01"], "has passed"),
        (["prompts.jsonl", "--ephemeral"], "exclude each other"),
        (["prompts.jsonl", "--max-cost", "5", "-m", "nobody/knows", "--agent", "true"], '[model."nobody/knows"] price'),
        (["prompts.jsonl", "-o", "prompts.jsonl"], "not a folder for results"),
        (["prompts.jsonl", "-j", "0"], "-j"),
        (["prompts.jsonl", "-j", "1001"], "-j"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_spent(
    cli: CommandLine, prompts: Callable[..., str], args: list[str], said: str
) -> None:
    prompts("a/ok")
    (cli.project / "prompts.jsonl").write_text('{"custom_id": "x", "prompt": "hello"}\n')
    done = cli("batch", "--direct", "--agent", "scripted", *args)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err
    assert cli.records() == []


def test_every_mistake_of_an_input_is_named_with_its_line(cli: CommandLine) -> None:
    lines = ['{"id": "a", "prompt": "x"}', '{"id": "a", "prompt": "y"}', '{"id": "b"}', "nonsense"]
    (cli.project / "bad.jsonl").write_text("\n".join(lines))
    done = cli("batch", "bad.jsonl", "--direct", "--agent", "scripted")
    assert done.code == 2
    for line in ("bad.jsonl:2", "bad.jsonl:3", "bad.jsonl:4"):
        assert line in done.err
    assert "3 problems" in done.err


def test_a_budget_ends_a_batch_which_a_larger_one_goes_on_with(cli: CommandLine, prompts: Callable[..., str]) -> None:
    given = ("batch", prompts("a/ok", "b/ok", "c/ok"), "-j", "1", "--direct", "--agent", "scripted")
    done = cli(*given, "--max-tokens", "1")
    assert done.code == 3, done.err
    assert "a larger budget goes on with the rest" in done.err
    assert 0 < len(cli.records()) < 3
    assert _batch(cli)["state"] == "stopped"
    assert "budget" in _batch(cli)["reason"]
    assert cli(*given).code == 0
    assert _batch(cli) == {}


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_batch_cleanly(
    cli: CommandLine, prompts: Callable[..., str], sign: signal.Signals, code: int
) -> None:
    given = ("batch", prompts("a/ok", "b/stubborn", "c/ok"), "-j", "3", "--direct", "--agent", "scripted")
    process = cli.start(*given)
    cli.until_at_work(process)
    _until(lambda: (cli.project / "prompts-results" / "results.jsonl").read_text().count("\n") == 2)
    process.send_signal(sign)
    done = cli.end(process)
    assert done.code == code, done.err
    assert "goes on with the 1 left" in done.err
    assert "Traceback" not in done.err
    assert not _left_over(cli)
    assert len(_lines(done.out.strip())) == 2
    prompts("a/ok", "b/ok", "c/ok")
    after = json.loads(cli(*given, "--json").out)
    assert (after["ran"], after["answered"], after["exit_code"]) == (1, 3, 0)


def test_a_batch_is_paused_resumed_drained_and_stopped_from_elsewhere(
    cli: CommandLine, prompts: Callable[..., str]
) -> None:
    given = ("batch", prompts(*["a/slow-20"] * 40), "-j", "2", "--direct", "--agent", "scripted")
    process = cli.start(*given)
    cli.until_at_work(process)
    shown = cli("status").out
    assert re.search(r"^prompts +\S+ +running +\d+/40 ", shown, re.MULTILINE)

    busy = cli(*given)
    assert busy.code == 2
    assert "prompts is running" in busy.err

    assert "atomic-flows resume prompts" in cli("pause", "prompts").err
    _until(lambda: _batch(cli)["state"] == "paused" and not list(cli.home.glob("live/*")))
    begun = len(cli.records())
    assert "goes on" in cli("resume", "prompts").err
    _until(lambda: len(cli.records()) > begun)

    assert "begins nothing new" in cli("stop", "prompts", "--drain").err
    drained = cli.end(process)
    assert drained.code == 130
    assert _batch(cli)["state"] == "stopped"
    assert all(json.loads((one / "run.json").read_text())["status"] == "answered" for one in cli.records())

    process = cli.start(*given)
    _until(lambda: list(cli.home.glob("live/*")) or process.poll() is not None)
    stopped = cli("stop", "prompts")
    assert "goes on with the" in stopped.err
    assert cli.end(process).code == 130
    assert not _left_over(cli)
    assert "was not running" in cli("stop", "prompts").err
    assert "nothing was running" in cli("stop", "--all").err


def test_stop_all_ends_batches_too(cli: CommandLine, prompts: Callable[..., str]) -> None:
    process = cli.start("batch", prompts("a/stubborn"), "--direct", "--agent", "scripted")
    cli.until_at_work(process)
    assert "stopped batch prompts" in cli("stop", "--all").err
    assert cli.end(process).code == 130
    assert not _left_over(cli)


def test_a_batch_that_nobody_knows_is_named_with_the_nearest(cli: CommandLine, prompts: Callable[..., str]) -> None:
    assert "no batch has been started yet" in cli("pause", "prompts").err
    cli("batch", prompts("a/ok"), "--direct", "--agent", "scripted")
    for command in ("pause", "resume"):
        done = cli(command, "promts")
        assert done.code == 2
        assert "did you mean prompts?" in done.err
    ended = cli("resume", "prompts")
    assert ended.code == 2
    assert "give the command that started it" in ended.err


def test_a_dry_run_of_schedules_says_when_they_are_due(cli: CommandLine) -> None:
    file = cli.project / "schedules.toml"
    job = 'batch = { input = "prompts.jsonl", agent = "scripted" }'
    file.write_text(f'[[schedule]]\nname = "nightly"\ncron = "0 2 * * *"\ntimezone = "Asia/Tokyo"\n{job}\n')
    done = cli("serve", str(file), "--dry-run")
    assert done.code == 0, done.err
    assert "nightly  batch  0 2 * * * Asia/Tokyo  next " in done.out
    assert "prompts.jsonl is not there yet" in done.err
    file.write_text(file.read_text().replace("cron", "corn"))
    wrong = cli("serve", str(file))
    assert wrong.code == 2
    assert f"{file}:3: unknown key corn" in wrong.err
    assert "did you mean cron?" in wrong.err
    assert not (cli.home / "prefect").exists()


def test_stopping_an_item_of_a_batch_is_refused(cli: CommandLine, prompts: Callable[..., str]) -> None:
    process = cli.start("batch", prompts("a/stubborn"), "--direct", "--agent", "scripted")
    run = cli.until_at_work(process).name
    refused = cli("stop", run)
    assert refused.code == 2
    assert "is an item of the batch prompts" in refused.err
    assert process.poll() is None
    cli("stop", "prompts")
    assert cli.end(process).code == 130
