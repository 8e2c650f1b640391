from __future__ import annotations

import json
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from atomic.processes import ProcessId, identify, marked
from tests.agents import answer
from tests.flows.conftest import PROGRAM, CommandLine

KEYS = (
    *("run_id", "name", "status", "kind", "message", "answer", "answered_by", "attempts"),
    *("usage", "cost_usd", "seconds", "record", "flow_run_id", "changes"),
)
ATTEMPT_KEYS = ("n", "model", "status", "kind", "message", "answered_by", "carry", "retry_at", "record")


def test_stdout_is_the_answer_and_stderr_the_rest(cli: CommandLine) -> None:
    done = cli.scripted("-m", "scripted/overflow", "-m", "other/echo", "the prompt")
    assert (done.code, done.out) == (0, "the prompt\n")
    for said in ("attempt 1", "overflow", "attempt 2", "answered by other/echo", str(cli.records()[0]), "record cat"):
        assert said in done.err
    assert "\x1b" not in done.err


def test_json_is_one_object_of_just_these_names(cli: CommandLine) -> None:
    done = cli.scripted("-m", "scripted/overflow", "-m", "other/ok", "--name", "nightly", "--json", "x")
    result = json.loads(done.out)
    assert tuple(result) == KEYS
    assert tuple(result["usage"]) == ("input", "output", "cacheRead", "cacheWrite", "cost_usd")
    assert [tuple(attempt) for attempt in result["attempts"]] == [ATTEMPT_KEYS] * 2
    assert (result["status"], result["answered_by"], result["name"]) == ("answered", "other/ok", "nightly")
    assert [attempt["kind"] for attempt in result["attempts"]] == ["overflow", None]
    assert result["record"] == str(cli.records()[0])


def test_a_failed_run_exits_1_with_its_object(cli: CommandLine) -> None:
    done = cli.scripted("-m", "scripted/refusal", "--json", "x")
    result = json.loads(done.out)
    assert (done.code, result["status"], result["kind"], result["answer"]) == (1, "failed", "refusal", None)
    done = cli.scripted("-m", "scripted/refusal", "x")
    assert (done.code, done.out) == (1, "")
    assert "failed: refusal" in done.err


def test_a_run_stopped_in_the_middle_of_a_message_says_what_it_spent(cli: CommandLine) -> None:
    done = cli.scripted("-m", "scripted/expensive-9", "--max-cost", "1", "--json", "x")
    result = json.loads(done.out)
    assert (done.code, result["kind"]) == (3, "budget"), done.err
    assert result["usage"]["output"] > 0
    assert result["cost_usd"] >= 1
    assert "did not end" in done.err


@pytest.mark.parametrize(
    ("model", "options", "code"),
    [
        ("expensive-5", ("--max-cost", "0.2"), 3),
        ("configuration", (), 2),
        ("stalled", ("--idle", "0.3"), 1),
    ],
)
def test_exit_codes_say_what_kind_of_end_it_was(
    cli: CommandLine, model: str, options: tuple[str, ...], code: int
) -> None:
    done = cli.scripted("-m", f"scripted/{model}", *options, "x")
    assert (done.code, done.out) == (code, ""), done.err


# Prompts


@pytest.mark.parametrize("prompt", ["-5 + 3?", "- one\n- two", "--- a\nb", "ends with blank ", "“quoted” 日本 🎉"])
def test_a_prompt_of_any_first_character_arrives_as_it_is(cli: CommandLine, prompt: str) -> None:
    assert cli.scripted("-m", "scripted/echo", prompt).out.rstrip("\n") == prompt.rstrip("\n")
    assert (cli.records()[0] / "prompt.md").read_text() == prompt


def test_a_prompt_behind_two_dashes_may_be_any_word(cli: CommandLine) -> None:
    assert cli.scripted("-m", "scripted/echo", "--", "--help").out == "--help\n"
    assert cli.scripted("-m", "scripted/echo", "--", "-z").out == "-z\n"


def test_a_prompt_comes_from_stdin_or_a_file_whatever_it_begins_with(cli: CommandLine) -> None:
    assert cli.scripted("-m", "scripted/echo", "-", stdin=b"@from -stdin").out == "@from -stdin\n"
    file = cli.project / "ä prompt.md"
    file.write_text("-from a file\n")
    assert cli.scripted("-m", "scripted/echo", "@ä prompt.md").out == "-from a file\n"


def test_a_prompt_of_megabytes_has_no_limit(cli: CommandLine) -> None:
    prompt = b"word " * 500_000
    done = cli.scripted("-m", "scripted/ok", "-", stdin=prompt)
    assert done.code == 0, done.err
    assert (cli.records()[0] / "prompt.md").read_bytes() == prompt


@pytest.mark.parametrize(
    ("prompt", "stdin", "says"),
    [
        ("", b"", "prompt is empty"),
        ("-", b" \n", "prompt is empty"),
        ("-", b"\x89PNG\r\n\x00\xff", "no UTF-8 text: byte 6 is 0x00"),
        ("-", b"a\x00b", "no UTF-8 text: byte 1 is 0x00"),
        ("/compact", b"", "begins with '/'"),
        ("@missing.md", b"", "missing.md: no such file"),
        ("@.", b"", "is a directory"),
    ],
)
def test_what_is_no_prompt_is_refused_before_anything_is_spent(
    cli: CommandLine, prompt: str, stdin: bytes, says: str
) -> None:
    done = cli.scripted("-m", "scripted/ok", "--json", prompt, stdin=stdin)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert cli.records() == []


def test_a_slash_command_passes_when_it_is_meant(cli: CommandLine) -> None:
    assert cli.scripted("-m", "scripted/echo", "--slash", "/compact").out == "/compact\n"


# The place


def test_a_missing_folder_and_a_missing_agent_are_usage_errors(cli: CommandLine, tmp_path: Path) -> None:
    done = cli.scripted("-m", "scripted/ok", "--cwd", str(tmp_path / "nowhere"), "x")
    assert (done.code, done.out) == (2, "")
    assert "no such folder" in done.err
    done = cli("run", "--direct", "x", PATH=str(tmp_path))
    assert (done.code, done.out) == (2, "")
    assert "no agent found" in done.err
    assert "--agent scripted" in done.err
    assert cli.records() == []


def test_a_working_folder_that_is_gone_is_a_usage_error(cli: CommandLine) -> None:
    script = f'mkdir gone && cd gone && rmdir ../gone && exec "{PROGRAM}" run --direct --agent scripted x'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=cli.environ, cwd=cli.project)
    assert (done.returncode, done.stdout) == (2, "")
    assert "does not exist any more" in done.stderr


def test_a_prefect_server_that_is_away_is_said_before_anything_is_spent(cli: CommandLine) -> None:
    away = {"PREFECT_API_URL": "http://127.0.0.1:9/api"}
    cli.environ |= away
    done = cli("run", "--agent", "scripted", "-m", "scripted/ok", "x")
    assert (done.code, done.out) == (1, "")
    assert "PREFECT_API_URL" in done.err
    assert "--direct" in done.err
    assert cli.records() == []


def test_the_locale_does_not_matter(cli: CommandLine) -> None:
    for more in ({}, {"PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}):
        cli.environ |= {"LC_ALL": "C", **more}
        done = cli.scripted("-m", "scripted/echo", "Übergrößenträger 日本")
        assert (done.code, done.out) == (0, "Übergrößenträger 日本\n")
        assert "✓ answered" in done.err


def test_an_answer_with_half_a_character_is_printed_all_the_same(cli: CommandLine) -> None:
    done = cli.scripted("-m", "scripted/unicode", "x")
    assert done.code == 0, done.err
    assert "\\ud" in done.out
    answer = json.loads(cli.scripted("-m", "scripted/unicode", "--json", "x").out)["answer"]
    assert any("\ud800" <= char <= "\udfff" for char in answer)


def test_a_home_that_cannot_be_written_is_a_message(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = cli.scripted("-m", "scripted/ok", "x", ATOMIC_FLOWS_HOME=str(tmp_path / "file" / "home"))
    assert done.code != 0
    assert done.out == ""
    assert "Traceback" not in done.err
    assert "unexpected" not in done.err


# Idempotence


def test_a_key_is_answered_once(cli: CommandLine) -> None:
    first = cli.scripted("-m", "scripted/echo", "--key", "triage-1", "one")
    second = cli.scripted("-m", "scripted/crashed", "--key", "triage-1", "one")
    assert first.out == second.out == "one\n"
    assert "nothing was bought" in second.err
    assert "nothing was bought" not in first.err
    other = cli.scripted("-m", "scripted/echo", "--key", "triage-1", "two")
    assert (other.code, other.out) == (2, "")
    assert "another prompt" in other.err
    assert len(cli.records()) == 1


# Ends from outside


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
def test_a_signal_ends_agent_and_tools_and_keeps_the_record(cli: CommandLine, sign: signal.Signals, code: int) -> None:
    process = cli.start("run", "--direct", "--agent", "scripted", "-m", "scripted/sleep-tool", "--json", "x")
    folder = cli.until_at_work(process)
    process.send_signal(sign)
    done = cli.end(process)
    assert done.code == code
    assert json.loads(done.out)["kind"] == "cancelled"
    assert json.loads((folder / "run.json").read_text())["status"] == "failed"
    assert str(folder) in done.err
    assert _carrying(folder.name) == []


def test_an_impatient_second_interrupt_is_absorbed(cli: CommandLine) -> None:
    process = cli.start("run", "--direct", "--agent", "scripted", "-m", "scripted/stubborn", "x")
    folder = cli.until_at_work(process)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(0.05)
        except Exception:
            continue
    assert cli.end(process).code == 130
    assert json.loads((folder / "run.json").read_text())["kind"] == "cancelled"
    assert _carrying(folder.name) == []


@pytest.mark.parametrize(
    "following", [("run", "--direct", "--agent", "scripted", "-m", "scripted/ok", "x"), ("status",)]
)
def test_what_a_kill_left_is_ended_and_told_by_the_next_command(cli: CommandLine, following: tuple[str, ...]) -> None:
    process = cli.start("run", "--direct", "--agent", "scripted", "-m", "scripted/timeout", "x")
    folder = cli.until_at_work(process)
    process.kill()
    cli.end(process)
    done = cli(*following)
    assert done.code == 0
    assert "Found 1 run cut off by a kill" in done.err
    assert _carrying(folder.name) == []
    assert json.loads((folder / "run.json").read_text())["kind"] == "interrupted"
    assert json.loads(cli("status", "--json").out)["runs"] == []


def test_status_leaves_alone_what_the_next_run_is_to_follow(cli: CommandLine) -> None:
    process = cli.start("run", "--direct", "--agent", "scripted", "-m", "scripted/timeout", "x")
    folder = cli.until_at_work(process)
    process.kill()
    cli.end(process)
    status = json.loads(cli("status", "--json", ATOMIC_FLOWS_ADOPT="follow").out)
    assert [(run["run_id"], run["state"]) for run in status["runs"]] == [(folder.name, "cut off by a kill")]
    assert cli("stop", "--all").code == 0
    assert _carrying(folder.name) == []


def _carrying(run_id: str) -> list[ProcessId]:
    """Processes that carry the mark of the run's first attempt."""
    marker = f"{run_id}/1"
    return list(marked([marker])[marker])


# From another terminal


def test_status_shows_a_run_and_stop_ends_it(cli: CommandLine) -> None:
    process = cli.start("run", "--direct", "--agent", "scripted", "-m", "scripted/timeout", "--name", "long", "x")
    folder = cli.until_at_work(process)
    (run,) = json.loads(cli("status", "--json").out)["runs"]
    assert (run["run_id"], run["state"], run["model"], run["name"]) == (
        folder.name,
        "running",
        "scripted/timeout",
        "long",
    )
    shown = cli("status").out
    assert folder.name in shown
    assert "scripted/timeout" in shown
    assert cli("stop", folder.name[:-2]).code == 0
    assert cli.end(process).code == 143
    assert json.loads((folder / "run.json").read_text())["kind"] == "cancelled"
    assert "had ended already" in cli("stop", "latest").err
    assert "nothing was running" in cli("stop", "--all").err


def test_stop_wants_to_know_what(cli: CommandLine) -> None:
    assert cli("stop").code == 2
    assert cli("stop", "20990101-000000-aaaaaaaa").code == 2


def test_a_daemon_of_a_tool_that_hides_from_everybody_is_ended(cli: CommandLine) -> None:
    agent = cli.project / "agent.sh"
    hiding = f"env -i setsid /bin/sh -c 'sleep 1000 & echo $! > {shlex.quote(str(cli.home / 'daemon'))}'\n"
    agent.write_text(f"#!/bin/sh\n{hiding}{answer('done')}")
    agent.chmod(0o755)
    done = cli("run", "--direct", "--agent", shlex.quote(str(agent)), "x")
    assert (done.code, done.out) == (0, "done\n"), done.err
    assert identify(int((cli.home / "daemon").read_text())) is None
