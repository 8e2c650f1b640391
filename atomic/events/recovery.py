"""Events of what the agent does about its own troubles: compaction, retries and its inner fallback."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from atomic.events.base import Event, Text, Wire
from atomic.events.messages import Usage


class CompactionStart(Event):
    """The context is being made smaller; the provider is at work until it ends."""

    type: Literal["compaction_start"]
    reason: Text | None = None
    mid_turn: bool | None = None


class CompactionResult(Wire):
    """What a compaction came to. ``rung`` "fresh": the context was thrown away."""

    rung: Text | None = None
    summary: Text | None = None
    tokens_before: int | None = None
    usage: Usage | None = None  # the planner's, which is in no message


class CompactionEnd(Event):
    """``unresolved_overflow``: the prompt does not fit. ``result`` and ``error_message`` do not depend on each
    other."""

    type: Literal["compaction_end"]
    reason: Text | None = None
    result: CompactionResult | None = None
    aborted: bool | None = None
    will_retry: bool | None = None
    unresolved_overflow: bool | None = None
    error_message: Text | None = None
    mid_turn: bool | None = None
    manual_takeover_pending: bool | None = None


class AutoRetryStart(Event):
    """The agent waits ``delay_ms`` milliseconds and asks the same model again."""

    type: Literal["auto_retry_start"]
    attempt: int | None = None
    max_attempts: int | None = None
    delay_ms: float | None = None
    error_message: Text | None = None


class AutoRetryEnd(Event):
    """``success`` true proves nothing: it is said as well when a failed model is left for another."""

    type: Literal["auto_retry_end"]
    success: bool | None = None
    attempt: int | None = None
    final_error: Text | None = None


class SummarizationRetryScheduled(Event):
    """The planner of a compaction will be asked again after ``delay_ms`` milliseconds."""

    type: Literal["summarization_retry_scheduled"]
    attempt: int | None = None
    max_attempts: int | None = None
    delay_ms: float | None = None
    error_message: Text | None = None


class SummarizationRetryAttemptStart(Event):
    """The planner is asked again."""

    type: Literal["summarization_retry_attempt_start"]
    attempt: int | None = None


class SummarizationRetryFinished(Event):
    """The planner's retries are over."""

    type: Literal["summarization_retry_finished"]
    success: bool | None = None
    final_error: Text | None = None


class ModelFallbackStart(Event):
    """The agent itself moves on to another model of its own list."""

    type: Literal["model_fallback_start"]
    from_model: Any = Field(default=None, alias="from")
    to: Any = None
    reason: Text | None = None
    attempt: int | None = None


class ModelFallbackEnd(Event):
    """The agent's own fallback is over."""

    type: Literal["model_fallback_end"]
    success: bool | None = None
    from_model: Any = Field(default=None, alias="from")
    to: Any = None
    final_error: Text | None = None
