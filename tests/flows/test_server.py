"""The toolkit's own Prefect servers: one for a home, shared and found again; one for a command, that leaves nothing."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx
import pytest

from atomic.errors import ServerError
from flows.server import ServerInfo, ensure_server, named_server, server_status, stop_server
from flows.server.environment import server_environment
from flows.server.facts import STATE, read_info, server_folder
from flows.server.private import PREFIX
from tests.flows.prefect_server import until

ENSURE = """
import sys
from pathlib import Path
from flows.server import ensure_server
print(ensure_server(Path(sys.argv[1])).pid)
"""
PRIVATE = """
import sys, time
from pathlib import Path
from flows.server import choose
choice = choose("ephemeral", home=Path(sys.argv[1]))
print(choice.info.pid, choice.info.folder, choice.url, flush=True)
if sys.argv[2] == "wait":
    time.sleep(1000)
"""


def python(program: str, *args: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", program, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def bound(stranger: socket.socket, port: int) -> bool | None:
    try:
        stranger.bind(("127.0.0.1", port))
    except OSError:  # a killed process lets go of its files a moment after it counts as dead
        return None
    return True


@pytest.fixture
def home(tmp_path: Path, server: ServerInfo) -> Path:
    """A home that has been used before: what a server of this Prefect needs is compiled, an empty database is there."""
    server_folder(tmp_path)
    (tmp_path / "prefect" / "cache").symlink_to(server.folder / "cache")
    return tmp_path


def test_two_that_start_a_server_at_once_share_it_and_a_dead_one_is_replaced(home: Path) -> None:
    commands = [python(ENSURE, str(home)) for _ in range(2)]
    pids = {int(command.communicate()[0]) for command in commands}
    assert len(pids) == 1
    info = ensure_server(home)
    assert {info.pid} == pids
    assert server_status(home).healthy

    os.kill(info.pid, signal.SIGKILL)
    until(lambda: None if info.alive() else True)
    assert not server_status(home).running
    with socket.socket() as stranger:  # the port is taken meanwhile
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        until(lambda: bound(stranger, info.port))
        stranger.listen()
        other = ensure_server(home)
    assert other.pid != info.pid
    assert other.port != info.port

    assert stop_server(home) is not None
    assert not other.alive()
    assert stop_server(home) is None


def test_a_server_of_another_version_is_named_with_the_way_out(tmp_path: Path) -> None:
    from flows.server import facts

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(facts, "installed_version", lambda: "3.0.0")
        own = facts.write_own_info(server_folder(tmp_path), 1, "test")  # this very process: it lives
    with pytest.raises(ServerError, match=r"3\.0\.0") as raised:
        ensure_server(tmp_path)
    assert "down" in (raised.value.hint or "")
    (own.folder / STATE).unlink()


@pytest.mark.parametrize("content", [b"", b"{", b'{"pid": "x"}', b"\0" * 100])
def test_a_damaged_state_file_is_no_server(tmp_path: Path, content: bytes) -> None:
    (server_folder(tmp_path) / STATE).write_bytes(content)
    assert read_info(server_folder(tmp_path)) is None
    assert not server_status(tmp_path).running


def test_a_server_that_cannot_start_says_where_its_log_is(home: Path) -> None:
    folder = server_folder(home)
    (folder / "prefect.db").mkdir()
    with pytest.raises(ServerError) as raised:
        ensure_server(home)
    assert str(folder) in (raised.value.hint or "")
    assert Path(raised.value.log).read_text()


@pytest.mark.parametrize("number", [None, signal.SIGKILL])
def test_of_a_private_server_nothing_stays(home: Path, number: signal.Signals | None) -> None:
    command = python(PRIVATE, str(home), "end" if number is None else "wait")
    assert command.stdout is not None
    pid, folder, url = command.stdout.readline().decode().split()
    if number is not None:
        assert httpx.get(f"{url}/health", trust_env=False).status_code == httpx.codes.OK
        command.send_signal(number)
    command.communicate()

    until(lambda: None if Path(folder).exists() else True)
    until(lambda: None if Path(f"/proc/{pid}").exists() else True)
    assert not (home / "prefect" / STATE).exists()
    assert Path(folder).name.startswith(PREFIX)
    assert Path(folder).parent == Path(tempfile.gettempdir()).resolve()


def test_keys_and_markers_do_not_live_on_in_a_server(tmp_path: Path) -> None:
    environ = {
        "PATH": "/bin",
        "OPENAI_API_KEY": "sk-secret",
        "ATOMIC_FLOWS_ATTEMPT": "run/1",
        "PREFECT_API_KEY": "pnu_secret",
        "PREFECT_SERVER_LOGGING_LEVEL": "DEBUG",
    }
    shared = server_environment(tmp_path, tmp_path, environ, private=False)
    assert not {"OPENAI_API_KEY", "ATOMIC_FLOWS_ATTEMPT", "PREFECT_API_KEY"} & shared.keys()
    assert shared["PREFECT_SERVER_LOGGING_LEVEL"] == "DEBUG"
    assert shared["PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE"] == "200"
    private = server_environment(tmp_path, tmp_path, environ, private=True)
    assert private["PREFECT_SERVER_LOGGING_LEVEL"] == "WARNING"


def test_the_users_own_prefect_comes_first(tmp_path: Path) -> None:
    profiles = tmp_path / "profiles.toml"
    profiles.write_text('active = "team"\n[profiles.team]\nPREFECT_API_URL = "http://team/api"\n[profiles.own]\n')
    environ = {"HOME": str(tmp_path), "PREFECT_PROFILES_PATH": str(profiles)}

    team = named_server(environ)
    assert team is not None
    assert (team.kind, team.url, team.profile) == ("profile", "http://team/api", "team")
    given = named_server({**environ, "PREFECT_API_URL": "http://mine/api"})
    assert given is not None
    assert (given.kind, given.url) == ("environment", "http://mine/api")
    assert named_server({**environ, "PREFECT_PROFILE": "own"}) is None
    assert named_server({"HOME": str(tmp_path)}) is None


def test_choosing_imports_no_prefect() -> None:
    program = (
        "import sys, flows, flows.server; print([name for name in sys.modules if name.partition('.')[0] == 'prefect'])"
    )
    assert python(program).communicate()[0].decode().strip() == "[]"
