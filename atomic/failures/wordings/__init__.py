"""The wordings that mean each kind, in the order in which they are tried.

They are what providers, gateways, SDKs and runtimes really say; a test holds a sample of each and where it comes from.
"""

from __future__ import annotations

from types import MappingProxyType

from atomic.failures.kinds import FailureKind
from atomic.failures.wordings.access import AUTH, MODEL_UNAVAILABLE, REFUSAL
from atomic.failures.wordings.limits import OVERFLOW, QUOTA, RATE_LIMIT
from atomic.failures.wordings.transport import INVALID_REQUEST, NETWORK, PROVIDER_UNAVAILABLE
from atomic.failures.wordings.wording import Wording

ORDER: tuple[Wording, ...] = (
    OVERFLOW,
    QUOTA,
    RATE_LIMIT,
    AUTH,
    REFUSAL,
    MODEL_UNAVAILABLE,
    PROVIDER_UNAVAILABLE,
    NETWORK,
    INVALID_REQUEST,
)

# Classes of error that say little: a status number beside them says more.
GENERIC = MappingProxyType(
    {
        "server_error": FailureKind.PROVIDER_UNAVAILABLE,
        "api_error": FailureKind.PROVIDER_UNAVAILABLE,
        "internal": FailureKind.PROVIDER_UNAVAILABLE,
        "internal_error": FailureKind.PROVIDER_UNAVAILABLE,
        "invalid_request_error": FailureKind.INVALID_REQUEST,
    }
)

__all__ = ["GENERIC", "ORDER", "Wording"]
