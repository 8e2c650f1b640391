"""What no output of a session may show: the secrets that its agent is given, or finds in its own folder."""

from __future__ import annotations

import os

from atomic.agent import Agent
from atomic.models.agent_folder import agent_folder
from atomic.providers import Credentials
from atomic.providers.find import AUTH_FILE, MODELS_FILE
from atomic.providers.secrets import secrets_of
from atomic.text import Masker


def masker_for(agent: Agent) -> Masker:
    """Hides the values of this process's and the agent's variables that are secret by their names, and the keys of the
    agent's `models.json` and `auth.json`. Reads these two files, where they are there."""
    folder = str(agent_folder(agent.env, agent.command))
    there = any(os.path.exists(f"{folder}/{name}") for name in (MODELS_FILE, AUTH_FILE))  # noqa: PTH110 - in no time
    kept = secrets_of(Credentials.of(agent)) if there else ()
    return Masker.of(os.environ, agent.env, secrets=kept)
