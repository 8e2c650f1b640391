"""The usage that an update tells while its message is still being written."""

from __future__ import annotations

from typing import Any

from atomic.framing.clip import members_of_head, members_of_tail

# Where usage stands: at the line's head in today's form, in the last KiB of the old cumulative form.
_HEAD_SIZE = 1024
_TAIL_SIZE = 2048


def read_usage(update: bytes) -> dict[str, Any] | None:
    """The cumulative usage in a ``message_update`` line; None when it tells none (the delta-only form)."""
    try:
        usage = members_of_head(update[:_HEAD_SIZE]).get("usage")
        if usage is None:
            own, cut = members_of_tail(update[-_TAIL_SIZE:])
            usage = own.get("message", cut).get("usage")
    except (ValueError, AttributeError):
        return None
    return usage if isinstance(usage, dict) else None
