"""Who may ask for what: the decision about one request, made from its head before anything else sees it.

A page of the web that a user has open in another tab can send requests to this machine, and a name of its own can be
made to lead here (DNS rebinding). So the Host must be one of ours, a websocket must come from our own pages, and
nothing that changes anything is taken from elsewhere. With a token, each request must carry it, or the cookie that the
login form set.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from http.cookies import CookieError, SimpleCookie
from typing import Literal

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
COOKIE = "atomic-flows-dashboard"
LOGIN = "/login"
STATIC = "/static/"  # style sheet and script of our own: the login page needs them
SOCKET = "/_nicegui_ws/"
SHORTEST_TOKEN = 16  # characters: what can be guessed is no token
_SAFE = frozenset({"GET", "HEAD"})


class Decision(StrEnum):
    """What becomes of a request."""

    ALLOW = "allow"
    LOGIN = "login"  # it lacks the token
    HOST = "host"  # it was sent to a name that is not ours
    ORIGIN = "origin"  # it comes from a page that is not ours


@dataclass(frozen=True, slots=True)
class Rules:
    """``hosts`` are the names that lead here, in lower case, without ports. ``any_address`` also takes every address
    that is written in figures: no name was looked up for it, and so none can have been bent."""

    hosts: frozenset[str]
    any_address: bool = False
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """The head of a request. ``site`` is Sec-Fetch-Site."""

    kind: Literal["http", "websocket"]
    method: str
    path: str
    host: str | None = None
    origin: str | None = None
    site: str | None = None
    bearer: str | None = None
    cookie: str | None = None

    @classmethod
    def of(
        cls, kind: Literal["http", "websocket"], method: str, path: str, headers: Iterable[tuple[bytes, bytes]]
    ) -> Visit:
        """The visit that an ASGI scope describes. A header that is there twice counts as none."""
        found: dict[str, str | None] = {}
        for name, value in headers:
            key = name.decode("latin-1").lower()
            found[key] = None if key in found and key != "cookie" else value.decode("latin-1")
        scheme, _, bearer = (found.get("authorization") or "").partition(" ")
        return cls(
            kind=kind,
            method=method,
            path=path,
            host=found.get("host"),
            origin=found.get("origin"),
            site=found.get("sec-fetch-site"),
            bearer=bearer.strip() if scheme.lower() == "bearer" else None,
            cookie=_cookie(found.get("cookie") or ""),
        )


def decide(visit: Visit, rules: Rules) -> Decision:
    """The one place where it is decided. Pure."""
    if not is_our_host(visit.host, rules):
        return Decision.HOST
    if not _from_us(visit):
        return Decision.ORIGIN
    if rules.token is None or visit.path == LOGIN or visit.path.startswith(STATIC):
        return Decision.ALLOW
    known = fits(visit.bearer, rules.token) or fits(visit.cookie, cookie_value(rules.token))
    return Decision.ALLOW if known else Decision.LOGIN


def is_our_host(host: str | None, rules: Rules) -> bool:
    """Whether a Host header names us. Its port is not looked at: a tunnel has another one."""
    name = host_name(host or "")
    if name is None:
        return False
    return name in rules.hosts or (rules.any_address and _is_address(name))


def host_name(host: str) -> str | None:
    """The name in ``name``, ``name:port`` or ``[address]:port``, in lower case; None for what is none of them."""
    if host.startswith("["):
        name, bracket, rest = host[1:].partition("]")
        port = rest.removeprefix(":")
        if not bracket or (rest and not rest.startswith(":")):
            return None
    else:
        name, _, port = host.partition(":")
    if not name or (port and not (port.isascii() and port.isdigit())):
        return None
    return name.lower().removesuffix(".")


def fits(given: str | None, expected: str) -> bool:
    """Whether a secret is the expected one, in a time that says nothing about where they differ."""
    if given is None:
        return False
    return hmac.compare_digest(_digest(given), _digest(expected))


def cookie_value(token: str) -> str:
    """What the cookie holds: it proves that the token was known, and does not give it away."""
    return hmac.new(token.encode(), COOKIE.encode(), hashlib.sha256).hexdigest()


def rules_for(host: str, names: Iterable[str], token: str | None) -> Rules:
    """The rules of a server that listens on ``host``; ``names`` are further ones that lead to it."""
    everywhere = host in {"0.0.0.0", "::"}  # noqa: S104 - what is asked, not what is done
    ours = {name.lower() for name in (*names, *(() if everywhere else (host,)))}
    return Rules(frozenset(LOOPBACK_NAMES | ours), any_address=everywhere, token=token)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens there."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


REASONS: Mapping[Decision, tuple[int, str]] = {
    Decision.HOST: (421, "This address is not one of the dashboard's. It answers to the names it was started with."),
    Decision.ORIGIN: (403, "The dashboard takes this from its own pages only."),
    Decision.LOGIN: (401, "The dashboard asks for its token: Authorization: Bearer …, or the form at /login."),
}


def _from_us(visit: Visit) -> bool:
    if visit.kind == "websocket":
        return _is_own_origin(visit)
    if visit.path.startswith(SOCKET):
        return False  # pages talk by websocket only; the library would answer any origin here
    if visit.method in _SAFE:
        return True
    return _is_own_origin(visit) if visit.origin is not None else visit.site in {None, "same-origin", "none"}


def _is_own_origin(visit: Visit) -> bool:
    scheme, separator, rest = (visit.origin or "").partition("://")
    return bool(separator) and scheme in {"http", "https"} and rest.lower() == (visit.host or "").lower()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _cookie(header: str) -> str | None:
    try:
        morsel = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return None
    return morsel.value if morsel is not None else None


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()
