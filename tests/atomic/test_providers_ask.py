"""Asking providers: every reply is an answer, no redirect is followed, and no key comes out again."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atomic.agent import Agent
from atomic.models import ModelRef
from atomic.policy import FallbackPolicy
from atomic.providers import Access, Answer, Reach, ask_all, key_check
from atomic.runner import run
from atomic.settings import Settings
from tests.agents import Place, closing, message, opening, say
from tests.loopback.provider import Provider

KEY = "sk-very-secret-4711"
LIST = {"data": [{"id": "big"}, {"id": "small"}]}


def access(name: str = "some", url: str = "https://some.example/v1/models", **more: Any) -> Access:
    return Access(name, "key", url, {"Authorization": f"Bearer {KEY}"}, "SOME_API_KEY", **more)


async def ask(reply: httpx.Response | Exception, **more: Any) -> Answer:
    """The answer where a provider replies so, or where that is raised."""

    def handle(request: httpx.Request) -> httpx.Response:
        assert request.headers["Authorization"] == f"Bearer {KEY}"
        if isinstance(reply, Exception):
            raise reply
        return reply

    (answer,) = await ask_all([access(**more)], transport=httpx.MockTransport(handle))
    assert KEY not in repr(answer) + str(answer) + answer.model_dump_json()
    return answer


@pytest.mark.parametrize(
    "body",
    [
        LIST,
        [{"id": "big"}, {"id": "small"}],
        {"models": [{"name": "models/big"}, {"name": "models/small"}]},
        {"data": [{"id": "big"}, {"id": "small"}, {"id": 5}, "odd"], "has_more": False},
    ],
)
async def test_every_form_of_a_list_is_read(body: Any) -> None:
    answer = await ask(httpx.Response(200, json=body))
    assert (answer.reach, answer.models) == (Reach.REACHABLE, frozenset({"big", "small"}))
    assert (answer.lists("big"), answer.lists("other")) == (True, False)
    assert answer.seconds is not None
    assert answer.source == "SOME_API_KEY"


@pytest.mark.parametrize("more", [{"has_more": True}, {"nextPageToken": "x"}])
async def test_a_page_of_a_list_says_nothing_of_the_models_that_are_not_on_it(more: dict[str, Any]) -> None:
    answer = await ask(httpx.Response(200, json={**LIST, **more}))
    assert (answer.reach, answer.lists("big")) == (Reach.REACHABLE, None)


GOOGLE = {"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID"}}
XAI = {"code": "Client specified an invalid argument", "error": "Incorrect API key provided: xa***11."}


@pytest.mark.parametrize(
    ("status", "body", "reach"),
    [
        (401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}, Reach.KEY_REFUSED),
        (401, None, Reach.KEY_REFUSED),
        (400, GOOGLE, Reach.KEY_REFUSED),
        (400, XAI, Reach.KEY_REFUSED),
        (400, {"error": {"message": "page size out of range"}}, Reach.UNKNOWN),
        (403, {"error": {"message": "You have insufficient permissions: api.model.read"}}, Reach.UNKNOWN),
        (404, {"detail": "Not Found"}, Reach.UNKNOWN),
        (429, {"error": {"message": "Rate limit reached"}}, Reach.UNKNOWN),
        (500, None, Reach.UNKNOWN),
        (204, None, Reach.UNKNOWN),
        (200, {"hello": "world"}, Reach.UNKNOWN),
        (200, None, Reach.UNKNOWN),
    ],
)
async def test_only_a_refused_key_counts_as_refused(status: int, body: Any, reach: Reach) -> None:
    answer = await ask(httpx.Response(status, json=body) if body is not None else httpx.Response(status))
    assert answer.reach is reach
    assert answer.said


async def test_a_page_of_a_proxy_is_no_list() -> None:
    answer = await ask(httpx.Response(200, text="<html>Please log in</html>"))
    assert answer.reach is Reach.UNKNOWN
    assert "proxy" in answer.said


async def test_a_list_that_is_open_proves_no_key() -> None:
    answer = await ask(httpx.Response(200, json=LIST), open_list=True)
    assert answer.reach is Reach.REACHABLE
    assert "not known" in answer.said


async def test_a_key_is_not_sent_after_a_redirect() -> None:
    asked = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.host)
        return httpx.Response(302, headers={"Location": "https://evil.example/v1/models"})

    (answer,) = await ask_all([access()], transport=httpx.MockTransport(handle))
    assert asked == ["some.example"]
    assert answer.reach is Reach.UNKNOWN


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError("Name or service not known"),
        httpx.ConnectTimeout("late"),
        httpx.ReadTimeout("late"),
        httpx.RemoteProtocolError("closed"),
        httpx.LocalProtocolError(f"Illegal header value b'Bearer {KEY}'"),
        OSError(5, f"odd {KEY}"),
    ],
)
async def test_a_network_that_is_down_is_an_answer(error: Exception) -> None:
    answer = await ask(error)
    assert (answer.reach, answer.seconds) == (Reach.UNREACHABLE, None)
    assert answer.said


async def test_one_provider_that_hangs_holds_no_other_up() -> None:
    async def handle(request: httpx.Request) -> httpx.Response:
        if request.url.host == "hangs.example":
            await asyncio.Event().wait()
        return httpx.Response(200, json=LIST)

    both = [access("hangs", "https://hangs.example/models"), access("well")]
    answers = await ask_all(both, transport=httpx.MockTransport(handle), limit=0.05)
    assert [answer.reach for answer in answers] == [Reach.UNREACHABLE, Reach.REACHABLE]


async def test_who_has_no_key_is_not_asked() -> None:
    def handle(request: httpx.Request) -> httpx.Response:
        raise AssertionError("asked")

    silent = [Access("a", "no_key", "https://a.example/", why="A_KEY is not set"), Access("b", "untold", why="a login")]
    answers = await ask_all(silent, transport=httpx.MockTransport(handle))
    assert [(answer.reach, answer.said) for answer in answers] == [
        (Reach.NO_KEY, "A_KEY is not set"),
        (Reach.UNKNOWN, "a login"),
    ]


@given(st.binary(max_size=200), st.sampled_from([200, 400, 401, 500]))
def test_no_body_is_too_odd(body: bytes, status: int) -> None:
    answer = asyncio.run(ask(httpx.Response(status, content=body)))
    assert answer.reach in Reach


async def test_a_reply_without_end_is_cut_off() -> None:
    async def endless() -> Any:
        while True:
            yield b" " * 1_000_000

    answer = await ask(httpx.Response(200, content=endless()))
    assert answer.reach is Reach.UNKNOWN


@pytest.mark.parametrize("url", ["http://[/models", "nothing/models", "ftp://x/models", "http:///models"])
async def test_an_address_that_is_none_is_an_answer(url: str) -> None:
    (answer,) = await ask_all([access(url=url)])
    assert answer.reach in (Reach.UNKNOWN, Reach.UNREACHABLE)


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as listening:
        listening.require_key("locked", KEY)
        yield listening


def agent(folder: Any, **base: str) -> Agent:
    tables = {name: {"baseUrl": url, "api": "openai-completions", "apiKey": "$K"} for name, url in base.items()}
    (folder / "models.json").write_text(json.dumps({"providers": tables}))
    return Agent(env={"PI_CODING_AGENT_DIR": str(folder), "ATOMIC_CODING_AGENT_DIR": str(folder), "K": "wrong-key"})


async def test_a_key_is_bad_when_the_provider_itself_says_so(tmp_path: Any, provider: Provider) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        gone = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        known = agent(tmp_path, locked=provider.base_url("locked"), open=provider.base_url("open"), gone=gone)
        is_bad = key_check(known)
        found = {name: await is_bad(ModelRef(name, "ok")) for name in ("locked", "open", "gone", "nobody")}
    assert found == {"locked": True, "open": False, "gone": False, "nobody": False}


async def test_a_proxy_of_the_environment_is_not_given_what_is_for_this_machine(
    tmp_path: Any, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    is_bad = key_check(agent(tmp_path, locked=provider.base_url("locked")))
    assert await is_bad(ModelRef("locked", "ok"))


async def test_proxy_settings_that_cannot_be_used_are_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "nonsense://proxy")
    (answer,) = await ask_all([access()])
    assert answer.reach is Reach.UNREACHABLE
    assert "proxy" in answer.said


async def test_the_scripted_agent_asks_nobody_whatever_its_models_are_called(tmp_path: Any, provider: Provider) -> None:
    known = agent(tmp_path, locked=provider.base_url("locked"))
    scripted = Agent(command=Agent.parse("scripted").command, env=known.env)
    assert not await key_check(scripted)(ModelRef("locked", "auth"))


@pytest.mark.parametrize(("scope", "asked"), [("locked", ["a"]), ("open", ["a", "b"])])
async def test_a_run_spends_no_other_session_on_a_key_that_the_provider_refuses(
    tmp_path: Any, provider: Provider, scope: str, asked: list[str]
) -> None:
    refused = message("", stop="error")
    refused["message"]["errorMessage"] = "401 Incorrect API key provided"
    place = Place(tmp_path / "place")
    env = agent(tmp_path, some=provider.base_url(scope)).env
    result = await run(
        "hello",
        policy=FallbackPolicy(models=["some/a", "some/b"], max_wait=0, on={"auth": "next"}),
        agent=place.agent(say(*opening(), refused, *closing()), env=env),
        cwd=place.work,
        settings=Settings(home=tmp_path / "home"),
        store=place.store,
        check=False,
    )
    assert [attempt.kind for attempt in result.attempts] == ["auth"] * len(asked)
    assert [attempt.model for attempt in result.attempts] == [f"some/{name}" for name in asked]
