"""Keys show nowhere but in the raw record, and with `record.redact` not there either."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from atomic.text import MASK
from tests.flows.conftest import CommandLine, Done
from tests.flows.hostile import hostile_agent
from tests.flows.prefect_server import Place, artifacts_of, read_back

KEY = "sk-live-4242424242424242"  # of the environment
HEADER = "Bearer header-of-a-model-777"  # in model_changed, known to nobody
OF_AGENT = "agent-env-secret-31337"  # of [agent.env]
STORED = "stored-in-auth-json-99"  # of the agent's own folder
SECRETS = (KEY, OF_AGENT, STORED)
SAID = f"it is {KEY}, {OF_AGENT}, and {STORED}."


@pytest.fixture
def cli(cli: CommandLine, tmp_path: Path) -> CommandLine:
    folder = tmp_path / "agent folder"
    folder.mkdir()
    (folder / "auth.json").write_text(json.dumps({"some": {"type": "api_key", "key": STORED}}))
    cli.environ |= {"SOME_API_KEY": KEY, "PI_CODING_AGENT_DIR": str(folder)}
    (cli.home / "atomic-flows.toml").write_text(f'[agent.env]\nMY_TOKEN = "{OF_AGENT}"\n')
    return cli


@pytest.fixture
def agent(tmp_path: Path) -> str:
    return hostile_agent(tmp_path, SAID, headers=HEADER)


@pytest.fixture
def failing(tmp_path: Path) -> str:
    folder = tmp_path / "failing"
    folder.mkdir()
    return hostile_agent(folder, SAID, headers=HEADER, fails=True)


def ran(cli: CommandLine, agent: str, *more: str) -> Done:
    return cli("run", "--direct", "--agent", agent, "-m", "some/model", *more, f"Use {KEY} for it")


def told(text: str) -> list[str]:
    return [secret for secret in (*SECRETS, HEADER) if secret in text]


@pytest.mark.parametrize("json_", [(), ("--json",)])
def test_a_run_tells_none(cli: CommandLine, agent: str, failing: str, json_: tuple[str, ...]) -> None:
    done = ran(cli, agent, *json_)
    assert done.code == 0, done.err
    assert f"it is {MASK}, {MASK}, and {MASK}." in done.out
    assert told(done.out + done.err) == []
    failed = ran(cli, failing, *json_)
    assert failed.code == 1
    assert told(failed.out + failed.err) == []
    assert MASK in failed.err


@pytest.mark.parametrize(
    "command",
    [
        ("explain", "latest"),
        ("explain", "latest", "--json"),
        ("history", "list"),
        ("history", "list", "--json"),
        ("history", "show", "latest"),
        ("history", "show", "latest", "--json"),
        ("status", "--json"),
        ("policy", "show"),
    ],
)
def test_what_is_read_back_tells_none(cli: CommandLine, failing: str, command: tuple[str, ...]) -> None:
    ran(cli, failing)
    done = cli(*command)
    assert done.code == 0
    assert told(done.out + done.err) == []
    assert told(cli.at_terminal(*command)) == []


def test_explaining_a_file_tells_none(cli: CommandLine, failing: str, tmp_path: Path) -> None:
    stream = str(tmp_path / "failing" / "stream")
    for args in ((), ("--json",), ("--stderr", str(tmp_path / "failing" / "stderr"))):
        assert not {KEY, STORED, HEADER} & set(told(cli("explain", stream, *args).out))


def test_the_raw_record_is_raw_in_a_pipe_and_masked_on_a_terminal(cli: CommandLine, agent: str, tmp_path: Path) -> None:
    ran(cli, agent)
    raw = cli("record", "cat", "latest").raw
    assert raw == (tmp_path / "stream").read_bytes()
    assert told(raw.decode()) == [*SECRETS, HEADER]
    shown = cli.at_terminal("record", "cat", "latest")
    assert MASK in shown
    assert told(shown) == []


def test_only_the_raw_files_of_a_record_hold_them(cli: CommandLine, agent: str, failing: str) -> None:
    ran(cli, agent)
    ran(cli, failing)
    for folder in cli.records():
        holding = {
            path.name
            for path in folder.rglob("*")
            if path.is_file() and told(path.read_bytes().decode("utf-8", "replace"))
        }
        assert holding <= {"prompt.md", "stderr.txt"}  # and the stream, which is compressed


def test_redacted_records_hold_none_at_all(cli: CommandLine, agent: str, failing: str) -> None:
    cli.environ["ATOMIC_FLOWS_RECORD__REDACT"] = "true"
    ran(cli, agent)
    ran(cli, failing)
    assert told(cli("record", "cat", "latest").out) == []
    for path in cli.home.rglob("*"):
        if path.is_file() and path.name != "atomic-flows.toml":
            assert told(path.read_bytes().decode("utf-8", "replace")) == [], path
    shown = json.loads(cli("history", "show", "latest", "--json").out)
    assert shown["attempts"][0]["redacted"] is True
    assert shown["status"] == "failed"
    explained = json.loads(cli("explain", "latest", "--json").out)
    assert explained["evidence"] == shown["attempts"][0]["evidence"]


def test_command_lines_that_are_kept_tell_none(cli: CommandLine, agent: str) -> None:
    ran(cli, f"{agent} --api-key short --header 'X: {KEY}'")
    (folder,) = cli.records()
    command = json.loads((folder / "attempt-1" / "attempt.json").read_text())["command"]
    assert "short" not in command
    assert told(" ".join(command)) == []


@pytest.mark.parametrize(
    "args",
    [
        ("run", "--direct", "--agent", f"no-such-program-{KEY}", "x"),
        ("run", "--direct", "--agent", "scripted", "-m", f"x{KEY}", "x"),
        ("run", "--direct", f"@{KEY}"),
        ("history", "show", KEY),
    ],
)
def test_messages_about_what_is_wrong_tell_none(cli: CommandLine, args: tuple[str, ...]) -> None:
    done = cli(*args)
    assert done.code == 2
    assert told(done.out + done.err) == []


def test_a_server_that_is_away_is_told_without_its_password(cli: CommandLine, agent: str) -> None:
    cli.environ["PREFECT_API_URL"] = "http://me:pass-word-77@127.0.0.1:9/api"
    done = cli("run", "--agent", agent, "-m", "some/model", "x")
    assert done.code == 1
    assert "pass-word-77" not in done.err


def test_a_crash_log_holds_none(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    from flows.cli.entry import write_crash

    monkeypatch.setenv("ATOMIC_FLOWS_HOME", str(cli.home))
    monkeypatch.setenv("SOME_API_KEY", KEY)
    try:
        raise ValueError(f"400 for {KEY}")
    except ValueError as error:
        log = write_crash(error)
    assert log is not None
    assert told(log.read_text()) == []
    assert log.stat().st_mode & 0o077 == 0


async def test_prefect_is_told_none(
    place: Place, agent: str, failing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from flows import run_prompt

    monkeypatch.setenv("SOME_API_KEY", KEY)
    (tmp_path / "auth.json").write_text(json.dumps({"some": {"type": "api_key", "key": STORED}}))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path))
    (place.home / "atomic-flows.toml").write_text(f'[agent.env]\nMY_TOKEN = "{OF_AGENT}"\n')

    async def look(command: str) -> None:
        result = await run_prompt(
            f"Use {KEY}",
            models=["some/model"],
            agent=f"{command} --api-key {KEY}",
            name=f"with {KEY}",
            tags=[f"tag {KEY}"],
            metadata={"of": [KEY]},
            check=False,
        )
        flow_run, tasks = await read_back(str(result.flow_run_id))
        artifacts = await artifacts_of(flow_run_id=str(result.flow_run_id))
        assert len(artifacts) == 2
        for one in (flow_run, *tasks, *artifacts):
            assert told(one.model_dump_json()) == []
        # Started again from Prefect's page it is the same run all the same.
        assert Path(flow_run.parameters["prompt_file"]).read_text() == f"Use {KEY}"

    await look(agent)
    await look(failing)
