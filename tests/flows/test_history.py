"""History as the records alone tell it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from atomic.failures import FailureKind
from atomic.record import AttemptSummary, RunRecord, RunStore
from atomic.record.files import encode
from atomic.record.layout import new_run_id, run_path
from atomic.verdict import Status
from tests.flows.conftest import CommandLine
from tests.flows.test_cli_run import KEYS

DAY = 86_400.0


def recorded(cli: CommandLine, at: float, **fields: object) -> str:
    """A finished run in the records, made at this time."""
    run_id = new_run_id(at)
    folder = cli.home / "records" / run_path(run_id)
    folder.mkdir(parents=True)
    told = {"status": "answered", "created_at": at, "ended_at": at + 5, **fields}
    run = RunRecord.model_validate({"run_id": run_id, **told})
    (folder / "run.json").write_bytes(encode(run.model_dump(mode="json", by_alias=True)))
    (folder / "prompt.md").write_text("Sweep the yard\nand more")
    return run_id


def attempt(n: int, model: str, kind: FailureKind | None = None) -> AttemptSummary:
    status = Status.ANSWERED if kind is None else Status.FAILED
    return AttemptSummary(n=n, model=model, status=status, kind=kind, answered_by=None if kind else model)


@pytest.fixture
def past(cli: CommandLine) -> tuple[CommandLine, dict[str, str]]:
    now = time.time()
    hopped = (attempt(1, "one/big:high", FailureKind.OVERFLOW), attempt(2, "two/small"))
    failed = (attempt(1, "one/big", FailureKind.QUOTA),)
    runs = {
        "old": recorded(cli, now - 9 * DAY, name="nightly-1", tags=("night", "a")),
        "hopped": recorded(cli, now - 3 * DAY, attempts=hopped, answered_by="two/small", tags=("night",)),
        "failed": recorded(cli, now - 2 * DAY, status="failed", kind=FailureKind.QUOTA, attempts=failed),
        "new": recorded(cli, now - 60, name="nightly-2"),
    }
    return cli, runs


def listed(cli: CommandLine, *args: str) -> list[str]:
    done = cli("history", "list", "--json", *args)
    assert done.code == 0, done.err
    return [json.loads(line)["run_id"] for line in done.out.splitlines()]


@pytest.mark.parametrize(
    ("args", "names"),
    [
        ((), ("new", "failed", "hopped", "old")),
        (("--limit", "2"), ("new", "failed")),
        (("--status", "failed"), ("failed",)),
        (("--status", "failed", "--status", "running"), ("failed",)),
        (("--kind", "overflow"), ("hopped",)),
        (("--kind", "overflow", "--status", "failed"), ()),
        (("--model", "one/big"), ("failed", "hopped")),
        (("--model", "one/big:high"), ("hopped",)),
        (("--model", "two/*"), ("hopped",)),
        (("--tag", "night"), ("hopped", "old")),
        (("--tag", "night", "--tag", "a"), ("old",)),
        (("--name", "nightly-*"), ("new", "old")),
        (("--since", "4d"), ("new", "failed", "hopped")),
        (("--until", "1d"), ("failed", "hopped", "old")),
        (("--since", "4d", "--until", "60h"), ("hopped",)),
    ],
)
def test_the_list_is_what_was_asked_for(
    past: tuple[CommandLine, dict[str, str]], args: tuple[str, ...], names: tuple[str, ...]
) -> None:
    cli, runs = past
    assert listed(cli, *args) == [runs[name] for name in names]


def test_a_day_counts_whole(past: tuple[CommandLine, dict[str, str]]) -> None:
    cli, runs = past
    day = time.strftime("%Y-%m-%d", time.localtime(time.time() - 2 * DAY))
    assert listed(cli, "--since", day, "--until", day) == [runs["failed"]]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--since", "soon"), "'soon' is no moment"),
        (("--kind", "overflo"), "did you mean overflow?"),
        (("--status", "done"), "running, answered, failed"),
        (("--limit", "0"), "--limit"),
    ],
)
def test_what_means_nothing_is_a_usage_error(cli: CommandLine, args: tuple[str, ...], says: str) -> None:
    done = cli("history", "list", *args)
    assert (done.code, done.out) == (2, "")
    assert says in done.err


def test_the_table_says_who_what_and_when(past: tuple[CommandLine, dict[str, str]]) -> None:
    cli, runs = past
    lines = cli("history", "list").out.splitlines()
    assert [line.split()[0] for line in lines] == ["run", runs["new"], runs["failed"], runs["hopped"], runs["old"]]
    assert "quota" in lines[2]
    assert "one/big" in lines[2]
    assert "Sweep the yard and more" in lines[2]  # it has no name: the prompt tells it from others
    assert "nightly-2" in lines[1]


def test_the_names_are_those_of_run(cli: CommandLine) -> None:
    told = json.loads(cli.scripted("-m", "scripted/overflow", "-m", "other/ok", "--json", "x").out)
    (line,) = cli("history", "list", "--json").out.splitlines()
    found = json.loads(line)
    assert {key: found[key] for key in KEYS} == told
    shown = json.loads(cli("history", "show", "latest", "--json").out)
    assert {key: shown[key] for key in KEYS if key != "attempts"} == {k: v for k, v in told.items() if k != "attempts"}
    assert [{**one, **before} for one, before in zip(shown["attempts"], told["attempts"], strict=True)] == shown[
        "attempts"
    ]
    assert shown["prompt"] == "x"
    assert shown["attempts"][0]["evidence"][0]["line"] > 1


def test_a_run_is_shown_whole(cli: CommandLine) -> None:
    cli.scripted("-m", "scripted/overflow", "-m", "other/echo", "--name", "yard", "-t", "a-tag", "the prompt itself")
    (folder,) = cli.records()
    shown = cli("history", "show", folder.name[:-3]).out
    for text in (
        *("answered", "other/echo", "yard", "a-tag", "the prompt itself", str(cli.project), str(folder)),
        *("attempt 1 · scripted/overflow", "failed: overflow", "message_end", "attempt 2 · other/echo"),
        *("sha256", "record cat", "explain", "exit code"),
    ):
        assert text in shown


def test_damaged_records_are_told_and_passed_over(past: tuple[CommandLine, dict[str, str]]) -> None:
    cli, runs = past
    paths = {name: cli.home / "records" / run_path(run_id) / "run.json" for name, run_id in runs.items()}
    paths["failed"].write_text('{"run_id": "x')
    paths["hopped"].write_bytes(b"\0" * 50)
    done = cli("history", "list")
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()[1:]] == [runs["new"], runs["old"]]
    assert len(done.err.splitlines()) == 2
    assert all(str(paths[name]) in done.err for name in ("failed", "hopped"))
    done = cli("history", "show", runs["failed"])
    assert (done.code, done.out) == (1, "")
    assert "is damaged" in done.err


def test_a_damaged_attempt_hides_no_other(cli: CommandLine) -> None:
    cli.scripted("-m", "scripted/overflow", "-m", "other/ok", "x")
    (folder,) = cli.records()
    (folder / "attempt-1" / "attempt.json").write_text("")
    (folder / "prompt.md").unlink()
    done = cli("history", "show", "latest")
    assert done.code == 0
    assert "attempt 1 · scripted/overflow" in done.out
    assert "sha256" in done.out
    assert len(done.err.splitlines()) == 2


def test_a_run_that_a_kill_cut_off_is_not_called_running(cli: CommandLine) -> None:
    process = cli.start("run", "--direct", "--agent", "scripted", "-m", "scripted/timeout", "x")
    folder = cli.until_at_work(process)
    assert "running" in cli("history", "list").out
    assert "running" in cli("history", "show", "latest").out
    process.kill()
    cli.end(process)
    assert "cut off" in cli("history", "list").out
    assert json.loads(cli("history", "list", "--json").out)["run_id"] == folder.name
    cli("stop", "--all")


def test_nothing_there_is_no_error(cli: CommandLine) -> None:
    done = cli("history", "list")
    assert (done.code, done.out, done.err) == (0, "", "there are no runs yet\n")
    assert cli("history", "list", "--json").out == ""
    assert cli("history", "show", "latest").code == 2


def test_only_as_many_records_are_read_as_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from itertools import islice

    from atomic.record import RunQuery, find_runs

    store = RunStore(tmp_path / "records", home=tmp_path)
    now = time.time()
    for n in range(300):
        (tmp_path / "records" / run_path(new_run_id(now - n * DAY / 30))).mkdir(parents=True, exist_ok=True)
    read: list[str] = []

    def reads(run_id: str) -> RunRecord:
        read.append(run_id)
        return RunRecord(run_id=run_id)

    monkeypatch.setattr(store, "read", reads)
    assert len(list(islice(find_runs(store, RunQuery()), 20))) == len(read) == 20
    assert read == sorted(read, reverse=True)
    read.clear()
    assert len(list(find_runs(store, RunQuery(since=now - DAY)))) == len(read)
    assert 25 < len(read) < 40


def test_a_narrow_terminal_cuts_names_and_never_ids(past: tuple[CommandLine, dict[str, str]]) -> None:
    cli, runs = past
    shown = cli.at_terminal("history", "list", COLUMNS="60")
    assert all(run_id in shown for run_id in runs.values())


# Completion


def completed(cli: CommandLine, line: str) -> list[str]:
    words = line.split(" ")
    done = cli(_ATOMIC_FLOWS_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1))
    assert (done.code, done.err) == (0, "")
    return done.out.split()


@pytest.mark.parametrize("command", ["explain", "record cat", "stop", "history show"])
def test_the_shell_completes_runs(past: tuple[CommandLine, dict[str, str]], command: str) -> None:
    cli, runs = past
    assert completed(cli, f"atomic-flows {command} 2") == [runs["new"], runs["failed"], runs["hopped"], runs["old"]]
    assert completed(cli, f"atomic-flows {command} {runs['old'][:10]}")[0] == runs["old"]
    assert "latest" in completed(cli, f"atomic-flows {command} la")


def test_the_shell_completes_models_and_policies(cli: CommandLine) -> None:
    (cli.project / "atomic-flows.toml").write_text('[policy.night]\nmodels = ["one/big", "two/small"]\n')
    assert completed(cli, "atomic-flows run -m on") == ["one/big"]
    assert completed(cli, "atomic-flows run -p n") == ["night"]


@pytest.mark.parametrize("line", ["explain ", "run -m ", "run -p ", "run --mod", "history show x", "run -5"])
def test_what_is_wrong_stays_silent_in_a_prompt(cli: CommandLine, line: str) -> None:
    (cli.project / "atomic-flows.toml").write_text("[polic")
    completed(cli, f"atomic-flows {line}")


def test_names_do_nothing_to_the_shell_that_completes_them(cli: CommandLine) -> None:
    recorded(cli, time.time(), name="[bold]x[/red] \x1b]0;title\x07\n$(touch pwned)`")
    done = cli(_ATOMIC_FLOWS_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS="atomic-flows explain 2")
    assert (done.code, done.err) == (0, "")
    assert "\x1b" not in done.out
    assert "[bold]" not in done.out
