"""One agent session: start, follow, watch, stop, and leave nothing behind but its record."""

from __future__ import annotations

from atomic.session.attempt import run_attempt
from atomic.session.facts import AttemptSpec, Phase, Progress
from atomic.session.overlay import check_overlay
from atomic.session.secrets import masker_for

__all__ = ["AttemptSpec", "Phase", "Progress", "check_overlay", "masker_for", "run_attempt"]
