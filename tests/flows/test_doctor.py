"""The doctor: what is broken is found, named and told what to do about, whatever else is broken."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from atomic.agent import Agent
from atomic.models import ModelRef
from atomic.project_trust import skipped_files
from atomic.providers import Access, Answer, Credentials, Reach
from flows.doctor import Asked, Level, examine
from flows.doctor.locks import judge as judge_lock
from flows.doctor.machine import First
from flows.doctor.machine import judge as judge_first
from flows.doctor.providers import judge_providers
from tests.flows.conftest import CommandLine, Done
from tests.loopback.provider import Provider

KEY = "loopback-very-secret"


@dataclass
class Clinic:
    """A command line whose agent is a script, with a folder of its own and a provider."""

    cli: CommandLine
    provider: Provider
    agent_folder: Path
    bin: Path

    def __call__(self, *args: str, **environ: str) -> tuple[Done, dict[str, list[dict[str, Any]]]]:
        """Run `doctor --json`; the findings by what they are about."""
        done = replace(self.cli, environ={**self.cli.environ, **environ})("doctor", "--json", *args)
        assert "Traceback" not in done.err
        found: dict[str, list[dict[str, Any]]] = {}
        for finding in json.loads(done.out)["findings"]:
            assert finding["level"] == "ok" or finding["to_do"], finding
            found.setdefault(finding["about"], []).append(finding)
        return done, found

    def install(self, script: str, package: dict[str, Any] | None = None, name: str = "pi") -> None:
        """Put an agent on PATH, as npm does: a link to a script in its package."""
        folder = self.bin.parent / f"lib {name}"
        (folder / "dist").mkdir(parents=True, exist_ok=True)
        file = folder / "dist" / "cli.js"
        file.write_text(script)
        file.chmod(0o755)
        if package is not None:
            (folder / "package.json").write_text(json.dumps(package))
        link = self.bin / name
        link.unlink(missing_ok=True)
        link.symlink_to(file)

    def serve(self, *, key: str = KEY, url: str | None = None) -> None:
        """Let the agent know the loopback provider as `fake`."""
        base = self.provider.base_url(self.agent_folder.name) if url is None else url
        table = {"baseUrl": base, "api": "openai-completions", "apiKey": key, "models": [{"id": "ok"}]}
        (self.agent_folder / "models.json").write_text(json.dumps({"providers": {"fake": table}}))


SCRIPT = "#!/bin/sh\necho 1.2.3\n"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as listening:
        yield listening


@pytest.fixture
def clinic(cli: CommandLine, tmp_path: Path, provider: Provider) -> Clinic:
    binaries, folder = tmp_path / "bin", tmp_path / f"agent-{tmp_path.name}"
    binaries.mkdir()
    folder.mkdir()
    provider.require_key(folder.name, KEY)
    kept = {name: value for name, value in cli.environ.items() if not name.endswith("_API_KEY")}
    cli.environ = {
        **kept,
        "PATH": f"{binaries}:/bin:/usr/bin",
        "HOME": str(tmp_path / "user"),
        "PI_CODING_AGENT_DIR": str(folder),
        "ATOMIC_CODING_AGENT_DIR": str(folder),
        "PREFECT_HOME": str(tmp_path / "prefect"),
    }
    clinic = Clinic(cli, provider, folder, binaries)
    clinic.install(SCRIPT)
    return clinic


def levels(findings: list[dict[str, Any]]) -> list[str]:
    return [finding["level"] for finding in findings]


def test_a_healthy_place_has_nothing_that_fails(clinic: Clinic) -> None:
    clinic.serve()
    done, found = clinic("-m", "fake/ok")
    assert done.code == 0
    assert json.loads(done.out)["ok"] is True
    assert "version 1.2.3" in found["agent"][0]["what"]
    assert [finding["what"] for finding in found["providers"]] == ["fake is there, and takes the key of models.json"]
    assert any("local server is not running" in finding["what"] for finding in found["prefect"])
    assert not (clinic.cli.home / "prefect").exists(), "looking leaves nothing behind"


def test_for_people_it_is_a_line_each_with_what_to_do(clinic: Clinic) -> None:
    clinic.serve(key="wrong-key-4711")
    done = clinic.cli("doctor", "-m", "fake/ok")
    assert done.code == 1
    assert "✗ providers  fake refuses the key of models.json: Incorrect API key provided" in done.out
    assert "→ put a good key into models.json" in done.out
    assert "1 thing would fail, no warnings" in done.err
    assert "wrong-key-4711" not in done.out + done.err
    assert "\x1b" not in done.out


def test_no_agent_no_network_a_broken_file_and_no_home_are_findings(clinic: Clinic) -> None:
    (clinic.bin / "pi").unlink()
    clinic.serve(url="http://127.0.0.1:1/v1")
    (clinic.cli.project / "atomic-flows.toml").write_text("[record\n")
    (clinic.cli.project / "blocked").write_text("a file")
    home = str(clinic.cli.project / "blocked" / "home")
    done, found = clinic("-m", "fake/ok", PATH=str(clinic.bin), HOME="", ATOMIC_FLOWS_HOME=home)
    assert done.code == 1
    assert "atomic-flows.toml:1:8: not valid TOML" in found["settings"][0]["what"]
    assert "neither atomic nor pi is on PATH" in found["agent"][0]["what"]
    assert "cannot be reached" in found["providers"][0]["what"]
    assert any("home: cannot write to" in finding["what"] for finding in found["folders"])
    assert all("fail" in levels(found[about]) for about in ("settings", "agent", "providers", "folders"))


def test_a_project_that_nobody_trusted_is_said_and_runs_nothing(clinic: Clinic) -> None:
    mark = clinic.cli.project / "mark"
    (clinic.cli.project / "atomic-flows.toml").write_text(f'[agent]\ncommand = ["touch", "{mark}"]\n')
    done, found = clinic()
    assert done.code == 1
    assert "agent.command" in found["settings"][0]["what"]
    assert "atomic-flows trust" in found["settings"][0]["to_do"]
    assert not mark.exists()


def test_a_policy_that_is_not_there_is_a_finding(clinic: Clinic) -> None:
    done, found = clinic("--policy", "nihgtly")
    assert done.code == 1
    assert "nihgtly" in found["policy"][0]["what"]


PI = {"name": "@earendil-works/pi-coding-agent", "version": "1.6.0", "engines": {"node": ">=22.19.0"}}
NODE_AGENT = "#!/usr/bin/env node\n"


def test_a_node_that_is_too_old_or_missing_is_told_before_the_agent_is_blamed(clinic: Clinic) -> None:
    clinic.install(NODE_AGENT, PI)
    node = clinic.bin / "node"
    node.write_text("#!/bin/sh\necho v20.20.2\n")
    node.chmod(0o755)
    _, found = clinic()
    assert levels(found["node"]) == ["fail"]
    assert "Node 20.20.2" in found["node"][0]["what"]
    assert ">=22.19.0" in found["node"][0]["what"]
    assert "agent" not in found
    node.write_text('#!/bin/sh\n[ "$1" = --version ] && echo v22.19.0 || echo 1.6.0\n')
    _, found = clinic()
    assert levels(found["node"]) == ["ok"]
    assert "version 1.6.0" in found["agent"][0]["what"]
    node.unlink()
    _, found = clinic(PATH=f"{clinic.bin}:{Path(sys.executable).parent}")
    assert "there is no node on PATH" in found["node"][0]["what"]


def test_an_agent_that_does_not_start_says_why(clinic: Clinic) -> None:
    clinic.install("#!/bin/sh\necho 'Error: Cannot find module x' >&2\necho '    at y' >&2\nexit 1\n")
    done, found = clinic()
    assert done.code == 1
    assert "exit code 1, Error: Cannot find module x" in found["agent"][0]["what"]


def test_a_provider_without_a_key_and_one_that_nobody_knows(clinic: Clinic) -> None:
    done, found = clinic("-m", "openai/gpt-5.2", "-m", "nobody/x")
    assert done.code == 1
    by_level = {finding["level"]: finding["what"] for finding in found["providers"]}
    assert by_level["fail"] == "openai: OPENAI_API_KEY is not set"
    assert "no such provider" in by_level["warn"]


def test_the_agent_s_own_default_model_is_asked_about_where_the_policy_names_none(clinic: Clinic) -> None:
    clinic.serve()
    (clinic.agent_folder / "settings.json").write_text('{"defaultProvider": "fake", "defaultModel": "nosuch"}')
    done, found = clinic()
    assert done.code == 0
    assert [finding["what"] for finding in found["providers"]] == [
        "fake is there, and takes the key of models.json",
        "fake does not list nosuch",
    ]


def test_a_prefect_server_that_does_not_answer_is_told_with_its_address_but_not_its_password(clinic: Clinic) -> None:
    done, found = clinic(PREFECT_API_URL="http://me:hidden-word@127.0.0.1:1/api")
    assert done.code == 1
    assert levels(found["prefect"]) == ["fail"]
    assert "http://127.0.0.1:1/api" in found["prefect"][0]["what"]
    assert "hidden-word" not in done.out + done.err


def test_stale_locks_of_the_agent_are_found(clinic: Clinic) -> None:
    lock = clinic.agent_folder / "auth.json.lock"
    lock.mkdir()
    old = time.time() - 3600
    os.utime(lock, (old, old))
    done, found = clinic()
    assert done.code == 0
    assert levels(found["agent locks"]) == ["warn"]
    assert str(lock) in found["agent locks"][0]["to_do"]


def test_the_age_of_a_lock_decides(tmp_path: Path) -> None:
    lock = tmp_path / "auth.json.lock"
    lock.mkdir()
    made = lock.stat().st_mtime
    assert [judge_lock(lock, made + age).level for age in (1, 3600, -3600)] == [Level.OK, Level.WARN, Level.FAIL]
    (lock / "odd").touch()
    assert judge_lock(lock, made + 3600).level is Level.FAIL
    file = tmp_path / "settings.json.lock"
    file.touch()
    assert judge_lock(file, made + 3600).level is Level.FAIL


def test_a_network_that_is_down_is_said_once() -> None:
    def gone(*names: str) -> list[tuple[Access, Answer]]:
        url = "https://x.example/"
        return [(Access(n, "key", url), Answer(provider=n, reach=Reach.UNREACHABLE, said="no route")) for n in names]

    there = (Access("c", "key", "https://c/"), Answer(provider="c", reach=Reach.REACHABLE, seconds=0.1))
    (finding,) = judge_providers([], gone("a", "b"))
    assert "none of a, b can be reached: the network seems to be down" in finding.what
    assert [finding.level for finding in judge_providers([], [*gone("a", "b"), there])] == ["ok", "fail", "fail"]


def test_what_is_reached_by_other_means_than_a_key_is_not_blamed() -> None:
    access = Credentials().access("amazon-bedrock")
    answer = Answer(provider="amazon-bedrock", reach=Reach.UNKNOWN, said=access.why)
    (finding,) = judge_providers([ModelRef("amazon-bedrock", "x")], [(access, answer)])
    assert (finding.level, "cloud account" in finding.what) == (Level.OK, True)


def test_a_process_1_that_does_not_reap_is_told() -> None:
    assert judge_first(First("python", ours=True, dead=0)).level is Level.WARN
    assert judge_first(First("node", ours=False, dead=7)).level is Level.WARN
    assert "--init" in (judge_first(First("node", ours=False, dead=7)).to_do or "")
    assert judge_first(First("systemd", ours=False, dead=1)).level is Level.OK
    assert judge_first(First("node", ours=False, dead=0)).level is Level.OK


def agent_of(folder: Path, package: dict[str, Any] | None, **fields: Any) -> Agent:
    (folder / "cli.js").write_text("")
    if package is not None:
        (folder / "package.json").write_text(json.dumps(package))
    env = {"PI_CODING_AGENT_DIR": str(folder), "ATOMIC_CODING_AGENT_DIR": str(folder)}
    return Agent(command=("node", str(folder / "cli.js")), env=env, **fields)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with everything that an agent could pass over."""
    work = tmp_path / "project" / "sub"
    (work / ".pi").mkdir(parents=True)
    (work / ".pi" / "settings.json").write_text("{}")
    (work / ".atomic").mkdir()
    (work / "AGENTS.md").write_text("do")
    (work.parent / ".agents" / "skills").mkdir(parents=True)
    return work


@pytest.mark.parametrize(
    ("name", "version", "skips"),
    [
        ("@mariozechner/pi-coding-agent", "0.73.1", set()),  # it has no such thing as trust
        ("@earendil-works/pi-coding-agent", "1.6.0", {"settings.json", "skills"}),  # reads AGENTS.md anyway
        ("@bastani/atomic", "0.9.15", {"settings.json", "skills", "AGENTS.md"}),
    ],
)
def test_what_an_agent_skips_depends_on_the_agent(
    tmp_path: Path, project: Path, name: str, version: str, skips: set[str]
) -> None:
    package = {"name": name, "version": version}
    skipped = skipped_files(agent_of(tmp_path, package), project)
    assert {file.name for file in skipped.files} == skips
    for said in ({"approve": True}, {"args": ("--approve",)}, {"approve": False, "args": ("-a",)}):
        assert skipped_files(agent_of(tmp_path, package, **said), project).files == ()


def test_a_decision_that_the_agent_saved_counts(tmp_path: Path, project: Path) -> None:
    agent = agent_of(tmp_path, None)
    assert skipped_files(agent, project).decided is False
    trust = tmp_path / "trust.json"
    trust.write_text(json.dumps({str(project.parent): True}))
    assert skipped_files(agent, project).files == ()
    trust.write_text(json.dumps({str(project.parent): True, str(project): False}))
    assert skipped_files(agent, project).decided is True
    trust.unlink()
    (tmp_path / "settings.json").write_text('{"defaultProjectTrust": "always"}')
    assert skipped_files(agent, project).files == ()


def test_doctor_and_run_say_what_the_agent_skips(clinic: Clinic) -> None:
    (clinic.cli.project / "AGENTS.md").write_text("be kind")
    _, found = clinic()
    assert levels(found["project"]) == ["warn"]
    assert "AGENTS.md" in found["project"][0]["what"]
    done = clinic.cli("run", "--direct", "hello")
    assert "the agent skips AGENTS.md" in done.err
    own = clinic.cli.home / "atomic-flows.toml"
    own.write_text("[agent]\napprove = true\n")
    _, found = clinic()
    assert levels(found["project"]) == ["ok"]
    done = clinic.cli("run", "--direct", "hello")
    assert "the agent skips" not in done.err


def test_texts_of_others_do_not_reach_the_terminal_as_they_are(clinic: Clinic) -> None:
    clinic.install("#!/bin/sh\nprintf 'Error: \\033[2J\\033]0;x\\007 bad\\n' >&2\nexit 1\n")
    done = clinic.cli("doctor")
    assert done.code == 1
    assert "\x1b" not in done.out + done.err
    assert "\x07" not in done.out + done.err


async def test_a_user_without_any_home_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(uid: int) -> None:
        raise KeyError(uid)

    for name in ("HOME", "ATOMIC_FLOWS_HOME", "PI_CODING_AGENT_DIR", "ATOMIC_CODING_AGENT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", nobody)
    found = {finding.about: finding for finding in await examine(Asked(cwd=tmp_path))}
    assert found["settings"].level is Level.FAIL
    assert "ATOMIC_FLOWS_HOME" in (found["settings"].to_do or "")
    assert "agent" in found, "the rest is looked at all the same"


def test_a_budget_that_no_run_could_keep_is_a_finding(clinic: Clinic) -> None:
    settings = '[policy.default]\nmodels = ["nobody/knows"]\nlimits = { cost_usd = 5 }\n'
    (clinic.cli.project / "atomic-flows.toml").write_text(settings)
    _, found = clinic()
    assert levels(found["policy"]) == ["fail"]
    assert "nobody knows the price of nobody/knows" in found["policy"][0]["what"]
    assert '[model."nobody/knows"] price' in found["policy"][0]["to_do"]
    _, found = clinic("--agent", "scripted")
    assert levels(found["policy"]) == ["ok"], "its models have a price, so that budgets can be tried"
