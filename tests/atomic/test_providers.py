"""Where a provider is and which key the agent would use: the agent's own order, and nothing of a key in sight."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atomic.agent import Agent
from atomic.providers import PROVIDERS, Credentials
from atomic.providers.values import read_value

KEY = "sk-very-secret-4711"
OWN = {"baseUrl": "http://127.0.0.1:1/v1", "api": "openai-completions", "models": [{"id": "m"}]}


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for fact in PROVIDERS.values():
        for name in (*fact.variables, *fact.logins):
            monkeypatch.delenv(name, raising=False)


def credentials(
    folder: Path, *, models: dict[str, Any] | None = None, auth: dict[str, Any] | None = None, **env: str
) -> Credentials:
    if models is not None:
        (folder / "models.json").write_text(json.dumps({"providers": models}))
    if auth is not None:
        (folder / "auth.json").write_text(json.dumps(auth))
    return Credentials.of(
        Agent(env={**env, "PI_CODING_AGENT_DIR": str(folder), "ATOMIC_CODING_AGENT_DIR": str(folder)})
    )


@pytest.mark.parametrize(
    ("written", "comes_to"),
    [
        ("sk-literal", "sk-literal"),
        ("$SET", "value"),
        ("${SET}", "value"),
        ("Bearer ${SET}!", "Bearer value!"),
        ("SET", "value"),  # pi before 1.0: the name of a variable
        ("$$SET", "$SET"),
        ("$!SET", "!SET"),
        ("price: $", "price: $"),
        ("lower", "lower"),
        ("$MISSING", None),
        ("a$SET$MISSING", None),
        ("MY_API_KEY", None),  # a variable that is not set, not a key
        ("!cat /etc/passwd", None),
    ],
)
def test_values_are_read_as_the_agent_reads_them(written: str, comes_to: str | None) -> None:
    assert read_value(written, {"SET": "value", "lower": "other"}).text == comes_to


@given(st.text())
def test_no_value_is_too_odd_to_be_read(written: str) -> None:
    read_value(written, {"A": "b"})


def test_a_command_is_never_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    own = {**OWN, "apiKey": f"!touch '{mark}'"}
    access = credentials(tmp_path, models={"mine": own}).access("mine")
    assert access.state == "untold"
    assert "command" in access.why
    other = {**OWN, "apiKey": "k", "headers": {"X-Team": f"!touch '{mark}'"}}
    assert credentials(tmp_path, models={"mine": other}).access("mine").state == "untold"
    assert not mark.exists()


def test_a_stored_key_goes_before_models_json_and_that_before_the_environment(tmp_path: Path) -> None:
    stored = {"openai": {"type": "api_key", "key": "stored-key"}}
    declared = {"openai": {"apiKey": "declared-key"}}
    sources = []
    for models, auth in ((declared, stored), (declared, {}), ({}, {})):
        access = credentials(tmp_path, models=models, auth=auth, OPENAI_API_KEY="variable-key").access("openai")
        sources.append((access.source, access.headers["Authorization"]))
    assert sources == [
        ("auth.json", "Bearer stored-key"),
        ("models.json", "Bearer declared-key"),
        ("OPENAI_API_KEY", "Bearer variable-key"),
    ]


def test_each_api_gets_the_key_where_it_looks_for_it(tmp_path: Path) -> None:
    found = credentials(tmp_path, ANTHROPIC_API_KEY=KEY, OPENAI_API_KEY=KEY, GEMINI_API_KEY=KEY, MISTRAL_API_KEY=KEY)
    assert found.names() == ["anthropic", "openai", "google", "mistral"]
    assert found.access("anthropic").headers["x-api-key"] == KEY
    assert found.access("google").headers["x-goog-api-key"] == KEY
    assert KEY not in (found.access("google").url or "")
    urls = [found.access(name).url or "" for name in found.names()]
    assert [url.partition("?")[0] for url in urls] == [
        "https://api.anthropic.com/v1/models",
        "https://api.openai.com/v1/models",
        "https://generativelanguage.googleapis.com/v1beta/models",
        "https://api.mistral.ai/v1/models",
    ]


def test_a_proxy_in_models_json_is_asked_in_the_provider_s_place(tmp_path: Path) -> None:
    proxy = {"openai": {"baseUrl": "https://me:hidden@proxy.example/v1/"}}
    access = credentials(tmp_path, models=proxy, OPENAI_API_KEY=KEY).access("openai")
    assert access.host == "proxy.example"
    assert access.url == "https://me:hidden@proxy.example/v1/models"
    assert "hidden" not in repr(access)


def test_a_login_is_not_asked_with(tmp_path: Path) -> None:
    login = {"type": "oauth", "access": KEY, "refresh": KEY, "expires": 1}
    access = credentials(tmp_path, auth={"anthropic": login}, ANTHROPIC_API_KEY="k").access("anthropic")
    assert (access.state, access.source) == ("untold", "auth.json")
    assert "OAuth" in access.why
    access = credentials(tmp_path, auth={}, ANTHROPIC_OAUTH_TOKEN=KEY, ANTHROPIC_API_KEY="k").access("anthropic")
    assert (access.state, access.source) == ("untold", "ANTHROPIC_OAUTH_TOKEN")


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    found = credentials(tmp_path, models={"mine": {**OWN, "apiKey": "$MINE"}, "free": OWN})
    assert (found.access("openai").state, found.access("openai").why) == ("no_key", "OPENAI_API_KEY is not set")
    assert (found.access("mine").state, found.access("mine").why) == ("no_key", "MINE is not set")
    assert found.access("free").state == "open"
    assert found.access("nobody").state == "stranger"
    assert "cloud account" in found.access("amazon-bedrock").why


@pytest.mark.parametrize("key", [f"{KEY}\n", f" {KEY}", f"{KEY}é", f"{KEY}\x00", f"a\nX-Other: {KEY}"])
def test_a_key_that_is_none_is_not_sent(tmp_path: Path, key: str) -> None:
    access = credentials(tmp_path, auth={"openai": {"type": "api_key", "key": key}}).access("openai")
    assert (access.state, dict(access.headers)) == ("no_key", {})
    assert "line break" in access.why


def test_no_key_shows_anywhere(tmp_path: Path) -> None:
    own = {**OWN, "apiKey": KEY, "headers": {"X-Team": KEY}}
    stored = {"openai": {"type": "api_key", "key": KEY}}
    found = credentials(tmp_path, models={"mine": own}, auth=stored, GROQ_API_KEY=KEY)
    accesses = [found.access(name) for name in ("mine", "openai", "groq")]
    assert all(access.state == "key" for access in accesses)
    assert KEY not in repr(found) + repr(accesses) + str(accesses)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"openai": 1}', '{"openai": {"type": "api_key", "key": 5}}'])
def test_damaged_files_of_the_agent_break_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "auth.json").write_text(text)
    (tmp_path / "models.json").write_text(text)
    assert credentials(tmp_path).access("openai").state == "no_key"


@pytest.mark.parametrize("base", ["", "http://[", "no address", 5, None, "ftp://x/v1"])
def test_an_address_that_is_none_breaks_nothing(tmp_path: Path, base: object) -> None:
    access = credentials(tmp_path, models={"mine": {**OWN, "baseUrl": base, "apiKey": "k"}}).access("mine")
    assert access.host is None or isinstance(access.host, str)
