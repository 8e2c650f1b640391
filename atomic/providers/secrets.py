"""The secrets that an agent's folder holds, or that its entries stand for: what must be shown nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from atomic.providers.find import Credentials
from atomic.providers.values import read_value
from atomic.text import is_secret_name

_STORED = frozenset({"key", "access", "refresh", "token"})  # of an entry in auth.json
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie|password", re.IGNORECASE)
# Local servers want any key at all, and get "ollama" or "lm-studio": names that stand in every message about them.
_SHORTEST = 12


def secrets_of(credentials: Credentials) -> tuple[str, ...]:
    """Keys and tokens in `models.json` and `auth.json`, whether written there or in a variable that they name."""
    found = (*_of_entries(credentials.stored), *_of_providers(credentials.providers))
    values = (read_value(written, credentials.environ).text for written in found)
    return tuple(value for value in values if value and len(value) >= _SHORTEST and not value.isalpha())


def _of_entries(entries: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for entry in entries.values():
        yield from (value for name, value in _texts(entry) if name in _STORED or is_secret_name(name))
        yield from (value for name, value in _texts(entry.get("env")) if is_secret_name(name))


def _of_providers(providers: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for provider in providers.values():
        declared = provider.get("models")
        for table in (provider, *(declared if isinstance(declared, list) else ())):
            yield from (value for name, value in _texts(table) if name == "apiKey")
            headers = table.get("headers") if isinstance(table, Mapping) else None
            yield from (value for name, value in _texts(headers) if _SECRET_HEADER.search(name))


def _texts(table: Any) -> Iterator[tuple[str, str]]:
    for name, value in table.items() if isinstance(table, Mapping) else ():
        if isinstance(value, str):
            yield name, value
