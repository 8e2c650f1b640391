"""Events about the session itself: queue, name, model, thinking level, entries of its file."""

from __future__ import annotations

from typing import Any, Literal

from atomic.events.base import Event, Text, Wire


class QueueUpdate(Event):
    """Messages that wait to be sent."""

    type: Literal["queue_update"]
    steering: list[Any] | None = None
    follow_up: list[Any] | None = None


class SessionInfoChanged(Event):
    """The session has another name."""

    type: Literal["session_info_changed"]
    name: Text | None = None


class Model(Wire):
    """A model as the agent knows it."""

    id: Text
    provider: Text | None = None
    name: Text | None = None
    api: Text | None = None
    context_window: int | None = None
    max_tokens: int | None = None


class ModelChanged(Event):
    """Another model from now on. ``source``: set, cycle, restore or fallback."""

    type: Literal["model_changed"]
    model: Model | Text
    previous_model: Model | Text | None = None
    source: Text | None = None


class ThinkingLevelChanged(Event):
    """Another level of thinking from now on."""

    type: Literal["thinking_level_changed"]
    level: Text | None = None


class EntryAppended(Event):
    """The agent's session file has another entry."""

    type: Literal["entry_appended"]
    entry: dict[str, Any] | None = None
