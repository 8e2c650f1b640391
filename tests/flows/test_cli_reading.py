from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest

from atomic.record.owner import this_process
from tests.flows.conftest import CommandLine

STREAMS = Path(__file__).parents[1] / "recordings"
EXPLAINED = (
    *("status", "kind", "message", "answer", "answered_by", "evidence", "usage", "records", "noise", "settled"),
    *("unresolved_overflow", "exit_code", "warnings", "check"),
)


@pytest.fixture
def ran(cli: CommandLine) -> CommandLine:
    done = cli.scripted("-m", "scripted/overflow", "-m", "other/hostile-error", "-m", "third/ok", "x")
    assert done.code == 0, done.err
    return cli


def test_explain_json_has_just_these_names(ran: CommandLine) -> None:
    said = json.loads(ran("explain", "latest/1", "--json").out)
    assert tuple(said) == EXPLAINED
    assert (said["status"], said["kind"], said["unresolved_overflow"]) == ("failed", "overflow", True)
    assert tuple(said["evidence"][0]) == ("event", "line", "offset", "text")
    assert json.loads(ran("explain", "latest", "--json").out)["answered_by"] == "third/ok"


def test_explain_names_the_events_that_decided(ran: CommandLine) -> None:
    done = ran("explain", "latest/1")
    assert done.code == 0
    assert "failed: overflow" in done.out
    assert "compaction_end" in done.out
    assert "byte" in done.out
    hostile = ran("explain", "latest/2").out
    assert "\x1b" not in hostile
    assert "<script>" in hostile


def test_explain_reads_a_stream_of_anybody(cli: CommandLine) -> None:
    stream = next(path for path in sorted(STREAMS.rglob("*.jsonl")) if path.stat().st_size)
    said = json.loads(cli("explain", str(stream), "--exit-code", "1", "--json").out)
    assert said["exit_code"] == 1
    stderr = cli.project / "stderr.txt"
    stderr.write_text("No API key found for anthropic.\n")
    empty = cli.project / "empty.jsonl"
    empty.write_text("")
    said = json.loads(cli("explain", str(empty), "--exit-code", "1", "--stderr", str(stderr), "--json").out)
    assert said["kind"] == "auth"


@pytest.mark.parametrize(
    "args",
    [
        ("explain", "nowhere.jsonl"),
        ("explain", "latest/9"),
        ("explain", "latest/x"),
        ("record", "cat", "2099"),
        ("explain", "latest", "--config", "missing.toml"),
    ],
)
def test_what_is_not_there_is_a_usage_error(ran: CommandLine, args: tuple[str, ...]) -> None:
    done = ran(*args)
    assert (done.code, done.out) == (2, "")
    assert "error:" in done.err
    assert "Traceback" not in done.err


def test_record_cat_gives_every_byte(ran: CommandLine) -> None:
    assert ran("record", "cat", "latest/3").raw.endswith(b"\n")
    parts = b"".join(ran("record", "cat", f"latest/{n}").raw for n in (1, 2, 3))
    whole = ran("record", "cat", "latest").raw
    assert whole == parts
    assert [json.loads(line)["type"] for line in whole.splitlines()].count("session") == 3


def test_record_cat_picks_events(ran: CommandLine) -> None:
    done = ran("record", "cat", "latest/3", "--events", "agent_start,agent_end", "-e", "session")
    assert [json.loads(line)["type"] for line in done.out.splitlines()] == ["session", "agent_start", "agent_end"]
    done = ran("record", "cat", "latest/3", "--events", "agent_ende")
    assert (done.code, done.out) == (0, "")
    assert "agent_end (1)" in done.err


def test_policy_show_and_check(cli: CommandLine) -> None:
    (cli.project / "atomic-flows.toml").write_text(
        '[policy.default]\nmodels = ["a/b", "c/d"]\n[policy.night]\nextends = "default"\non = { overflow = "stop" }\n'
    )
    shown = cli("policy", "show", "night").out
    assert shown.startswith("night: a/b → c/d")
    for said in (
        "cost no limit · tokens no limit",
        "length no limit",
        "turns no limit",
        "may cost    whatever it takes",
    ):
        assert said in shown
    assert re.search(r"^overflow \* +stop ", shown, re.MULTILINE)
    assert "* the policy's own" in shown
    data = json.loads(cli("policy", "show", "night", "--json").out)
    assert data["models"] == ["a/b", "c/d"]
    assert next(row for row in data["kinds"] if row["kind"] == "overflow")["action"] == "stop"
    done = cli("policy", "check")
    assert done.code == 0
    assert "ok default" in done.err
    done = cli("policy", "show", "nigth")
    assert done.code == 2
    assert "night" in done.err


def test_the_schema_of_the_settings_goes_to_a_file(cli: CommandLine) -> None:
    schema = json.loads(cli("settings", "schema").out)
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert {"agent", "policy", "record"} <= schema["properties"].keys()


def test_an_attempt_without_a_stream_has_its_recorded_verdict(ran: CommandLine) -> None:
    (folder,) = ran.records()
    recorded = json.loads(ran("explain", "latest/1", "--json").out)
    for stream in (folder / "attempt-1").glob("stream*"):
        stream.unlink()
    assert json.loads(ran("explain", "latest/1", "--json").out) == recorded


def test_a_damaged_stream_is_a_message(ran: CommandLine) -> None:
    (folder,) = ran.records()
    packed = folder / "attempt-1" / "stream.jsonl.zst"
    packed.write_bytes(packed.read_bytes()[:60] + b"\x00" * 40)
    for args in (("explain", "latest/1"), ("explain", str(packed)), ("record", "cat", "latest/1")):
        done = ran(*args)
        assert done.code == 1
        assert "Traceback" not in done.err
        assert "unexpected" not in done.err
        assert str(packed.parent) in done.err


def test_policy_check_finds_budgets_that_no_run_could_keep(cli: CommandLine) -> None:
    file = cli.project / "atomic-flows.toml"
    file.write_text(
        '[policy.default]\nmodels = ["openai/gpt-5.2"]\n[policy.dear]\nmodels = ["nobody/knows"]\n'
        "[policy.dear.limits]\ncost_usd = 5\n[policy.last]\nextends = 'dear'\nlimits = { tokens = 9 }\n"
    )
    done = cli("policy", "check")
    assert done.code == 2
    assert f"error {file}:6: dear: limits.cost_usd = 5 cannot be kept" in done.err
    assert '[model."nobody/knows"] price = { input = USD, output = USD }' in done.err
    assert "ok default" in done.err, "the others are looked at too"
    assert "ok last" in done.err
    priced = '[model."nobody/knows"]\nprice = { input = 1, output = 2 }\n'
    file.write_text(file.read_text() + priced)
    assert cli("policy", "check").code == 0


@pytest.mark.parametrize(
    ("limits", "says", "most"),
    [
        ("cost_usd = 5", "may cost    at most $5.00, and what the message under way adds", 5),
        ("tokens = 2_000_000", "at most about $30.00: 2,000,000 tokens at the highest price", 30),
    ],
)
def test_policy_show_says_what_a_run_may_cost(cli: CommandLine, limits: str, says: str, most: float) -> None:
    text = f'[agent]\ncommand = ["scripted"]\n[policy.default]\nmodels = ["a/ok"]\nlimits = {{ {limits} }}\n'
    (cli.home / "atomic-flows.toml").write_text(text)
    assert says in cli("policy", "show").out
    assert json.loads(cli("policy", "show", "--json").out)["most_usd"] == pytest.approx(most)


def test_explain_of_a_run_has_a_line_for_each_attempt_and_the_last_in_detail(ran: CommandLine) -> None:
    done = ran("explain", "latest")
    lines = done.out.splitlines()
    assert [line.partition(" · ")[0] for line in lines[:3]] == ["attempt 1", "attempt 2", "attempt 3"]
    assert "failed: overflow" in lines[0]
    assert "answered by third/ok" not in lines[0]
    assert any(line.startswith("answered") and "/3 · third/ok" in line for line in lines)
    assert "\x1b" not in done.out
    said = json.loads(ran("explain", "latest", "--json").out)
    assert [one["kind"] for one in said["attempts"]][:1] == ["overflow"]
    assert said["run_id"] in ran.records()[0].name
    assert "attempt 2" not in ran("explain", "latest/1").out


def test_explain_of_a_session_at_work_says_so(cli: CommandLine) -> None:
    process = cli.start("run", "--direct", "--agent", "scripted", "-m", "scripted/sleep-tool", "x")
    folder = cli.until_at_work(process)
    for what in ("latest", "latest/1"):
        done = cli("explain", what)
        assert done.code == 0
        assert "running" in done.out
        assert "crashed" not in done.out
        said = json.loads(cli("explain", what, "--json").out)
        assert (said["status"], said["kind"], said["answer"]) == ("running", None, None)
        assert tuple(said)[: len(EXPLAINED)] == EXPLAINED
    process.send_signal(signal.SIGINT)
    cli.end(process)
    assert json.loads(cli("explain", "latest", "--json").out)["kind"] == "cancelled"
    # Between two attempts: the run goes on, and nobody is at work.
    run = json.loads((folder / "run.json").read_bytes())
    own = this_process().model_dump()
    (folder / "run.json").write_text(json.dumps(run | {"status": "running", "owner": own, "ended_at": None}))
    assert "between attempts" in cli("explain", "latest").out
    assert json.loads(cli("explain", "latest", "--json").out)["status"] == "running"
    assert json.loads(cli("explain", "latest/1", "--json").out)["status"] == "failed", "that one has ended"
