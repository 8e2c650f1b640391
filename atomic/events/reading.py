"""JSON objects and files → events."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from atomic.events import lifecycle, recovery, session
from atomic.events.base import Event, UnknownEvent, parse
from atomic.framing import read_records

EVENTS: tuple[type[Event], ...] = (
    session.QueueUpdate,
    session.SessionInfoChanged,
    session.ModelChanged,
    session.ThinkingLevelChanged,
    session.EntryAppended,
    lifecycle.SessionHeader,
    lifecycle.AgentStart,
    lifecycle.AgentEnd,
    lifecycle.AgentSettled,
    lifecycle.AgentContinueError,
    lifecycle.TurnStart,
    lifecycle.TurnEnd,
    lifecycle.MessageStart,
    lifecycle.MessageUpdate,
    lifecycle.MessageEnd,
    lifecycle.ToolExecutionStart,
    lifecycle.ToolExecutionUpdate,
    lifecycle.ToolExecutionEnd,
    lifecycle.BashExecutionUpdate,
    recovery.CompactionStart,
    recovery.CompactionEnd,
    recovery.AutoRetryStart,
    recovery.AutoRetryEnd,
    recovery.SummarizationRetryScheduled,
    recovery.SummarizationRetryAttemptStart,
    recovery.SummarizationRetryFinished,
    recovery.ModelFallbackStart,
    recovery.ModelFallbackEnd,
)


# Their `type` fields are literals of one value.
_BY_TYPE = {get_args(model.model_fields["type"].annotation)[0]: model for model in EVENTS}


def parse_event(data: dict[str, Any]) -> Event:
    """The event in a record's data. Never raises: what is unknown or odd is an UnknownEvent that holds all of it."""
    name = data.get("type")
    if not isinstance(name, str):
        return UnknownEvent(data=data)
    if (model := _BY_TYPE.get(name)) is None:
        return UnknownEvent(type=name, data=data)
    return parse(model, data)


def read_events(path: Path | str) -> Iterator[Event]:
    """Every event of a stream, live, finished or compressed, nothing passed over; noise is left out.

    Raises PlaceError when there is no such file, RecordDamaged when a compressed one cannot be read to its end.
    """
    for record in read_records(Path(path), keep_all=True):
        yield parse_event(record.data)
