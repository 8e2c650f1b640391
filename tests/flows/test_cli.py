from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from flows.cli.prompts import PromptCommand
from tests.flows.conftest import PROGRAM, CommandLine


def test_help_names_every_command_and_every_exit_code(cli: CommandLine) -> None:
    done = cli("--help", COLUMNS="200")
    assert done.code == 0
    for word in (
        "run",
        "batch",
        "serve",
        "pause",
        "resume",
        "explain",
        "record",
        "policy",
        "up",
        "down",
        "status",
        "stop",
        "trust",
        "demo",
        "doctor",
        "init",
        "models",
    ):
        assert f" {word} " in done.out
    assert "0 answered · 1 failed · 2 usage or configuration · 3 budget · 130 interrupted · 143 terminated" in done.out
    assert cli("--version").out.startswith("atomic-flows ")


@pytest.mark.parametrize("command", ["run", "batch", "serve", "pause"])
def test_help_imports_nothing_that_costs(command: str) -> None:
    code = (
        f"import sys\nfrom flows.cli.entry import main\nsys.argv = ['atomic-flows', '{command}', '--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([m for m in ('prefect', 'httpx', 'asyncio', 'sqlalchemy', 'psutil', 'orjson') if m in sys.modules],"
        " file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("option", ["--polcy", "--jsn", "-z"])
def test_a_mistyped_option_is_never_taken_for_a_prompt(cli: CommandLine, option: str) -> None:
    done = cli("run", option, "what I want")
    assert (done.code, done.out) == (2, "")
    assert f"no such option: {option}" in done.err
    assert cli.records() == []


def test_an_unknown_command_is_a_usage_error(cli: CommandLine) -> None:
    done = cli("rnu", "x")
    assert (done.code, done.out) == (2, "")
    assert "rnu" in done.err


def test_a_wrong_settings_file_is_one_message_and_no_traceback(cli: CommandLine) -> None:
    file = cli.project / "atomic-flows.toml"
    for command, text, says in (
        (("run", "x"), "[recrod]\n", f"{file}:1: unknown key recrod"),
        (("status",), "[record\n", f"{file}:1:8: not valid TOML"),
        (("stop", "--all"), "[record]\nlevel = 'x'\n", f"{file}:2: record.level: expected a whole number, found text"),
        (("policy", "show"), "[policy.default]\nmodels = ['a']\n", f"{file}:2: 'a' does not name a model"),
        (("policy", "check"), "[policy.default]\nmax_atempts = 1\n", f"{file}:2: policy 'default': unknown key"),
    ):
        file.write_text(text)
        done = cli(*command)
        assert (done.code, done.out) == (2, ""), command
        assert says in done.err
        assert "Traceback" not in done.err
    assert cli.records() == []


def test_a_wrong_variable_is_one_message(cli: CommandLine) -> None:
    done = cli("run", "--direct", "x", ATOMIC_FLOWS_RECORD__LEVL="3")
    assert (done.code, done.out) == (2, "")
    assert "did you mean ATOMIC_FLOWS_RECORD__LEVEL?" in done.err


def test_an_unexpected_error_is_one_line_and_a_masked_log(cli: CommandLine, tmp_path: Path) -> None:
    module = tmp_path / "sitecustomize.py"
    module.write_text(
        "import os, atomic.settings.load as load\n"
        "def broken(*a, **k): raise ZeroDivisionError(f'odd {os.environ[\"SOME_API_KEY\"]}')\n"
        "load.read_environment = broken\n"
    )
    done = cli("status", PYTHONPATH=str(tmp_path), SOME_API_KEY="very-secret-value")
    assert (done.code, done.out) == (1, "")
    assert "unexpected ZeroDivisionError" in done.err
    assert "Traceback" not in done.err
    (log,) = (cli.home / "crash").iterdir()
    assert str(log) in done.err
    text = log.read_text()
    assert "Traceback" in text
    assert "very-secret-value" not in text + done.err
    assert log.stat().st_mode & 0o077 == 0


def test_a_reader_that_goes_away_is_no_error(cli: CommandLine) -> None:
    cli.scripted("-m", "scripted/huge-1", "x")
    line = f"'{PROGRAM}' record cat latest | head -c 10; echo ${{PIPESTATUS[0]}} >&2"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=cli.environ, cwd=cli.project)
    assert done.stderr.strip() == "0"
    assert len(done.stdout) == 10


def test_a_closed_stdout_and_stderr_stop_nothing(cli: CommandLine) -> None:
    line = f"'{PROGRAM}' run --direct --agent scripted -m scripted/ok x >&- 2>&-"
    done = subprocess.run(["bash", "-c", line], env=cli.environ, cwd=cli.project)
    assert done.returncode == 0
    assert len(cli.records()) == 1


def test_a_terminal_gets_colours_unless_it_says_no(cli: CommandLine) -> None:
    args = ["run", "--direct", "--agent", "scripted", "-m", "scripted/hostile-error", "-m", "other/hostile", "x"]
    code, shown = _at_terminal(cli, args)
    assert code == 0
    assert b"\x1b[" in shown
    assert b"[bold" in shown, "what looks like markup is shown as it is"
    for word in (b"\x1b]", b"\x07", b"\xe2\x80\xae"):
        assert word not in shown
    code, shown = _at_terminal(cli, args, NO_COLOR="1")
    assert code == 0
    assert b"\x1b" not in shown
    code, shown = _at_terminal(cli, ["record", "cat", "latest"])
    assert b"\x1b" not in shown


def _at_terminal(cli: CommandLine, args: list[str], **environ: str) -> tuple[int, bytes]:
    main, other = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, *args],
        stdin=other,
        stdout=other,
        stderr=other,
        cwd=cli.project,
        env={**cli.environ, "TERM": "xterm", **environ},
        start_new_session=True,
    )
    os.close(other)
    shown = b""
    while True:
        try:
            more = os.read(main, 65536)
        except OSError:
            break
        if not more:
            break
        shown += more
    os.close(main)
    return process.wait(), shown


@pytest.mark.parametrize(
    ("args", "shielded"),
    [
        (["-5 + 3?"], ["--", "-5 + 3?"]),
        (["-42"], ["--", "-42"]),
        (["-m", "a/b", "- one\n- two"], ["-m", "a/b", "--", "- one\n- two"]),
        (["--- title\nx", "-m", "a/b"], ["-m", "a/b", "--", "--- title\nx"]),
        (["-m", "-odd value", "hi"], ["-m", "-odd value", "hi"]),
        (["-ma/b", "hi"], ["-ma/b", "hi"]),
        (["--model=a/b", "hi"], ["--model=a/b", "hi"]),
        (["--", "-x"], ["--", "-x"]),
        (["-"], ["-"]),
    ],
)
def test_a_prompt_that_begins_with_a_dash_is_kept_apart_from_options(args: list[str], shielded: list[str]) -> None:
    import typer.main

    from flows.cli.app import app

    command = typer.main.get_command(app).commands["run"]  # type: ignore[attr-defined]
    assert isinstance(command, PromptCommand)
    assert command.shield(args) == shielded


def test_a_reader_that_has_gone_is_no_failure_and_a_full_stderr_hides_no_usage_error(cli: CommandLine) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed, Path("/dev/full").open("wb") as full:
        assert (
            subprocess.run([PROGRAM, "--help"], stdout=closed, stderr=subprocess.PIPE, env=cli.environ).returncode == 0
        )
        assert subprocess.run([PROGRAM, "run"], stderr=full, stdout=subprocess.PIPE, env=cli.environ).returncode == 2
