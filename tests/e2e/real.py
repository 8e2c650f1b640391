"""A real agent, set up for one test: its own home, its own configuration, its own scope of the provider."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomic.agent import Agent
from atomic.policy import FallbackPolicy
from atomic.record import AttemptRecord, RunStore
from atomic.runner import OnEvent, RunResult, run
from atomic.settings import Settings, WorkspaceMode
from tests.e2e.releases import Release, install
from tests.loopback.models import NAMES
from tests.loopback.provider import Provider, Seen

AGENT_FOLDER = "PI_CODING_AGENT_DIR"
PROVIDERS = ("fake", "other")
KEY = "loopback-key"
WINDOW, LONGEST_ANSWER = 1_000_000, 4096  # tokens; a prompt of 1 MiB fits
COMPAT = {"supportsDeveloperRole": False, "supportsReasoningEffort": False}
# The agent's own retries are wanted, but short; those of its HTTP client, hidden and seconds long, are not.
RETRY = {"enabled": True, "maxRetries": 2, "baseDelayMs": 50, "provider": {"maxRetries": 0}}


@dataclass(frozen=True, slots=True)
class CommandLine:
    """`atomic-flows`, as a person at a terminal of their own has it."""

    program: Path
    agent: str
    environment: Mapping[str, str]
    work: Path

    def start(self, command: str, *arguments: str, stdin: bytes = b"") -> subprocess.Popen[bytes]:
        """Start a command; its output can be read from the process."""
        process = subprocess.Popen(
            [self.program, command, *arguments],
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(stdin)
        process.stdin.close()
        process.stdin = None
        return process

    def run(self, prompt: str, *models: str, more: tuple[str, ...] = (), stdin: bytes = b"") -> subprocess.Popen[bytes]:
        """Start `run --direct --json` with this agent and these models."""
        named = [part for model in models for part in ("-m", model)]
        return self.start("run", "--direct", "--json", "--agent", self.agent, *named, *more, "--", prompt, stdin=stdin)


@dataclass(frozen=True, slots=True)
class RealAgent:
    """What a test needs to know of the agent it runs."""

    release: Release
    agent: Agent
    provider: Provider
    scope: str
    work: Path  # the folder in which the agent works
    store: RunStore

    async def ask(
        self,
        prompt: str | bytes,
        *models: str,
        agent: Agent | None = None,
        on_event: OnEvent | None = None,
        check: bool = True,
        workspace: WorkspaceMode = "shared",
        **policy: Any,
    ) -> RunResult:
        """A run of this agent, with these models in order; `policy` holds what differs from the defaults."""
        return await run(
            prompt,
            policy=FallbackPolicy(models=models, **policy),
            agent=agent or self.agent,
            cwd=self.work,
            settings=Settings(home=self.store.home),
            store=self.store,
            on_event=on_event,
            check=check,
            workspace=workspace,
        )

    @property
    def command_line(self) -> CommandLine:
        """The command line, with this agent and the same store."""
        program = Path(sys.executable).with_name("atomic-flows")
        environment = {**os.environ, **self.agent.env, "ATOMIC_FLOWS_HOME": str(self.store.home)}
        return CommandLine(program, shlex.join(self.agent.command), environment, self.work)

    def attempt(self, result: RunResult, n: int) -> AttemptRecord:
        """What the record says of attempt n."""
        return self.store.open(result.run_id).attempt(n).read()

    def requests(self, model: str | None = None) -> list[Seen]:
        """The requests that reached the provider, of one `provider/id` or all, in order."""
        if model is None:
            return self.provider.requests(f"{self.scope}/")
        name, _, identity = model.partition("/")
        return [seen for seen in self.provider.requests(f"{self.scope}/{name}") if seen.model == identity]


def set_up(release: Release, provider: Provider, root: Path) -> RealAgent:
    """Lay out a home, an agent folder and a work folder below `root`."""
    home, folder, work, state = (root / name for name in ("home", "agent", "work", "state"))
    for path in (home, folder, work):
        path.mkdir()
    scope = root.name
    models = [{"id": name, "contextWindow": WINDOW, "maxTokens": LONGEST_ANSWER} for name in NAMES]
    providers = {
        name: {
            "baseUrl": provider.base_url(f"{scope}/{name}"),
            "api": "openai-completions",
            "apiKey": KEY,
            "compat": COMPAT,
            "models": models,
        }
        for name in PROVIDERS
    }
    for name in PROVIDERS:
        provider.require_key(f"{scope}/{name}", KEY)
    (folder / "models.json").write_text(json.dumps({"providers": providers}))
    (folder / "settings.json").write_text(json.dumps({"retry": RETRY}))
    # Keys of the person who runs the tests must not reach the agent: no test may spend anything.
    blank = {name: "" for name in os.environ if name.endswith(("_API_KEY", "_OAUTH_TOKEN", "_AUTH_TOKEN"))}
    env = {**blank, "HOME": str(home), AGENT_FOLDER: str(folder), "PI_OFFLINE": "1"}
    store = RunStore(state / "records", home=state)
    return RealAgent(release, Agent(command=install(release), env=env), provider, scope, work, store)
