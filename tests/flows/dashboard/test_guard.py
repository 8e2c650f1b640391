"""Who may ask the dashboard for what."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.dashboard.guard import (
    COOKIE,
    LOGIN,
    Decision,
    Rules,
    Visit,
    cookie_value,
    decide,
    host_name,
    is_loopback,
    rules_for,
)

TOKEN = "a token that nobody guesses"
HERE = rules_for("127.0.0.1", (), None)
GUARDED = rules_for("127.0.0.1", (), TOKEN)
text = st.text(max_size=30)
maybe = st.none() | text


def get(path: str = "/", host: str | None = "127.0.0.1:4280", **more: str | None) -> Visit:
    return Visit("http", "GET", path, host, **more)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:4280", "[::1]:80", "localhost."])
def test_names_of_this_machine_are_ours(host: str) -> None:
    assert decide(get(host=host), HERE) is Decision.ALLOW


@pytest.mark.parametrize(
    "host",
    [None, "", "evil.example", "localhost.evil.example:4280", "127.0.0.1.nip.io", "127.0.0.1@evil", "[::1", "10.0.0.1",
     "localhost:80:80", "localhost:", "[::1]x:1", "localhost:٣"],
)  # fmt: skip
def test_other_names_are_refused(host: str | None) -> None:
    expected = Decision.ALLOW if host == "localhost:" else Decision.HOST
    assert decide(get(host=host), HERE) is expected


def test_bound_to_all_addresses_any_address_in_figures_is_ours_and_no_unknown_name() -> None:
    rules = rules_for("0.0.0.0", ["flows.example.org"], TOKEN)
    bearer = {"bearer": TOKEN}
    assert decide(get(host="192.168.1.7:4280", **bearer), rules) is Decision.ALLOW
    assert decide(get(host="Flows.example.org", **bearer), rules) is Decision.ALLOW
    assert decide(get(host="evil.example", **bearer), rules) is Decision.HOST


@given(host=maybe, origin=maybe, path=text, method=st.sampled_from(["GET", "POST", "DELETE", "HEAD"]), bearer=maybe)
def test_nothing_passes_on_a_name_that_is_not_ours(
    host: str | None, origin: str | None, path: str, method: str, bearer: str | None
) -> None:
    decision = decide(Visit("http", method, path, host, origin=origin, bearer=bearer), HERE)
    if host_name(host or "") not in HERE.hosts:
        assert decision is Decision.HOST


@given(origin=maybe, bearer=maybe, cookie=maybe)
def test_websocket_is_for_our_own_pages_only(origin: str | None, bearer: str | None, cookie: str | None) -> None:
    visit = Visit("websocket", "GET", "/_nicegui_ws/socket.io/", "localhost:1", origin, None, bearer, cookie)
    if origin not in {"http://localhost:1", "https://localhost:1"}:
        assert decide(visit, GUARDED) is Decision.ORIGIN


@pytest.mark.parametrize(
    "origin", ["http://localhost:2", "http://localhost", "null", "", "file://", "http://localhost:1.evil", None]
)
def test_websocket_from_another_origin_is_refused(origin: str | None) -> None:
    assert decide(Visit("websocket", "GET", "/x", "localhost:1", origin), HERE) is Decision.ORIGIN


def test_socket_is_not_to_be_had_by_plain_requests() -> None:
    assert decide(get("/_nicegui_ws/socket.io/"), HERE) is Decision.ORIGIN


@given(bearer=maybe, cookie=maybe, path=text, method=st.sampled_from(["GET", "HEAD"]))
def test_without_the_token_nothing_is_shown(bearer: str | None, cookie: str | None, path: str, method: str) -> None:
    visit = Visit("http", method, f"/runs{path}", "localhost", bearer=bearer, cookie=cookie)
    assert decide(visit, GUARDED) is Decision.LOGIN


def test_token_by_header_or_by_the_cookie_of_the_form() -> None:
    assert decide(get(bearer=TOKEN), GUARDED) is Decision.ALLOW
    assert decide(get(cookie=cookie_value(TOKEN)), GUARDED) is Decision.ALLOW
    assert decide(get(cookie=TOKEN), GUARDED) is Decision.LOGIN
    assert decide(get(cookie=cookie_value("another token")), GUARDED) is Decision.LOGIN
    assert decide(get(LOGIN), GUARDED) is Decision.ALLOW


@pytest.mark.parametrize(
    ("origin", "site", "expected"),
    [
        ("http://localhost:1", "same-origin", Decision.ALLOW),
        ("http://evil.example", "cross-site", Decision.ORIGIN),
        (None, "cross-site", Decision.ORIGIN),
        (None, "same-site", Decision.ORIGIN),
        (None, None, Decision.ALLOW),  # no browser: a form that a person sends by hand
    ],
)
def test_what_changes_something_comes_from_our_pages(origin: str | None, site: str | None, expected: Decision) -> None:
    assert decide(Visit("http", "POST", LOGIN, "localhost:1", origin, site), HERE) is expected


@given(
    st.lists(st.tuples(st.binary(max_size=12), st.binary(max_size=30)), max_size=6),
    st.sampled_from(["http", "websocket"]),
)
def test_any_head_is_decided(headers: list[tuple[bytes, bytes]], kind: Literal["http", "websocket"]) -> None:
    assert decide(Visit.of(kind, "GET", "/runs", headers), GUARDED) in {Decision.HOST, Decision.ORIGIN}


def test_head_is_read_as_it_is_sent() -> None:
    head = [(b"host", b"localhost:1"), (b"Cookie", f"a=b; {COOKIE}={cookie_value(TOKEN)}".encode())]
    assert decide(Visit.of("http", "GET", "/", head), GUARDED) is Decision.ALLOW
    assert decide(Visit.of("http", "GET", "/", [*head, (b"host", b"localhost:1")]), GUARDED) is Decision.HOST
    bearer = [(b"host", b"localhost:1"), (b"authorization", f"Bearer {TOKEN}".encode())]
    assert decide(Visit.of("http", "GET", "/", bearer), GUARDED) is Decision.ALLOW


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.9.9.9"])
def test_what_is_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.org"])
def test_what_is_not_this_machine(host: str) -> None:
    assert not is_loopback(host)


def test_rules_know_the_host_that_was_asked_for() -> None:
    assert rules_for("flows.Example.org", (), TOKEN) == Rules(
        frozenset({"localhost", "127.0.0.1", "::1", "flows.example.org"}), token=TOKEN
    )
