"""The agent: which program it is, how it is called, and what is not told of it."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from atomic.agent import Agent, masked
from atomic.errors import AgentNotFound, UsageError
from atomic.models import ModelRef
from atomic.text import MASK, Masker


def program(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


class TestParse:
    def test_a_line_is_read_as_a_shell_reads_it(self) -> None:
        assert Agent.parse("node --flag 'my cli.js'").command == ("node", "--flag", "my cli.js")

    def test_scripted_is_the_scripted_agent_of_this_python(self) -> None:
        assert Agent.parse(" scripted ").command == (sys.executable, "-P", "-m", "atomic.scripted")

    def test_the_scripted_agent_imports_nothing_from_the_folder_it_works_in(self, tmp_path: Path) -> None:
        (tmp_path / "atomic").mkdir()
        (tmp_path / "atomic" / "__init__.py").write_text("raise SystemExit('a stranger was here')")
        argv = [*Agent.parse("scripted").command, "--mode", "json", "--model", "scripted/ok"]
        done = subprocess.run(argv, input=b"hi", capture_output=True, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, b"")

    def test_a_file_that_is_there_is_named_whole_since_the_agent_works_elsewhere(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "cli.js").touch()
        (tmp_path / "module").touch()
        assert Agent.parse("node cli.js other.js").command == ("node", str(tmp_path / "cli.js"), "other.js")
        assert Agent.parse("python -m module").command == ("python", "-m", "module")

    @pytest.mark.parametrize("text", ["", "   ", "node 'cli.js"])
    def test_what_names_no_program_is_refused(self, text: str) -> None:
        with pytest.raises(UsageError) as refused:
            Agent.parse(text)
        assert refused.value.hint


class TestResolve:
    def test_atomic_comes_before_pi(self, tmp_path: Path) -> None:
        pi = program(tmp_path / "two", "pi")
        path = f"{tmp_path / 'one'}:{tmp_path / 'two'}"
        assert Agent(env={"PATH": path}).resolve().command == (str(pi),)
        atomic = program(tmp_path / "two", "atomic")
        assert Agent(env={"PATH": path}).resolve().command == (str(atomic),)

    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "bin").mkdir()
        shim = tmp_path / "bin" / "pi"
        shim.symlink_to(program(tmp_path / "manager", "shim"))
        assert Agent(command=("pi",), env={"PATH": str(tmp_path / "bin")}).resolve().command == (str(shim),)

    def test_a_path_is_made_whole(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        own = program(tmp_path, "agent.sh")
        monkeypatch.chdir(tmp_path)
        assert Agent(command=("./agent.sh", "--x")).resolve().command == (str(own), "--x")

    @pytest.mark.parametrize("command", [(), ("no-such-agent",), ("/no/such/agent",)])
    def test_no_agent_says_what_to_do(self, command: tuple[str, ...]) -> None:
        with pytest.raises(AgentNotFound) as missing:
            Agent(command=command, env={"PATH": "/nowhere"}).resolve()
        assert "scripted" in (missing.value.hint or "")
        assert missing.value.command == command
        assert missing.value.exit_code == 2

    def test_a_file_that_is_no_program_is_no_agent(self, tmp_path: Path) -> None:
        (tmp_path / "pi").touch()
        with pytest.raises(AgentNotFound):
            Agent(env={"PATH": str(tmp_path)}).resolve()


class TestCommandLine:
    session = Path("/records/session.jsonl")

    def test_the_model_its_level_and_the_session(self) -> None:
        argv = Agent(command=("pi",), args=("--offline",)).argv(model=ModelRef("p", "m", "low"), session=self.session)
        assert argv == ("pi", "--mode", "json", "--model", "p/m:low", "--session", str(self.session), "--offline")

    @pytest.mark.parametrize(("approve", "flags"), [(None, ()), (True, ("--approve",)), (False, ("--no-approve",))])
    def test_trust_is_only_decided_when_it_is_set(self, approve: bool | None, flags: tuple[str, ...]) -> None:
        argv = Agent(command=("pi",), approve=approve).argv(model=None, session=self.session)
        assert argv == ("pi", "--mode", "json", "--session", str(self.session), *flags)


class TestEnvironment:
    def test_ours_is_dropped_and_the_agents_is_laid_over(self) -> None:
        base = {"PATH": "/bin", "ATOMIC_FLOWS_HOME": "x", "PREFECT_API_KEY": "y", "ATOMIC_OFFLINE": "1", "A": "1"}
        env = Agent(env={"A": "2", "PREFECT_HOME": "meant"}).environment("run/1", base)
        assert env == {
            "PATH": "/bin",
            "ATOMIC_OFFLINE": "1",
            "A": "2",
            "PREFECT_HOME": "meant",
            "ATOMIC_FLOWS_ATTEMPT": "run/1",
        }


class TestSecrets:
    def test_values_show_in_no_repr(self) -> None:
        agent = Agent(env={"OPENAI_API_KEY": "sk-secret-value"}, settings={"token": "sk-other-value"})
        assert "sk-" not in repr(agent)

    def test_keys_are_masked_wherever_they_stand(self) -> None:
        env = {"OPENAI_API_KEY": "sk-secret-value", "NAME": "public-value"}
        argv = ("pi", "--api-key", "short", "--api-key=sk", "--header", "Bearer sk-secret-value", "public-value")
        shown = masked(argv, Masker.of(env))
        assert shown == ("pi", "--api-key", MASK, f"--api-key={MASK}", "--header", f"Bearer {MASK}", "public-value")

    def test_an_agent_survives_pickling(self) -> None:
        agent = Agent(command=("pi",), env={"A": "1"}, settings={"retry": {"enabled": False}})
        assert pickle.loads(pickle.dumps(agent)) == agent


class TestVersion:
    def test_it_is_found_above_the_script_a_link_leads_to(self, tmp_path: Path) -> None:
        package = tmp_path / "node_modules" / "pi"
        (package / "dist" / "bundle").mkdir(parents=True)
        (package / "package.json").write_text('{"version": "1.6.0"}')
        script = package / "dist" / "bundle" / "cli.js"
        script.touch()
        link = tmp_path / "bin-pi"
        link.symlink_to(script)
        assert Agent(command=(str(link),)).version == "1.6.0"
        assert Agent(command=("/usr/bin/env", str(script), "--flag")).version == "1.6.0"

    @pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 7}'])
    def test_a_package_that_does_not_tell_gives_none(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "package.json").write_text(text)
        (tmp_path / "cli.js").touch()
        assert Agent(command=(str(tmp_path / "cli.js"),)).version is None

    def test_no_script_gives_none(self) -> None:
        assert Agent(command=("/no/such/agent",)).version is None
