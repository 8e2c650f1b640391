"""Bad input, through the real command: refused before anything is spent, with words that say what to do."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.flows.conftest import PROGRAM, CommandLine, Done

Before = Callable[[CommandLine], object]


@dataclass(frozen=True)
class Bad:
    """A command line that is wrong, or in a wrong place. ``says``: what its error holds; ``hints``: what its hint does.
    ``before`` makes the place."""

    says: str
    hints: str
    args: tuple[str, ...] = ("-m", "scripted/ok", "x")
    settings: str | None = None
    stdin: bytes = b""
    before: Before | None = None
    id: str = ""


def write(name: str, text: str | bytes) -> Before:
    def put(cli: CommandLine) -> None:
        (cli.project / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    return put


def loop(cli: CommandLine) -> None:
    """A link that leads to itself: nobody can read it, whatever his rights."""
    (cli.project / "loop").symlink_to("loop")


def cases(*found: Bad) -> Iterable[object]:
    return [pytest.param(case, id=case.id or case.says) for case in found]


BAD = cases(
    # Names of models
    *(
        Bad(f"{name!r} does not name a model", "provider/id", ("-m", name, "x"))
        for name in ("gpt-5", "openai/", "/gpt-5", "open ai/gpt-5", "openai/gpt-5:", "ok/\x1b[31m", "--model")
    ),
    Bad("does not name a model: it is empty", "provider/id", ("-m", "", "x")),
    Bad("a/b is there twice; use `retry`", "", ("-m", "a/b", "-m", "a/b", "x")),
    # Policies
    Bad("name at least one model", "", ("x",), "[policy.default]\nmodels = []\n"),
    Bad("nihgtly", "nightly", ("-p", "nihgtly", "x"), "[policy.nightly]\nmodels = ['a/b']\n"),
    Bad("atomic-flows.toml:3: policy 'default'", "", ("x",), "[policy.default]\nmodels = ['a/b']\nmax_attempts = 0\n"),
    Bad("cannot be kept: nobody knows the price of a/b", "limits.tokens", ("-m", "a/b", "--max-cost", "1", "x")),
    Bad("--idle", "", ("-m", "a/b", "--idle", "inf", "x")),
    Bad("--max-tokens", "", ("-m", "a/b", "--max-tokens", "9" * 29, "x"), id="more tokens than can be counted"),
    # Settings
    Bad("atomic-flows.toml:1:8: not valid TOML", "toml.io", settings="[record\n"),
    Bad("atomic-flows.toml:2: not UTF-8 text", "", before=write("atomic-flows.toml", b"# ok\n\xff\n")),
    Bad("atomic-flows.toml:1: unknown key recrod", "did you mean record?", settings="[recrod]\n"),
    Bad("cannot be read: is a directory", "", ("--config", ".", "x")),
    Bad("nosuch.toml: cannot be read: no such file", "", ("--config", "nosuch.toml", "x")),
    Bad(
        "atomic-flows.toml: cannot be read: too many levels of symbolic links",
        "",
        before=lambda cli: (cli.project / "atomic-flows.toml").symlink_to("atomic-flows.toml"),
    ),
    *(
        Bad(
            f"atomic-flows.toml:2: record.url: {says}",
            "left out",
            ("--config", "atomic-flows.toml", "x"),
            settings=f"[record]\nurl = '{url}'\n",
            id=url,
        )
        for url, says in (
            ("memory://x", "the record would be lost"),
            ("simplecache::memory://x", "the record would be lost"),
            ("file://", "it holds no absolute path"),
            ("file://records", "it holds no absolute path"),
            ("::", "a part of it is empty"),
        )
    ),
    # Folders
    Bad("there is no such folder", "--cwd", ("-C", "nowhere", "x")),
    Bad("it is not a folder", "--cwd", ("-C", "file", "x"), before=write("file", "")),
    Bad("there is no such folder", "--cwd", ("-C", "loop", "x"), before=loop, id="a loop as a folder"),
    Bad("there is no such folder", "--cwd", ("-C", "x" * 300, "x"), id="a name that is too long, as a folder"),
    Bad("~nosuchuser: there is no such folder", "--cwd", ("-C", "~nosuchuser", "x")),
    # Prompts
    Bad("the prompt is empty", "Say what", ("-m", "a/b", " \n")),
    Bad("no UTF-8 text: byte 6 is 0x00", "Convert it", ("-m", "a/b", "-"), stdin=b"\x89PNG\r\n\0\xff"),
    Bad("no UTF-8 text: byte 1 is 0xff", "Convert it", ("-m", "a/b", "@blob"), before=write("blob", b"a\xff")),
    Bad("/compact", "--slash", ("-m", "a/b", "/compact")),
    Bad("nosuch.md: no such file", "stdin", ("@nosuch.md",)),
    Bad("loop: too many levels of symbolic links", "stdin", ("@loop",), before=loop),
    Bad(".: is a directory", "stdin", ("@.",)),
    Bad("~nosuchuser/x: no such file", "stdin", ("@~nosuchuser/x",)),
    Bad("/dev/zero is longer than 256 MiB", "files", ("@/dev/zero",)),
    # Words
    Bad("name = 'a\\nb'", "can be read", ("-m", "a/b", "-n", "a\nb", "x")),
    Bad("key = ' '", "can be read", ("-m", "a/b", "--key", " ", "x")),
    Bad("exclude each other", "--direct", ("--ephemeral", "-m", "a/b", "x")),
)


@pytest.fixture
def started(tmp_path: Path) -> tuple[str, Path]:
    """An agent that leaves a trace when it is started: its command, and the trace."""
    program, trace = tmp_path / "agent.sh", tmp_path / "started"
    scripted = shlex.join([sys.executable, "-m", "atomic.scripted"])
    program.write_text(f'#!/bin/sh\n: > {shlex.quote(str(trace))}\nexec {scripted} "$@"\n')
    program.chmod(0o700)
    return shlex.quote(str(program)), trace


@pytest.mark.parametrize("bad", BAD)
def test_it_is_refused_before_anything_is_spent(cli: CommandLine, started: tuple[str, Path], bad: Bad) -> None:
    agent, trace = started
    if bad.settings is not None:
        (cli.project / "atomic-flows.toml").write_text(bad.settings)
    if bad.before is not None:
        bad.before(cli)
    done = cli("run", "--direct", "--agent", agent, *bad.args, stdin=bad.stdin)
    assert refusal(done) == (2, "")
    assert bad.says in done.err
    assert bad.hints in done.err.partition("hint:")[2]
    assert not trace.exists(), "no agent was started"
    assert list(cli.home.iterdir()) == [], "nothing is left"


def refusal(done: Done) -> tuple[int, str]:
    """Code and stdout of a command that said what is wrong the way people can read it."""
    lines = done.err.splitlines()
    assert [line for line in lines if line.startswith(("error: ", "╭─ Error"))], done.err
    assert "Traceback" not in done.err
    assert "unexpected" not in done.err
    return done.code, done.out


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        ("nosuch-agent", "'nosuch-agent' is not a program on PATH"),
        ("./notes.md", "'./notes.md' is not a program on PATH, nor an executable file"),
        (".", "'.' is not a program on PATH"),
        ("node 'cli.js", "No closing quotation"),
        ("  ", "the agent's command is empty"),
    ],
)
def test_what_is_no_program_is_no_agent(cli: CommandLine, agent: str, says: str) -> None:
    (cli.project / "notes.md").touch(0o600)
    done = cli("run", "--direct", "--agent", agent, "-m", "a/b", "x")
    assert refusal(done) == (2, "")
    assert says in done.err
    assert "hint:" in done.err
    assert list(cli.home.iterdir()) == []


def test_an_argument_of_the_agent_may_be_longer_than_a_name(cli: CommandLine) -> None:
    done = cli("run", "--direct", "--agent", f"sh -c 'exit 0' {'x' * 300}", "-m", "a/b", "x")
    assert "failed: empty" in done.err
    assert "unexpected" not in done.err


def test_a_home_whose_name_is_too_long(cli: CommandLine) -> None:
    done = cli.scripted("-m", "scripted/ok", "x", ATOMIC_FLOWS_HOME="x" * 300)
    assert refusal(done) == (2, "")
    assert "file name too long" in done.err
    assert "ATOMIC_FLOWS_HOME" in done.err.partition("hint:")[2]


def test_an_empty_address_of_records_is_none(cli: CommandLine) -> None:
    done = cli.scripted("-m", "scripted/ok", "x", ATOMIC_FLOWS_RECORD__URL="")
    assert done.code == 0
    assert len(cli.records()) == 1


@pytest.mark.parametrize("what", [".", "", "/", "x" * 300])
def test_what_is_no_stream_is_no_run_either(cli: CommandLine, what: str) -> None:
    done = cli("explain", what)
    assert refusal(done) == (2, "")
    assert "no run" in done.err
    assert "hint:" in done.err


def test_a_folder_that_is_gone_gets_no_settings(cli: CommandLine) -> None:
    line = f"mkdir gone && cd gone && rmdir ../gone && '{PROGRAM}' init"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=cli.environ, cwd=cli.project)
    assert (done.returncode, done.stdout) == (2, "")
    assert "does not exist any more" in done.stderr
    assert "hint:" in done.stderr


def test_without_an_agent_on_path_it_says_which_to_install(cli: CommandLine, tmp_path: Path) -> None:
    done = cli("run", "--direct", "-m", "a/b", "x", PATH=str(tmp_path))
    assert refusal(done) == (2, "")
    assert "neither atomic nor pi is on PATH" in done.err
    assert "--agent scripted" in done.err
    assert list(cli.home.iterdir()) == []


@pytest.mark.parametrize(
    ("agent", "kind", "code", "hint"),
    [
        ("echo", "unreadable", 1, "--agent"),  # prints what it was given
        ("sh -c 'echo hello; echo world'", "unreadable", 1, "--agent"),
        ("sh -c 'head -c 3000000 /dev/urandom'", "unreadable", 1, "--agent"),
        ("""sh -c 'printf "{\\"type\\":\\"hi\\"}\\n"'""", "unreadable", 1, "--agent"),
        ("sh -c 'echo no such flag >&2; exit 64'", "configuration", 2, "no such flag"),
        ("true", "empty", 1, ""),
        ("sh -c 'kill -9 $$'", "crashed", 1, ""),
    ],
)
def test_an_agent_that_is_none_is_told_from_one_that_failed(
    cli: CommandLine, agent: str, kind: str, code: int, hint: str
) -> None:
    done = cli("run", "--direct", "--agent", agent, "-m", "a/b", "-m", "c/d", "x")
    assert (done.code, done.out) == (code, "")
    assert f"failed: {kind}" in done.err
    assert hint in done.err
    assert "Traceback" not in done.err
    (record,) = cli.records()
    assert "explain" in done.err
    assert record.name in done.err


def test_a_key_at_work_is_not_taken_again(cli: CommandLine) -> None:
    process = cli.start("run", "--direct", "--agent", "scripted", "-m", "scripted/timeout", "--key", "k", "x")
    folder = cli.until_at_work(process)
    done = cli.scripted("-m", "scripted/ok", "--key", "k", "x")
    assert refusal(done) == (2, "")
    assert f"process {process.pid}" in done.err
    assert folder.name in done.err
    assert len(cli.records()) == 1


def test_a_closed_stdin_is_no_prompt(cli: CommandLine) -> None:
    line = f"'{PROGRAM}' run --direct --agent scripted -m scripted/ok - <&-"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=cli.environ, cwd=cli.project)
    assert (done.returncode, done.stdout) == (2, "")
    assert "stdin, which is closed" in done.stderr
    assert "hint:" in done.stderr
    assert list(cli.home.iterdir()) == []
