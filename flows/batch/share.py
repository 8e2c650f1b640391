"""How many sessions one provider may have at a time: halved when it says that it is too many, grown back by answers.

Additive increase, multiplicative decrease, as networks share a line: pure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from atomic.failures import FailureKind

# The provider's word that there is too much at once. An outage is not: fewer requests do not end it.
TOO_MUCH = frozenset({FailureKind.RATE_LIMIT})
LEAST = 1  # a provider with no session at all would never be found to have recovered


@dataclass(frozen=True, slots=True)
class Share:
    """One provider's share of the sessions. ``size`` is a fraction above the whole number that is allowed while it
    grows; ``cut_at`` is when it was last cut, in seconds of any one clock."""

    most: int
    size: float
    cut_at: float = float("-inf")

    @classmethod
    def of(cls, most: int) -> Share:
        """A share that nothing has cut yet."""
        return cls(most, float(most))

    @property
    def allowed(self) -> int:
        """How many sessions may run at a time."""
        return max(LEAST, int(self.size))


def after_limit(share: Share, *, in_use: int, started_at: float, now: float) -> Share:
    """The share after a session of it, begun at ``started_at``, was told that it is too much; ``in_use`` sessions were
    running, that one included. Those that had begun before the last cut say nothing new: a burst that fails together
    cuts once."""
    if started_at <= share.cut_at:
        return share
    used = max(LEAST, min(share.allowed, in_use))
    return replace(share, size=float(max(LEAST, used // 2)), cut_at=now)


def after_answer(share: Share) -> Share:
    """The share after an answer: one more session for each round of as many answers as are allowed at a time."""
    return replace(share, size=min(float(share.most), share.size + 1 / share.allowed))
