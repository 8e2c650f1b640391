"""Providers over HTTP: which there are, how the agent would reach them, and whether they take its key."""

from __future__ import annotations

from atomic.providers.ask import Answer, Reach, ask_all
from atomic.providers.confirm import key_check
from atomic.providers.facts import PROVIDERS, Provider
from atomic.providers.find import Access, Credentials

__all__ = ["PROVIDERS", "Access", "Answer", "Credentials", "Provider", "Reach", "ask_all", "key_check"]
