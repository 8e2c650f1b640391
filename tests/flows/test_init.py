"""`init`: a file that says what was found, loads as it is, holds no key, and overwrites nothing."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from atomic.agent import Agent
from atomic.failures import FailureKind
from atomic.models import ModelRef
from atomic.policy import FallbackPolicy, resolve_policies
from atomic.policy.defaults import DEFAULTS
from atomic.settings import Settings, load_settings
from flows.agent_output import models_in
from flows.first_settings import Found, choose_models, render
from tests.flows.conftest import CommandLine

KEY = "sk-very-secret-4711"
TABLE = """\
provider   model              context  max-out  thinking  images
anthropic  claude-haiku-4-5   200K     64K      yes       yes
anthropic  claude-opus-4-7    1M       128K     yes       yes
fake       ok                 128K     4.1K     no        no
"""


@pytest.fixture
def agent_folder(cli: CommandLine, tmp_path: Path) -> Path:
    folder, binaries = tmp_path / "agent", tmp_path / "bin"
    folder.mkdir()
    binaries.mkdir()
    table = {"baseUrl": "http://127.0.0.1:1/v1", "api": "openai-completions", "apiKey": KEY, "models": [{"id": "ok"}]}
    (folder / "models.json").write_text(json.dumps({"providers": {"fake": table}}))
    cli.environ |= {
        "PATH": f"{binaries}:{Path(sys.executable).parent}:/bin:/usr/bin",
        "HOME": str(tmp_path),
        "PI_CODING_AGENT_DIR": str(folder),
        "ATOMIC_CODING_AGENT_DIR": str(folder),
    }
    return folder


def install(cli: CommandLine, listing: str = TABLE) -> Path:
    agent = Path(cli.environ["PATH"].partition(":")[0]) / "pi"
    agent.write_text(f"#!/bin/sh\ncat <<'E'\n{listing}E\n")
    agent.chmod(0o755)
    return agent


def test_it_writes_what_it_finds_and_the_file_holds(cli: CommandLine, agent_folder: Path) -> None:
    install(cli)
    file = cli.project / "atomic-flows.toml"
    done = cli("init", ANTHROPIC_API_KEY=KEY)
    assert (done.code, done.out) == (0, f"{file}\n")
    assert "anthropic by ANTHROPIC_API_KEY, fake by models.json" in done.err
    assert KEY not in done.out + done.err + file.read_text()
    checked = cli("policy", "check")
    assert checked.code == 0
    assert "default: anthropic/claude-opus-4-7, fake/ok" in checked.err
    assert cli("status").code == 0, "a project's file needs no trust unless it names an agent"


def test_it_overwrites_only_by_force(cli: CommandLine, agent_folder: Path) -> None:
    file = cli.project / "atomic-flows.toml"
    file.write_text("# mine\n")
    done = cli("init")
    assert (done.code, done.out) == (2, "")
    assert "is there already" in done.err
    assert "--force" in done.err
    assert file.read_text() == "# mine\n"
    assert cli("init", "--force").code == 0
    assert file.read_text() != "# mine\n"


def test_where_nothing_is_found_there_are_examples(cli: CommandLine, agent_folder: Path) -> None:
    (agent_folder / "models.json").unlink()
    done = cli("init", PATH="/nowhere")
    assert done.code == 0
    assert "neither atomic nor pi is on PATH" in done.err
    text = (cli.project / "atomic-flows.toml").read_text()
    assert '#models = ["anthropic/' in text
    assert cli("policy", "check").code == 0


def test_one_s_own_file_goes_into_the_home(cli: CommandLine, agent_folder: Path) -> None:
    done = cli("init", "--user", "--agent", "scripted")
    assert done.out == f"{cli.home / 'atomic-flows.toml'}\n"
    assert not (cli.project / "atomic-flows.toml").exists()
    ran = cli("run", "--direct", "hello")
    assert ran.code == 0
    assert "overflow" in ran.err


def test_an_agent_that_was_named_is_trusted_in_the_file_that_was_asked_for(
    cli: CommandLine, agent_folder: Path
) -> None:
    agent = install(cli)
    assert cli("init", "--agent", f"'{agent}'").code == 0
    file = cli.project / "atomic-flows.toml"
    assert f'command = ["{agent}"]' in file.read_text()
    assert cli("status").code == 0
    file.write_text(file.read_text() + "\n")
    assert cli("status").code == 2, "changed since"


def test_a_broken_file_can_be_written_anew(cli: CommandLine, agent_folder: Path) -> None:
    (cli.project / "atomic-flows.toml").write_text("[record\n")
    assert cli("init", "--force").code == 0
    assert cli("policy", "check").code == 0


def test_the_agent_of_one_s_own_settings_is_asked_for_its_models(cli: CommandLine, agent_folder: Path) -> None:
    agent = install(cli).rename(cli.home / "my agent")
    (cli.home / "atomic-flows.toml").write_text(f'[agent]\ncommand = ["{agent}"]\n')
    done = cli("init", ANTHROPIC_API_KEY=KEY)
    assert str(agent) in done.err
    assert "anthropic/claude-opus-4-7 → fake/ok" in done.err


def test_a_folder_that_cannot_be_written_is_one_message(cli: CommandLine, agent_folder: Path) -> None:
    (cli.project / "blocked").write_text("")
    done = cli("init", "--user", ATOMIC_FLOWS_HOME=str(cli.project / "blocked" / "home"))
    assert done.code == 2
    assert "Traceback" not in done.err
    assert str(cli.project / "blocked") in done.err


@pytest.mark.parametrize(
    "found",
    [
        Found(),
        Found(sources={'odd"\nname = 1': "models\n.json"}, models=(ModelRef("a", 'b"\\c'), ModelRef("d", "é:free"))),
        Found(Agent(command=("/a b/pi", "x\ny"))),
    ],
)
@pytest.mark.parametrize("command", [(), ("node", '/a "b"/cli.js')])
def test_every_file_loads_also_with_all_its_defaults_taken_in(
    tmp_path: Path, found: Found, command: tuple[str, ...]
) -> None:
    text = render(found, command)
    file = tmp_path / "atomic-flows.toml"
    environ = {"ATOMIC_FLOWS_HOME": str(tmp_path / "home")}
    file.write_text(text)
    settings = load_settings(tmp_path, file, environ)
    assert settings.agent.command == command
    assert tuple(settings.policies["default"].get("models", ())) == tuple(map(str, found.models))
    whole = re.sub(r"^#(?=[^ \n])", "", text, flags=re.MULTILINE)
    file.write_text(whole)
    taken = load_settings(tmp_path, file, environ)
    assert taken.agent.approve is True
    assert taken.models["ollama/my-model"].window == 32768


def test_what_is_called_no_example_is_the_default(tmp_path: Path) -> None:
    file, example, lines = tmp_path / "atomic-flows.toml", False, []
    for line in render(Found()).splitlines():
        if line.startswith("# "):
            example = line.lower().endswith("example:")
        lines.append(line if example else re.sub(r"^#(?=[^ ])", "", line))
    file.write_text("\n".join(lines))
    environ = {"ATOMIC_FLOWS_HOME": str(tmp_path / "home")}
    taken, plain = load_settings(tmp_path, file, environ), Settings(home=tmp_path / "home")
    assert taken.model_dump(exclude={"policies", "sources"}) == plain.model_dump(exclude={"policies", "sources"})
    policy, default = resolve_policies(taken.policies)["default"], FallbackPolicy()
    assert policy.model_dump(exclude={"on", "cooldown"}) == default.model_dump(exclude={"on", "cooldown"})
    assert all(policy.rule(kind) == default.rule(kind) for kind in FailureKind)
    assert policy.cooldown
    assert all(seconds == DEFAULTS[kind].seconds for kind, seconds in policy.cooldown.items())


def test_models_are_those_that_the_agent_lists() -> None:
    listed = models_in(TABLE)
    assert [str(model) for model in listed] == ["anthropic/claude-haiku-4-5", "anthropic/claude-opus-4-7", "fake/ok"]
    assert models_in("No models available.\n") == []

    def chosen(*sources: str, default: ModelRef | None = None) -> list[str]:
        return [str(model) for model in choose_models(sources, {}, listed, default)]

    assert chosen("anthropic", "openai") == ["anthropic/claude-opus-4-7"], "the agent has none of openai's"
    assert chosen("anthropic", default=ModelRef("fake", "ok")) == ["fake/ok", "anthropic/claude-opus-4-7"]
    assert chosen("anthropic", default=ModelRef("fake", "gone")) == ["anthropic/claude-opus-4-7"]
    assert [model.provider for model in choose_models(["openai", "google"], {}, None)] == ["openai", "google"]
    declared: dict[str, dict[str, object]] = {
        "mine": {"models": [{"id": "a"}, {"id": "b"}]},
        "odd": {"models": [5, {"id": "x y"}]},
    }
    assert choose_models(declared, declared, None) == (ModelRef("mine", "a"),)
