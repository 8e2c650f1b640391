"""How a run ends, in words: every model with its kinds, and why nothing more is tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from atomic.failures import FailureKind
from atomic.models.ref import ModelRef
from atomic.policy.facts import Attempted, End, FallbackPolicy

DEFAULT_MODEL = "the agent's default model"


def answered(attempt: Attempted) -> End:
    """The end of a run whose prompt was answered."""
    return End("answered", None, "", attempt.n)


def accepted(attempt: Attempted) -> End:
    """The end of a run whose policy takes the answer that a failed attempt holds."""
    whole = "a complete answer" if attempt.verdict.complete else "a partial answer"
    what = f"attempt {attempt.n} ({name_of(attempt.model)}) failed: {attempt.kind}"
    return End("answered", None, "", attempt.n, f"{what}; the policy accepts {whole} that it gave")


def failed(policy: FallbackPolicy, attempts: Sequence[Attempted], reason: str, kind: FailureKind | None = None) -> End:
    """The end of a run that nobody answered. Unless ``kind`` says what ended the run itself, its kind is that of its
    last attempt; `model_unavailable` when there was none."""
    if kind is None:
        kind = attempts[-1].kind if attempts else FailureKind.MODEL_UNAVAILABLE
    told = [f"{name_of(model)}: {_kinds(model, attempts)}" for model in _asked(attempts)]
    left = [str(model) for model in policy.models if model not in _asked(attempts)]
    if left:
        told.append("not tried: " + ", ".join(left))
    return End("failed", kind, f"{'; '.join(told)} ({reason})" if told else reason)


def name_of(model: ModelRef | None) -> str:
    """A model as people are told of it."""
    return DEFAULT_MODEL if model is None else str(model)


def _asked(attempts: Sequence[Attempted]) -> list[ModelRef | None]:
    return list(dict.fromkeys(attempt.model for attempt in attempts))


def _kinds(model: ModelRef | None, attempts: Sequence[Attempted]) -> str:
    counts = Counter(attempt.kind for attempt in attempts if attempt.model == model)
    return ", ".join(kind if count == 1 else f"{kind} ×{count}" for kind, count in counts.items())
