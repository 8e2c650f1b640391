"""Kinds of failure, and the texts that mean each kind."""

from __future__ import annotations

from enum import StrEnum


class FailureKind(StrEnum):
    """Why an attempt did not answer. The one-line meanings are what people are shown."""

    OVERFLOW = "overflow"
    OUTPUT_LIMIT = "output_limit"
    RATE_LIMIT = "rate_limit"
    QUOTA = "quota"
    AUTH = "auth"
    MODEL_UNAVAILABLE = "model_unavailable"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    NETWORK = "network"
    INVALID_REQUEST = "invalid_request"
    REFUSAL = "refusal"
    REJECTED = "rejected"
    EMPTY = "empty"
    ABORTED = "aborted"
    STALLED = "stalled"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    INTERRUPTED = "interrupted"
    UNREADABLE = "unreadable"
    CONFIGURATION = "configuration"
    BUDGET = "budget"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


def classify(text: str, *, code: str | int | None = None) -> FailureKind:
    """The kind that an error's text (and its code, where one is known) means; ``unknown`` when nothing fits."""
    raise NotImplementedError


def read_retry_at(text: str, now: float) -> float | None:
    """The time (seconds since the epoch) from which the text says a new try makes sense; None when it says none."""
    raise NotImplementedError
