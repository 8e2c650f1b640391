from __future__ import annotations

import json
from pathlib import Path

import pytest

from atomic.agent import Agent
from atomic.session import masker_for


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    headers = {"X-Api-Key": "header-key-777777", "HTTP-Referer": "https://my.example/page"}
    providers = {
        "mine": {
            "apiKey": "written-key-111111",
            "headers": headers,
            "models": [{"id": "m", "apiKey": "of-a-model-2222"}],
        },
        "named": {"apiKey": "$MY_CREDENTIAL_THING", "baseUrl": "https://named.example/v1"},
        "local": {"apiKey": "ollama"},
        "asked": {"apiKey": "!pass show key"},
    }
    stored = {
        "a": {"type": "oauth", "access": "access-token-3333", "refresh": "refresh-token-444", "expires": 5},
        "b": {"type": "api_key", "key": "stored-key-55555"},
        "c": ["odd"],
    }
    (tmp_path / "models.json").write_text(json.dumps({"providers": providers}))
    (tmp_path / "auth.json").write_text(json.dumps(stored))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path))
    monkeypatch.delenv("ATOMIC_CODING_AGENT_DIR", raising=False)
    return Agent(env={"MY_CREDENTIAL_THING": "by-variable-66666", "HF_TOKEN": "hf-of-the-agent"})


@pytest.mark.parametrize(
    "secret",
    [
        *("written-key-111111", "header-key-777777", "of-a-model-2222", "by-variable-66666"),
        *("access-token-3333", "refresh-token-444", "stored-key-55555", "hf-of-the-agent"),
    ],
)
def test_what_the_agents_folder_holds_is_masked(agent: Agent, secret: str) -> None:
    assert secret not in masker_for(agent)(f"401: {secret} is not valid")


@pytest.mark.parametrize(
    "text", ["ollama/llama3 is loading", "type api_key", "https://my.example/page", "pass show key"]
)
def test_what_is_no_secret_stays(agent: Agent, text: str) -> None:
    assert masker_for(agent)(text) == text


def test_a_damaged_folder_hides_what_the_environment_holds(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "models.json").write_text("{")
    (tmp_path / "auth.json").write_bytes(b"\xff\x00")
    assert "hf-of-the-agent" not in masker_for(agent)("hf-of-the-agent")


def test_what_changes_between_two_sessions_is_masked_in_the_second(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "401: renewed-token-8888, of-this-process-99"
    assert masker_for(agent)(said) == said
    (tmp_path / "auth.json").write_text(json.dumps({"a": {"type": "oauth", "access": "renewed-token-8888"}}))
    assert masker_for(agent)(said) == "401: •••, of-this-process-99"
    monkeypatch.setenv("SOME_TOKEN", "of-this-process-99")
    assert masker_for(agent)(said) == "401: •••, •••"
