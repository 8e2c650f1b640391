"""Bad places, through the real command: disks, folders, servers and clocks that are not as they should be.

What the system itself must refuse is had from where it refuses everybody, root too: a file system that takes no
folders, a limit on the size of files, a device that is always full.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from atomic.processes import boot_id, own_id
from atomic.record.files import encode
from flows.server.facts import ServerInfo, read_info, server_folder
from tests.flows.conftest import PROGRAM, CommandLine, Done
from tests.flows.test_bad_input import refusal

READ_ONLY = "/sys" if sys.platform == "linux" else "/System"  # nobody can make a folder there
ODD_NAME = "a 'place' with \"quotes\", ümläuts, 日本 & $HOME"


@pytest.mark.parametrize("home", [f"{READ_ONLY}/home", "file", "file/home", "loop", "/dev/null/home"])
def test_a_home_that_cannot_be_one(cli: CommandLine, tmp_path: Path, home: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    done = cli.scripted("-m", "scripted/ok", "x", ATOMIC_FLOWS_HOME=str(tmp_path / home))
    assert refusal(done) == (2, "")
    assert home.rpartition("/")[2] in done.err
    assert "hint:" in done.err


@pytest.mark.parametrize("key", ["URL", "SPOOL"])
@pytest.mark.parametrize("place", [f"{READ_ONLY}/records", "file"])
def test_a_records_folder_that_cannot_be_written(cli: CommandLine, tmp_path: Path, key: str, place: str) -> None:
    (tmp_path / "file").write_text("")
    cli.environ[f"ATOMIC_FLOWS_RECORD__{key}"] = str(tmp_path / place)
    done = cli.scripted("-m", "scripted/ok", "x")
    assert refusal(done) == (2, "")
    assert str(tmp_path / place) in done.err
    assert "another folder for the records" in done.err
    assert nothing_left(cli)


@pytest.mark.parametrize("url", ["nosuch://bucket/x", "https://127.0.0.1:9/x"])
def test_records_at_a_url_that_nothing_serves(cli: CommandLine, url: str) -> None:
    done = cli.scripted("-m", "scripted/ok", "x", ATOMIC_FLOWS_RECORD__URL=url)
    assert refusal(done) == (2, "")
    assert url in done.err
    assert nothing_left(cli)


def test_a_disk_that_takes_nothing(cli: CommandLine) -> None:
    done = with_files_up_to(0, cli, "-m", "scripted/ok", "x")
    assert refusal(done) == (2, "")
    assert "too large" in done.err
    assert "hint:" in done.err
    assert nothing_left(cli)


def test_a_disk_that_is_full_at_any_point_leaves_what_the_next_start_makes_good(cli: CommandLine) -> None:
    codes = set()
    for limit in (300, 600, 900, 1200, 1500, 1800, 2400, 3600):
        before = len(cli.records())
        done = with_files_up_to(limit, cli, "--key", str(limit), "-m", "scripted/ok", "x")
        codes.add(done.code)
        assert "Traceback" not in done.err
        assert "unexpected" not in done.err
        if done.code == 2:
            assert len(cli.records()) == before, "a usage error says that nothing was spent"
        again = cli.scripted("--key", str(limit), "-m", "scripted/ok", "x")
        assert (again.code, again.out) == (0, "Hello from a scripted agent.\n")
        runs = [json.loads((record / "run.json").read_text()) for record in cli.records()]
        assert [run["status"] for run in runs if run["key"] == str(limit)].count("answered") == 1
        assert {run["status"] for run in runs} <= {"failed", "answered"}
        assert list(cli.home.rglob("*.tmp")) == []
    assert codes == {0, 1, 2}, "before the run, within it, and not at all"


def test_an_agent_whose_output_finds_no_room_is_a_failed_attempt(cli: CommandLine) -> None:
    done = with_files_up_to(100_000, cli, "-m", "scripted/huge", "-m", "other/ok", "x")
    assert (done.code, done.out) == (0, "Hello from a scripted agent.\n"), done.err
    (record,) = cli.records()
    first, *_, last = json.loads((record / "run.json").read_text())["attempts"]
    assert (first["kind"], last["answered_by"]) == ("crashed", "other/ok")


def test_an_answer_that_cannot_be_printed_is_on_record_all_the_same(cli: CommandLine) -> None:
    for option in ((), ("--json",)):
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                [PROGRAM, "run", "--direct", "--agent", "scripted", "-m", "scripted/ok", *option, "x"],
                stdin=subprocess.DEVNULL,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                cwd=cli.project,
                env=cli.environ,
            )
        assert done.returncode == 1
        assert "error: stdout: no space left on device" in done.stderr
        assert "answered" in done.stderr
        assert str(cli.records()[-1]) in done.stderr
        assert "Traceback" not in done.stderr


def test_it_works_without_home(cli: CommandLine) -> None:
    del cli.environ["HOME"]
    assert cli.scripted("-m", "scripted/ok", "x").code == 0


def test_names_of_every_sort(cli: CommandLine, tmp_path: Path) -> None:
    odd = tmp_path / ODD_NAME
    project = odd / "project"
    project.mkdir(parents=True)
    agent = odd / "my agent.sh"
    agent.write_text(f'#!/bin/sh\nexec {sys.executable} -m atomic.scripted "$@"\n')
    agent.chmod(0o700)
    (project / f"{ODD_NAME}.md").write_text("what is asked")
    cli.project = project
    cli.environ["ATOMIC_FLOWS_HOME"] = str(odd / "home")
    quoted = "'" + str(agent).replace("'", "'\"'\"'") + "'"
    done = cli("run", "--direct", "--agent", quoted, "-m", "scripted/echo", "--name", ODD_NAME, f"@{ODD_NAME}.md")
    assert (done.code, done.out) == (0, "what is asked\n"), done.err
    assert cli("record", "cat", "latest").code == 0
    assert cli("explain", "latest").code == 0


@pytest.mark.parametrize("step", [-86_400, 86_400, 10**10])
def test_a_clock_that_jumps(cli: CommandLine, tmp_path: Path, step: int) -> None:
    # Each question for the time moves the clock of the command by a day, or by three hundred years.
    (tmp_path / "sitecustomize.py").write_text(
        "import itertools, time\nreal, steps = time.time, itertools.count()\n"
        f"time.time = lambda: max(real() + {step} * (next(steps) % 3), 0.0)\n"
    )
    done = cli.scripted("-m", "scripted/rate-limit", "-m", "other/ok", "--json", "x", PYTHONPATH=str(tmp_path))
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result["answer"] == "Hello from a scripted agent."
    assert result["seconds"] >= 0
    assert json.loads(cli("status", "--json").out)["runs"] == []
    assert cli("explain", "latest").code == 0


def test_damaged_files_are_named_and_cost_no_second_answer(cli: CommandLine) -> None:
    again = ("--key", "k", "-m", "scripted/echo", "once")
    assert cli.scripted(*again).code == 0
    (record,) = cli.records()
    (note,) = (path for path in (cli.home / "records" / "keys").iterdir() if not path.name.startswith("."))
    for path in (record / "attempt-1" / "attempt.json", record / "attempt-1" / "stream.jsonl.zst", note):
        before = path.read_bytes()
        path.write_bytes(b"\0" * len(before))
        for command in (("status",), ("explain", "latest"), ("record", "cat", "latest")):
            done = cli(*command)
            assert done.code == 0 or (path.suffix == ".zst" and str(path) in refusal_text(done))
        done = cli.scripted(*again)
        assert (done.code, done.out) == (0, "once\n") or "remove that file" in refusal_text(done)
        assert str(path) in done.err or path.suffix == ".zst", "whoever needs it hears of it"
        assert cli.records() == [record]
        path.write_bytes(before)


# Prefect's server


def test_a_local_server_of_another_version_is_not_used(cli: CommandLine) -> None:
    info = known_server(cli, version="2.20.1", port=9)
    done = cli("run", "--agent", "scripted", "-m", "scripted/ok", "x")
    assert refusal(done) == (1, "")
    assert "the running server is Prefect 2.20.1" in done.err
    assert "`atomic-flows down` stops it" in done.err
    assert read_info(server_folder(cli.home)) == info
    assert cli.records() == []


def test_a_named_server_that_is_not_there(cli: CommandLine) -> None:
    with taken_port() as port:
        url = f"http://127.0.0.1:{port}/api"
    done = cli("run", "--agent", "scripted", "-m", "scripted/ok", "x", PREFECT_API_URL=url)
    assert refusal(done) == (1, "")
    assert "PREFECT_API_URL names does not answer" in done.err
    assert "--direct" in done.err
    assert cli.records() == []


@pytest.mark.parametrize("version", ["2.20.1", "4.0.0", None])
def test_a_named_server_of_another_version_or_sort(cli: CommandLine, version: str | None) -> None:
    with answering(version) as port:
        url = f"http://127.0.0.1:{port}/api"
        done = cli("run", "--agent", "scripted", "-m", "scripted/ok", "x", PREFECT_API_URL=url)
    assert refusal(done) == (1, "")
    assert "Prefect" in done.err
    assert "hint:" in done.err
    assert cli.records() == []


def test_a_port_that_is_taken_is_left_to_whoever_has_it(cli: CommandLine) -> None:
    with taken_port() as port:
        before = known_server(cli, version="3.9.1", port=port, process_started=1.0)
        try:
            done = cli("up", "--json")
            assert done.code == 0, done.err
            assert json.loads(done.out)["url"] != before.url
        finally:
            assert cli("down").code == 0


def refusal_text(done: Done) -> str:
    """What a command said that could not do its work."""
    assert refusal(done)[0] == 1
    return done.err


def nothing_left(cli: CommandLine) -> bool:
    """Whether no run and no half-written file is in the home, and no run is listed as open. The history is looked into
    before a run starts, for its cooldowns."""
    left = [path for path in cli.home.rglob("*") if path.is_file() and path.name != ".lock"]
    return not [path for path in left if not path.name.startswith("history.db")]


def with_files_up_to(size: int, cli: CommandLine, *args: str) -> Done:
    """Run a prompt where no file may be larger: to a program it is as a disk that is full."""
    done = subprocess.run(
        [PROGRAM, "run", "--direct", "--agent", "scripted", *args],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=cli.project,
        env=cli.environ,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )
    return Done(done.returncode, done.stdout, done.stderr)


def known_server(cli: CommandLine, *, version: str, port: int, process_started: float | None = None) -> ServerInfo:
    """Write down a local server, which is this very process, or a dead one with its number."""
    own = own_id()
    info = ServerInfo(
        pid=own.pid,
        process_started=process_started or own.start_time,
        boot_id=boot_id(),
        port=port,
        version=version,
        started_at=0,
        started_by="a test",
        folder=server_folder(cli.home),
    )
    (info.folder / "server.json").write_bytes(encode(info.model_dump(mode="json")))
    return info


@contextlib.contextmanager
def taken_port() -> Iterator[int]:
    """A port that somebody has, until this ends."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield int(listener.getsockname()[1])


@contextlib.contextmanager
def answering(version: str | None) -> Iterator[int]:
    """Something that answers on a port: a Prefect server of that version as far as clients ask first, or none."""

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = {"/api/health": True, "/api/admin/version": version, "/api/csrf-token": None}
            body = known.get(self.path.partition("?")[0]) if version else None
            self.send_response(200 if body is not None else 404)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def do_POST(self) -> None:
            self.send_response(404)
            self.end_headers()
            self.wfile.write(b'{"detail":"Not Found"}')

        def log_message(self, *args: object) -> None:
            """Nothing is logged."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
