"""What cools down after a failure, and the keys by which every run knows it."""

from __future__ import annotations

from collections.abc import Mapping

from atomic.models.ref import ModelRef


def model_key(model: ModelRef) -> str:
    """The cooldown key of a model, whatever its thinking level."""
    return f"model/{model.name}"


def credential_key(model: ModelRef) -> str:
    """The cooldown key of the credential that a model is reached with."""
    return f"credential/{model.provider}"


def cooling_until(model: ModelRef | None, cooldowns: Mapping[str, float]) -> float:
    """The time (seconds since the epoch) until which a model cools down, itself or its credential; 0 when it does
    not. The agent's own default model (None) has no name to cool by."""
    if model is None:
        return 0
    return max(cooldowns.get(model_key(model), 0), cooldowns.get(credential_key(model), 0))
