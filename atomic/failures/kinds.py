"""The kinds of failure, and what each means to a person."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType


class FailureKind(StrEnum):
    """Why an attempt did not answer. :data:`MEANINGS` says each in words."""

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


MEANINGS = MappingProxyType(
    {
        FailureKind.OVERFLOW: "the conversation does not fit into the model's context window",
        FailureKind.OUTPUT_LIMIT: "the answer was cut at the model's output limit",
        FailureKind.RATE_LIMIT: "too many requests or tokens at once; it passes in seconds or minutes",
        FailureKind.QUOTA: "the plan, the balance or the day's share is used up",
        FailureKind.AUTH: "the provider did not accept the credential",
        FailureKind.MODEL_UNAVAILABLE: "the provider does not have this model, or not for this account",
        FailureKind.PROVIDER_UNAVAILABLE: "the provider is down or overloaded",
        FailureKind.NETWORK: "the connection failed or broke off",
        FailureKind.INVALID_REQUEST: "the provider did not accept the request as it was put",
        FailureKind.REFUSAL: "the model or its provider declined for reasons of safety or policy",
        FailureKind.REJECTED: "the answer did not pass the check set for it",
        FailureKind.EMPTY: "the model ended without a word",
        FailureKind.ABORTED: "the agent was told to stop in the middle",
        FailureKind.STALLED: "nothing happened for too long",
        FailureKind.TIMEOUT: "the session took longer than allowed",
        FailureKind.CRASHED: "the agent ended in the middle of its work",
        FailureKind.INTERRUPTED: "what watched over the session died before it ended",
        FailureKind.UNREADABLE: "the output is not the event stream of a known agent",
        FailureKind.CONFIGURATION: "the agent did not start as it was called or configured",
        FailureKind.BUDGET: "a budget of money, tokens or turns was used up",
        FailureKind.CANCELLED: "somebody cancelled it",
        FailureKind.UNKNOWN: "an error that is not known yet",
    }
)
