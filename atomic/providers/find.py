"""How a provider would be reached: where, and with which credential, in the agent's own order.

A credential in the agent's `auth.json`, else the `apiKey` of its `models.json`, else a variable of the environment.
Only the agent's own folder and the environment are asked: no file of a project decides where a key is sent.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from atomic.agent import Agent
from atomic.models.agent_folder import agent_folder, read_agent_providers
from atomic.providers.facts import ANTHROPIC_VERSION, LISTS, PROVIDERS, STYLES, Provider, Style
from atomic.providers.values import Value, read_value
from atomic.regular import read_json

# key: there is one; open: none is needed; no_key: there is none; untold: the agent can have one that is not for us to
# use; stranger: the agent, as far as can be seen from here, knows no such provider.
State = Literal["key", "open", "no_key", "untold", "stranger"]
AUTH_FILE, MODELS_FILE = "auth.json", "models.json"


@dataclass(frozen=True, slots=True)
class Access:
    """How a provider is reached. The key is in ``headers`` and shows in no repr.

    ``url`` is that of its list of models, None where it has none that could be asked; ``source`` is where the
    credential was found: a variable, `models.json` or `auth.json`; ``why`` says what is missing or not known.
    """

    provider: str
    state: State
    url: str | None = field(default=None, repr=False)  # people put passwords there
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    source: str = ""
    why: str = ""
    open_list: bool = False

    @property
    def host(self) -> str | None:
        """The host and port that would be asked."""
        try:
            return None if self.url is None else urlsplit(self.url).netloc.rpartition("@")[2]
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Credentials:
    """What the agent's folder and the environment hold of addresses and credentials. Secret, all of it."""

    providers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    stored: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, agent: Agent) -> Credentials:
        """What this agent would find. Missing or damaged files hold nothing."""
        return cls.within(agent_folder(agent.env, agent.command), {**os.environ, **agent.env})

    @classmethod
    def within(cls, folder: Path, environ: Mapping[str, str]) -> Credentials:
        """What an agent with this folder and environment would find."""
        return cls(read_agent_providers(folder), _stored(folder / AUTH_FILE), environ)

    def names(self) -> list[str]:
        """The providers that a credential, or an entry in models.json, is there for; well-known ones first."""
        known = [name for name, provider in PROVIDERS.items() if self._variable(provider) or name in self.stored]
        return list(dict.fromkeys([*known, *self.providers, *self.stored]))

    def access(self, provider: str) -> Access:
        """How a provider of this name is reached."""
        fact = PROVIDERS.get(provider)
        own = self.providers.get(provider, {})
        if fact is None and not own:
            why = "the agent knows no such provider by itself, and its models.json has none of that name"
            return Access(provider, "stranger", why=why)
        stored = self.stored.get(provider)
        if stored is not None and stored.get("type") != "api_key":
            return Access(provider, "untold", source=AUTH_FILE, why="a login of the agent's (OAuth): not asked")
        if stored is None and fact is not None and "apiKey" not in own:
            login = next((name for name in fact.logins if self.environ.get(name)), None)
            if login is not None:
                return Access(provider, "untold", source=login, why=f"{login} stands for a login: not asked")
        url, style = _address(fact, own)
        if url is None or style is None:
            why = fact.why if fact is not None and fact.why else "its API is none that could be asked for its models"
            return Access(provider, "untold", why=why)
        return self._keyed(provider, fact, own, url, style)

    def _keyed(self, provider: str, fact: Provider | None, own: Mapping[str, Any], url: str, style: Style) -> Access:
        value, source = self._key(provider, fact, own)
        own_headers = self._headers(own)
        if (value is not None and value.command) or own_headers is None:
            why = "its key is what a command prints, and commands are not run here"
            return Access(provider, "untold", url, source=source, why=why)
        open_list = fact is not None and fact.open_list
        if value is None and fact is None:  # the agent wants a key for each of its own; this one has none written
            return Access(provider, "open", url, own_headers, open_list=open_list)
        if value is None or not value.text:
            missing = value.variables if value is not None else fact.variables if fact is not None else ()
            why = f"{' or '.join(missing)} is not set" if missing else "it has no key"
            return Access(provider, "no_key", url, source=source, why=why)
        key = value.text
        if not (key.isascii() and key.isprintable()) or key != key.strip():
            why = "the key holds a blank, a line break or another character that no key has"
            return Access(provider, "no_key", url, source=source, why=why)
        headers = {**_authorization(style, key, bearer=own.get("authHeader") is True), **own_headers}
        return Access(provider, "key", url, headers, source, open_list=open_list)

    def _key(self, provider: str, fact: Provider | None, own: Mapping[str, Any]) -> tuple[Value | None, str]:
        """The key and where it was found; None where nobody mentions one."""
        stored = self.stored.get(provider, {})
        if isinstance(stored.get("key"), str):
            extra = stored.get("env")
            environ = {**self.environ, **extra} if isinstance(extra, dict) else self.environ
            return read_value(stored["key"], environ), AUTH_FILE
        if isinstance(own.get("apiKey"), str):
            value = read_value(own["apiKey"], self.environ)
            return value, value.variables[0] if value.variables else MODELS_FILE
        name = self._variable(fact) if fact is not None else None
        return (None, "") if name is None else (Value(self.environ[name], variables=(name,)), name)

    def _variable(self, fact: Provider) -> str | None:
        return next((name for name in (*fact.logins, *fact.variables) if self.environ.get(name)), None)

    def _headers(self, own: Mapping[str, Any]) -> dict[str, str] | None:
        """Headers of a models.json entry; None where a command decides one."""
        headers = own.get("headers")
        found: dict[str, str] = {}
        for name, written in headers.items() if isinstance(headers, dict) else ():
            value = read_value(written, self.environ) if isinstance(written, str) else Value()
            if value.command:
                return None
            if value.text and value.text.isascii() and value.text.isprintable():
                found[name] = value.text
        return found


def _address(fact: Provider | None, own: Mapping[str, Any]) -> tuple[str | None, Style | None]:
    """The URL of the list of models, and how a key is sent there."""
    given = own.get("baseUrl")
    base = given if isinstance(given, str) else fact.base_url if fact is not None else None
    api = own.get("api")
    if not isinstance(api, str):
        api = fact.api if fact is not None else _api_of_a_model(own)
    if base is None or api not in STYLES:
        return None, None
    path = fact.models_path if fact is not None and fact.models_path and base == fact.base_url else LISTS[api]
    return base.rstrip("/") + path, STYLES[api]


def _api_of_a_model(own: Mapping[str, Any]) -> str:
    models = own.get("models")
    named = [model.get("api") for model in models if isinstance(model, dict)] if isinstance(models, list) else []
    return next((api for api in named if isinstance(api, str)), "")


def _authorization(style: Style, key: str, *, bearer: bool) -> dict[str, str]:
    headers = {"Authorization": f"Bearer {key}"} if bearer or style == "bearer" else {}
    if style == "anthropic":
        headers |= {"anthropic-version": ANTHROPIC_VERSION} | ({} if bearer else {"x-api-key": key})
    if style == "google":
        headers |= {"x-goog-api-key": key}
    return headers


def _stored(file: Path) -> dict[str, Mapping[str, Any]]:
    try:
        data = read_json(file)
    except (OSError, ValueError):
        return {}
    return {name: entry for name, entry in data.items() if isinstance(entry, dict)} if isinstance(data, dict) else {}
