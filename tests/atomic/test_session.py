"""A session from start to end: what the agent is given, and what stays of it."""

from __future__ import annotations

import asyncio
import json
import stat
from pathlib import Path

import pytest

from atomic.agent import Agent
from atomic.errors import PlaceError
from atomic.failures import FailureKind
from atomic.models import ModelRef
from atomic.record import AttemptFolder, AttemptRecord
from atomic.session import Progress, run_attempt
from atomic.verdict.facts import Status
from tests.agents import Place, answer, closing, left_of, message, opening, say, tool_end, tool_start

TELL_ALL = 'printf "%s\\n" "$@" > args; env > env; cat > prompt\n'


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "a 'place' with \"quotes\" and ümläuts")


@pytest.mark.parametrize("fsync", [False, True])
async def test_an_answered_session_is_a_folder_of_files(tmp_path: Path, fsync: bool) -> None:
    place = Place(tmp_path, fsync=fsync)
    record = await place.run(answer("forty-two"))
    assert record.status is Status.ANSWERED
    assert record.verdict is not None
    assert record.verdict.answer == "forty-two"
    assert record.exit_code == 0
    assert record.answered_by == "some/model"
    folder = place.path(record)
    assert sorted(each.name for each in folder.iterdir()) == [
        "attempt.json",
        "prompt.md",
        "session",
        "stderr.txt",
        "stream.jsonl.zst",
    ]
    assert (folder / "prompt.md").read_bytes() == b"hello"
    assert record.stream is not None
    assert record.stream.bytes == len(place.stream(record))
    assert json.loads((folder / "attempt.json").read_bytes())["verdict"]["answer"] == "forty-two"
    assert record.ended_at is not None
    assert record.started_at <= record.ended_at


async def test_files_and_folders_are_for_their_owner_only(place: Place) -> None:
    record = await place.run(answer())
    for each in (place.path(record), *place.path(record).iterdir()):
        assert stat.S_IMODE(each.stat().st_mode) == (0o700 if each.is_dir() else 0o600), each


async def test_the_agent_gets_its_flags_and_the_prompt_by_stdin(place: Place) -> None:
    agent = place.agent(TELL_ALL + answer(), args=("--tools", "a,b"), approve=False)
    record = await place.run(agent, model=ModelRef("p", "m/x:free", "high"), prompt=b"--model other\n@file")
    session = place.path(record) / "session" / "session.jsonl"
    assert (place.work / "args").read_text().splitlines() == [
        *("--mode", "json", "--model", "p/m/x:free:high", "--session", str(session)),
        *("--no-approve", "--tools", "a,b"),
    ]
    assert (place.work / "prompt").read_bytes() == b"--model other\n@file"
    assert record.command[1:] == tuple((place.work / "args").read_text().splitlines())
    assert record.model == "p/m/x:free:high"
    assert record.prompt_bytes == 19


async def test_without_a_model_the_agent_takes_its_own(place: Place) -> None:
    record = await place.run(place.agent(TELL_ALL + answer()), model=None)
    assert "--model" not in (place.work / "args").read_text()
    assert record.model is None


async def test_the_environment_is_the_users_without_ours(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMIC_FLOWS_HOME", "/ours")
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1/ours")
    monkeypatch.setenv("SOMETHING", "of the user")
    record = await place.run(place.agent(TELL_ALL + answer(), env={"EXTRA": "1", "ATOMIC_FLOWS_ATTEMPT": "mine"}))
    env = dict(line.split("=", 1) for line in (place.work / "env").read_text().splitlines() if "=" in line)
    assert env["SOMETHING"] == "of the user"
    assert env["EXTRA"] == "1"
    assert env["ATOMIC_FLOWS_ATTEMPT"] == record.marker == f"{record.run_id}/1"
    assert "ATOMIC_FLOWS_HOME" not in env
    assert "PREFECT_API_URL" not in env


async def test_keys_stay_out_of_the_record(place: Place) -> None:
    secret = "sk-0123456789abcdef"
    agent = place.agent(answer(), args=("--api-key", "plain-key-1", "--header", f"x: {secret}"), env={"A_KEY": secret})
    record = await place.run(agent)
    text = (place.path(record) / "attempt.json").read_text()
    assert secret not in text
    assert "plain-key-1" not in text
    assert record.command[-4] == "--api-key"


async def test_attempt_json_is_there_before_the_agent_and_with_its_pid_while_it_runs(place: Place) -> None:
    spec = place.spec('cat "$(dirname "$6")/../attempt.json" > ../first\n' + answer())
    record = await run_attempt(spec)
    first = json.loads((place.folder / "first").read_bytes())
    assert first["marker"] == spec.marker
    assert first["verdict"] is None
    assert first["pid"] in (None, record.pid)  # the agent may read it before the parent has written the pid
    assert record.pid is not None
    assert record.boot_id


async def test_a_session_file_is_named_and_a_carried_one_is_a_copy(place: Place) -> None:
    first = await place.run('echo one > "$6"\n' + answer())
    assert first.session_file == "session/session.jsonl"
    source = place.path(first) / "session" / "session.jsonl"
    second = await place.run('echo two >> "$6"\n' + answer(), carry_from=source)
    assert second.carry
    assert (place.path(second) / "session" / "session.jsonl").read_text() == "one\ntwo\n"
    assert source.read_text() == "one\n"
    assert (await place.run(answer())).session_file is None


async def test_a_missing_folder_is_told_before_anything_is_made(place: Place) -> None:
    spec = place.spec(answer(), cwd=place.folder / "gone")
    with pytest.raises(PlaceError, match="gone"):
        await run_attempt(spec)
    assert not spec.folder.path.exists()


async def test_what_the_system_does_not_start_is_a_failed_attempt(place: Place) -> None:
    plain = place.folder / "plain"
    plain.write_text("no program")
    plain.chmod(0o700)
    agents = {
        "No such file": Agent(command=("/no/such/agent",)),
        "Permission denied": Agent(command=(str(place.work),)),
        "Exec format error": Agent(command=(str(plain),)),
        "Argument list too long": place.agent(answer(), args=("x" * 200_000,)),
        "null byte": place.agent(answer(), args=("\0",)),
    }
    for text, agent in agents.items():
        record = await place.run(agent)
        assert record.status is Status.FAILED
        assert record.kind is FailureKind.CONFIGURATION
        assert text in record.message
        assert record.pid is None


async def test_a_folder_that_cannot_be_written_is_told_with_no_child_left(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = place.spec("exec sleep 1000")
    write = AttemptFolder.write

    def refuse(folder: AttemptFolder, record: AttemptRecord) -> None:
        if record.pid is not None:
            raise PlaceError(f"cannot write {folder.path}: No space left on device", path=str(folder.path))
        write(folder, record)

    monkeypatch.setattr(AttemptFolder, "write", refuse)
    with pytest.raises(PlaceError, match="No space left"):
        await run_attempt(spec)
    assert left_of(spec) == []


async def test_the_version_is_read_from_the_agents_package(tmp_path: Path) -> None:
    place = Place(tmp_path / "place")
    package = tmp_path / "package"
    (package / "dist").mkdir(parents=True)
    (package / "package.json").write_text('{"name": "agent", "version": "1.2.3"}')
    script = package / "dist" / "cli.sh"
    script.write_text(answer())
    record = await place.run(Agent(command=("/bin/sh", str(script))))
    assert record.agent_version == "1.2.3"


async def test_progress_tells_what_the_agent_does(place: Place) -> None:
    told: list[Progress] = []
    script = (
        say(*opening(), message("", "toolUse", tokens=7), tool_start())
        + "sleep 0.8\n"
        + say(tool_end(), message("done"), *closing())
        + "sleep 0.5\n"
    )
    spec = place.spec(script)
    await run_attempt(spec, on_progress=told.append)
    assert {"tool", "settling"} <= {each.phase for each in told}
    at_tool = next(each for each in told if each.phase == "tool")
    assert at_tool.tool == "bash"
    assert at_tool.usage.input == 7
    assert at_tool.turns == 1
    assert at_tool.model == "some/model"
    assert told[-1].bytes >= told[0].bytes
    assert len(told) == len(set(told)), "only what changed is told"


async def test_a_progress_callback_that_fails_stops_the_session_and_is_raised(place: Place) -> None:
    def fail(progress: Progress) -> None:
        raise ZeroDivisionError

    spec = place.spec(say(*opening()) + "exec sleep 1000")
    with pytest.raises(ZeroDivisionError):
        await run_attempt(spec, on_progress=fail)
    assert left_of(spec) == []
    assert spec.folder.read().kind is FailureKind.CANCELLED


async def test_many_at_once_share_what_they_can(place: Place) -> None:
    specs = [place.spec(answer(str(n))) for n in range(16)]
    records = await asyncio.gather(*map(run_attempt, specs))
    assert [record.verdict.answer for record in records if record.verdict] == [str(n) for n in range(16)]
