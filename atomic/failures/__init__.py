"""Kinds of failure, and the texts that mean each kind."""

from __future__ import annotations

from atomic.failures.classify import classify, is_wrapper
from atomic.failures.kinds import MEANINGS, FailureKind
from atomic.failures.retry_at import read_retry_at

__all__ = ["MEANINGS", "FailureKind", "classify", "is_wrapper", "read_retry_at"]
