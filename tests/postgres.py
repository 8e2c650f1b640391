"""A Postgres of the tests' own: a cluster in a temporary folder, on a port of its own, for the length of a session."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

INSTALL = Path(__file__).parents[1] / "scripts" / "install-postgres"
PASSWORD = "not-secret-but-masked"  # of a server that only this machine reaches, for minutes
_FOLDERS = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
)


@dataclass(frozen=True)
class Cluster:
    """A running server; each test makes a database of its own in it."""

    port: int
    programs: Path
    data: Path

    def url(self, database: str, *, password: str = PASSWORD) -> str:
        """The URL of a database."""
        return f"postgresql://owner:{password}@127.0.0.1:{self.port}/{database}"

    def create(self) -> str:
        """A new database; its URL."""
        name = f"test_{secrets.token_hex(6)}"
        self.sql(f"CREATE DATABASE {name}")
        return self.url(name)

    def sql(self, statement: str, *, database: str = "postgres") -> None:
        """Carry out a statement as the owner of everything."""
        command: list[str | Path] = [
            self.programs / "psql",
            "-qX",
            "-v",
            "ON_ERROR_STOP=1",
            "-d",
            self.url(database),
            "-c",
            statement,
        ]
        subprocess.run(command, check=True)


def _programs() -> Path:
    """The folder of Postgres' programs. They are installed where that can be done; a machine without them cannot say
    that Postgres works."""
    with FileLock(Path(tempfile.gettempdir(), "atomic-flows-install-postgres.lock")):
        if _found() is None and os.getuid() == 0 and shutil.which("apt-get"):
            subprocess.run([INSTALL], check=True, stdout=subprocess.DEVNULL)
    found = _found()
    assert found is not None, "Postgres is not installed: apt-get install postgresql (brew install postgresql)"
    return found


def _found() -> Path | None:
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    folders = sorted(path for pattern in _FOLDERS for path in Path("/").glob(f"{pattern[1:]}/initdb"))
    return folders[-1].parent if folders else None


def _unprivileged() -> dict[str, int | list[int]]:
    """How to start the server's programs, which refuse to run as root."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise AssertionError("no user but root to run Postgres as")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """A running cluster."""
    programs, who = _programs(), _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # short: the path of a socket may have 100 characters
    if who:
        os.chown(folder, int(str(who["user"])), int(str(who["group"])))
    data, port = folder / "data", _free_port()
    (password := folder / "password").write_text(PASSWORD)
    password.chmod(0o644)
    environ = {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": str(folder)}

    def call(program: str, *args: str) -> None:
        with (folder / "out").open("ab") as out:  # a file: the server keeps it open, and nobody waits for its end
            done = subprocess.run(
                [programs / program, *args],
                cwd=folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                **who,  # type: ignore[call-overload]
            )
        assert done.returncode == 0, (folder / "out").read_text()

    try:
        call(
            "initdb", "-D", str(data), "-U", "owner", "-A", "scram-sha-256", f"--pwfile={password}", "-E", "UTF8", "-N"
        )
        settings = f"-p {port} -c listen_addresses=127.0.0.1 -k {folder} -c fsync=off -c max_connections=60"
        call("pg_ctl", "-D", str(data), "-w", "-l", str(folder / "log"), "-o", settings, "start")
        try:
            yield Cluster(port, programs, data)
        finally:
            call("pg_ctl", "-D", str(data), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
