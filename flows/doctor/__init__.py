"""The doctor: what would keep a run from going well, each finding with what to do about it."""

from __future__ import annotations

from flows.doctor.examine import Asked, default_model, examine
from flows.doctor.findings import Finding, Level

__all__ = ["Asked", "Finding", "Level", "default_model", "examine"]
