"""The scripted agent: each behaviour comes to what its name says, as a reader of real streams would judge it."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import atomic
from atomic.failures import FailureKind
from atomic.processes import MARKER, marked
from atomic.scripted.catalog import BEHAVIOURS, MODIFIERS, read_name
from atomic.verdict import StopReason, Verdict, read_verdict

COMMAND = (sys.executable, "-m", "atomic.scripted", "--mode", "json")
PROMPT = "say hi"
TICK = 0.02
# Behaviours that hang: what a stream that has come so far ends with, and for what reason a runner would stop it.
HANGS = {
    "stalled": (b"message_update", StopReason.IDLE),
    "stalled-start": (b"", StopReason.STARTUP),
    "sleep-tool": (b"tool_execution_update", StopReason.TOOL),
    "timeout": (b"message_update", StopReason.TOTAL),
    "stubborn": (b"message_update", StopReason.TOTAL),
    "never-exits": (b"agent_settled", StopReason.SETTLED),
}
SHORT = {"slow": 2, "huge": 1, "huge-tool": 1, "expensive": 1, "turns": 3}
# Kinds that no agent can cause by itself: they say what the runner, a check or the parent's death did.
OUTSIDE = {
    FailureKind.REJECTED,
    FailureKind.INTERRUPTED,
    FailureKind.BUDGET,
    FailureKind.CANCELLED,
}


@dataclass(frozen=True, slots=True)
class Played:
    """A session of the scripted agent that has ended."""

    stream: Path
    exit_code: int
    stderr: str

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.read_bytes().split(b"\n") if line]

    def verdict(self, stopped: StopReason | None = None) -> Verdict:
        return read_verdict(self.stream, exit_code=self.exit_code, stderr=self.stderr, stopped=stopped)


class Stage:
    """A folder to play in. Whatever a session leaves running is ended with the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.session = folder / "session.jsonl"
        self.environment = {**os.environ, MARKER: str(folder)}
        self._count = 0

    def play(
        self,
        name: str,
        prompt: str | bytes = PROMPT,
        *arguments: str,
        until: bytes | None = None,
        session: bool = True,
    ) -> Played:
        """Play to the end; with `until` only until the stream holds this, then kill."""
        self._count += 1
        stream, errors = (self.folder / f"{self._count}.{end}" for end in ("jsonl", "txt"))
        given = self.folder / f"{self._count}.prompt"
        given.write_bytes(prompt if isinstance(prompt, bytes) else prompt.encode())
        kept = ("--session", str(self.session)) if session else ()
        command = [*COMMAND, "--model", f"any/{name}", *kept, *arguments]
        with given.open("rb") as stdin, stream.open("wb") as stdout, errors.open("wb") as stderr:
            process = subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdin=stdin, stdout=stdout, stderr=stderr
            )
        if until is not None:
            while until not in stream.read_bytes():
                assert process.poll() is None, errors.read_text()
                time.sleep(TICK)
            process.kill()
        return Played(stream, process.wait(), errors.read_text())

    def close(self) -> None:
        for process in marked([str(self.folder)])[str(self.folder)]:
            os.kill(process.pid, signal.SIGKILL)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.close()


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_comes_to_what_its_name_says(name: str, stage: Stage) -> None:
    until, stopped = HANGS.get(name, (None, None))
    stage.environment["ATOMIC_SCRIPTED_STATE"] = str(stage.folder / "state")
    if name == "flaky":
        stage.play(name)
    played = stage.play(f"{name}-{SHORT[name]}" if name in SHORT else name, until=until)
    verdict = played.verdict(stopped)
    assert (verdict.kind or verdict.status) == BEHAVIOURS[name].comes_to
    assert verdict.answered == (verdict.answer is not None and not verdict.partial)


def test_there_is_a_behaviour_for_each_kind_that_an_agent_can_cause() -> None:
    assert {behaviour.comes_to for behaviour in BEHAVIOURS.values()} == {"answered", *set(FailureKind) - OUTSIDE}


@pytest.mark.parametrize("name", ["ok", "tool", "overflow-once", "rate-limit-once", "length-continued"])
@pytest.mark.parametrize("modifiers", ["-delta", "-cumulative", "-unsettled-pi", "-cumulative-unsettled-pi"])
def test_other_clients_habits_change_no_verdict(name: str, modifiers: str, stage: Stage) -> None:
    plain = stage.play(name, session=False).verdict()
    other = stage.play(name + modifiers, session=False).verdict()
    assert other.answered
    assert other.answer == plain.answer
    assert other.usage.input == plain.usage.input
    assert other.settled == ("unsettled" not in modifiers)


def test_exit_codes_are_those_of_the_client_that_is_played(stage: Stage) -> None:
    assert stage.play("auth").exit_code == 1
    assert stage.play("auth-pi").exit_code == 0
    assert stage.play("ok").exit_code == 0


def test_a_cumulative_update_repeats_the_message_and_a_delta_does_not(stage: Stage) -> None:
    def last_update(name: str) -> dict[str, Any]:
        return [r for r in stage.play(name).records if r["type"] == "message_update"][-1]

    assert last_update("ok-cumulative")["message"]["content"][0]["text"] == "Hello from a scripted agent."
    assert set(last_update("ok-delta")) == {"type", "assistantMessageEvent"}
    assert set(last_update("ok")) == {"type", "assistantMessageEvent", "usage"}


def test_a_session_goes_on_under_its_own_header(stage: Stage) -> None:
    first = stage.play("tool-overflow", "do the work")
    second = stage.play("echo", "go on")
    assert second.records[0] == first.records[0]
    answer = second.verdict().answer or ""
    assert "[user] do the work" in answer
    assert "[toolResult]" in answer
    assert answer.endswith("go on")


def test_work_that_was_carried_is_not_done_again(stage: Stage) -> None:
    for _ in range(2):
        assert stage.play("tool-overflow").verdict().kind is FailureKind.OVERFLOW
    assert (stage.folder / "worked.txt").read_text() == "worked\n"


def test_a_carried_session_works_in_its_own_folder(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> None:
    stage.play("ok")
    home, stage.folder = stage.folder, tmp_path_factory.mktemp("elsewhere")
    seen = json.loads(stage.play("inspect").verdict().answer or "")
    assert seen["cwd"] == str(home)


def test_the_session_file_is_a_tree_from_a_header(stage: Stage) -> None:
    played = stage.play("tool")
    header, *entries = [json.loads(line) for line in stage.session.read_text().splitlines()]
    assert header == played.records[0]
    assert [entry["parentId"] for entry in entries] == [None, *(entry["id"] for entry in entries[:-1])]
    roles = [entry["message"]["role"] for entry in entries if entry["type"] == "message"]
    assert roles == ["user", "assistant", "toolResult", "assistant"]


def test_no_session_file_before_the_first_assistant_message(stage: Stage) -> None:
    stage.play("crashed")
    assert not stage.session.exists()


def test_a_session_folder_is_found_again_by_id_or_by_being_the_newest(stage: Stage) -> None:
    folder = ("--session-dir", str(stage.folder / "sessions"))
    first = stage.play("ok", "one", *folder, "--session-id", "mine", session=False)
    again = stage.play("echo", "two", *folder, "--session-id", "mine", session=False)
    newest = stage.play("echo", "three", *folder, "--continue", session=False)
    assert {played.records[0]["id"] for played in (first, again, newest)} == {"mine"}
    assert "[user] one" in (again.verdict().answer or "")
    assert "[user] two" in (newest.verdict().answer or "")


@pytest.mark.parametrize("prompt", ["-dash", "@at", "/slash", "two\nlines\u2028\x85", "x" * (1 << 20)], ids=range(5))
def test_the_prompt_comes_back_as_it_was_sent(prompt: str, stage: Stage) -> None:
    played = stage.play("echo", prompt)
    assert played.verdict().answer == prompt
    user = next(r["message"] for r in played.records if r["type"] == "message_end")
    assert user["content"] == [{"type": "text", "text": prompt}]


def test_prompt_is_stdin_then_files_then_the_first_message(stage: Stage) -> None:
    (stage.folder / "part.md").write_text("file ")
    played = stage.play("echo", "stdin ", "@part.md", "message", "another prompt", session=False)
    prompts = [
        record["message"]["content"][0]["text"]
        for record in played.records
        if record["type"] == "message_end" and record["message"]["role"] == "user"
    ]
    assert prompts == ["stdin file message", "another prompt"]


def test_nothing_to_do_is_a_header_and_no_error(stage: Stage) -> None:
    played = stage.play("ok", "")
    assert [record["type"] for record in played.records] == ["session"]
    assert played.exit_code == 0


def test_a_model_that_does_not_exist_fails_as_with_the_real_agent(stage: Stage) -> None:
    played = stage.play("no-such-behaviour")
    assert played.verdict().kind is FailureKind.MODEL_UNAVAILABLE
    assert "no-such-behaviour" in played.stderr


@pytest.mark.parametrize("arguments", [["--no-such-flag"], ["--session"], ["@missing.md"], ["--mode", "rpc"]])
def test_a_command_line_it_cannot_read_is_a_configuration_error(arguments: list[str], stage: Stage) -> None:
    played = stage.play("ok", PROMPT, *arguments, session=False)
    assert played.stream.read_bytes() == b""
    assert played.exit_code == 1
    assert played.stderr.startswith("Error: ")
    assert played.verdict().kind is FailureKind.CONFIGURATION


def test_the_agents_flags_are_taken(stage: Stage) -> None:
    flags = ["--approve", "--tools", "bash,read", "--thinking", "high", "--offline", "--no-skills", "-xt", "edit"]
    assert stage.play("ok:high", PROMPT, *flags).verdict().answered


def test_flaky_counts_its_starts_for_each_prompt(stage: Stage) -> None:
    stage.environment["ATOMIC_SCRIPTED_STATE"] = str(stage.folder / "state")
    kinds = [stage.play("flaky-2", prompt).verdict().kind for prompt in ("a", "b", "a", "a", "b")]
    assert kinds == [FailureKind.CRASHED] * 3 + [None, FailureKind.CRASHED]


def test_cost_grows_while_an_expensive_answer_is_written(stage: Stage) -> None:
    updates = [r for r in stage.play("expensive-1").records if r["type"] == "message_update"]
    costs = [record["usage"]["cost"]["total"] for record in updates]
    assert costs == sorted(costs)
    assert costs[-1] - costs[0] == pytest.approx(1, rel=0.01)


def test_usage_of_a_retry_after_says_when(stage: Stage) -> None:
    retry_at = stage.play("rate-limit-retry-after-30").verdict().retry_at
    assert retry_at is not None
    assert 0 < retry_at - time.time() <= 30


def test_a_left_child_is_alive_in_another_session(stage: Stage) -> None:
    assert stage.play("leaves-child").verdict().answered
    left = marked([str(stage.folder)])[str(stage.folder)]
    assert left
    assert all(os.getsid(process.pid) != os.getsid(0) for process in left)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, -2)])
def test_signals_end_it_with_the_real_ones_exit_codes(number: signal.Signals, code: int, stage: Stage) -> None:
    with subprocess.Popen(
        [*COMMAND, "--model", "a/timeout", "hi"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(number)
        process.stdout.read()
    assert process.returncode == code


def test_closed_output_ends_it_quietly(stage: Stage) -> None:
    with subprocess.Popen(
        [*COMMAND, "--model", "a/timeout", "hi"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_list_has_a_line_for_each_name_and_modifier() -> None:
    listing = subprocess.run([*COMMAND, "--list"], capture_output=True, text=True, check=True).stdout.splitlines()
    names = [line.split()[0].removesuffix("[-N]") for line in listing if line and not line.startswith("Any")]
    assert names == [*BEHAVIOURS, *(f"-{name}" for name in MODIFIERS)]


@pytest.mark.parametrize("closed", [">&-", "| :"])
def test_a_list_that_nobody_takes_ends_quietly(closed: str) -> None:
    done = subprocess.run(["bash", "-c", f"{shlex.join(COMMAND)} --list {closed}"], capture_output=True, text=True)
    assert done.stderr == ""


def test_every_name_is_read_with_every_modifier() -> None:
    for name, behaviour in BEHAVIOURS.items():
        number = "" if behaviour.parameter is None else "-7"
        for modifier in MODIFIERS:
            part = read_name(f"{name}{number}-{modifier}")
            assert part is not None
            assert part.behaviour is behaviour
            assert part.parameter == (7 if number else 0)


@pytest.mark.parametrize("name", ["", "-", "pi", "ok-7", "slow-x", "slow--1", "okay", "-ok"])
def test_no_other_name_is_read(name: str) -> None:
    assert read_name(name) is None


def test_starts_with_the_standard_library_alone() -> None:
    program = "import sys, atomic.scripted.__main__; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run(
        [sys.executable, "-S", "-c", program],
        env={"PYTHONPATH": str(Path(atomic.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(loaded.stdout.split()) - set(sys.stdlib_module_names) <= {"atomic", "__main__"}
