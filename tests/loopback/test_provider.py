"""The loopback provider keeps what its users rely on: scopes, keys, counters, its log."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import httpx
import pytest

from tests.loopback.models import NAMES
from tests.loopback.provider import Provider


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as listening:
        yield listening


def ask(provider: Provider, scope: str, model: str, key: str = "any", prompt: str = "hi") -> httpx.Response:
    asked = {"model": model, "stream": True, "messages": [{"role": "user", "content": prompt}]}
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.post(f"{provider.base_url(scope)}/chat/completions", json=asked, headers=headers)


def said(response: httpx.Response) -> str:
    events = [line.removeprefix("data: ") for line in response.text.split("\n") if line.startswith("data: {")]
    choices = [choice for event in events for choice in json.loads(event)["choices"]]
    return "".join(choice["delta"].get("content", "") for choice in choices)


def test_counters_start_anew_in_each_scope(provider: Provider) -> None:
    for scope in ("counters/a", "counters/b"):
        assert [ask(provider, scope, "rl-twice").status_code for _ in range(3)] == [429, 429, 200]


def test_a_required_key_is_required_in_its_scope_alone(provider: Provider) -> None:
    provider.require_key("locked", "right")
    assert ask(provider, "locked", "ok", "wrong").status_code == 401
    assert httpx.get(f"{provider.base_url('locked')}/models").status_code == 401
    assert said(ask(provider, "locked", "ok", "right")) == "Hello from fake model."
    assert ask(provider, "open", "ok", "wrong").status_code == 200


def test_a_limit_for_a_while_says_when_and_passes(provider: Provider) -> None:
    limited = ask(provider, "while", "rl-for-1")
    assert limited.status_code == 429
    time.sleep(float(limited.headers["Retry-After"]))
    assert ask(provider, "while", "rl-for-1").status_code == 200


def test_the_log_holds_each_request_in_order(provider: Provider) -> None:
    ask(provider, "log/one", "ok", prompt="first")
    ask(provider, "log/two", "s500", prompt="second")
    seen = provider.requests("log/")
    assert [(request.scope, request.model, request.last_text) for request in seen] == [
        ("log/one", "ok", "first"),
        ("log/two", "s500", "second"),
    ]
    assert seen[0].roles == ("user",)


def test_models_are_listed_and_others_are_unknown(provider: Provider) -> None:
    listed = httpx.get(f"{provider.base_url('any')}/models").json()["data"]
    assert [model["id"] for model in listed] == list(NAMES)
    assert ask(provider, "any", "nosuch").status_code == 404
    assert httpx.get(f"{provider.base_url('any')}/nosuch").status_code == 404


def test_closing_ends_requests_that_hang() -> None:
    with Provider() as provider:
        url = f"{provider.base_url('any')}/chat/completions"
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(url, json={"model": "hang"}, timeout=httpx.Timeout(5, read=0.2))
