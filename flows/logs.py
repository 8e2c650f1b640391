"""Prefect's log lines on the terminal, without those that call a failed attempt an error of the program."""

from __future__ import annotations

import logging

OURS = frozenset({"attempt", "run-prompt", "shard", "batch-shard", "run-batch"})
_EXPECTED = ("Finished in state", "Task run failed with state")


class _Expected(logging.Filter):
    """Drops what Prefect says at level ERROR about runs of ours that ended otherwise than answered: it is told by the
    result. The server still gets these lines."""

    def filter(self, record: logging.LogRecord) -> bool:
        name = getattr(record, "task_name", None) or getattr(record, "flow_name", None)
        return name not in OURS or not record.getMessage().startswith(_EXPECTED)


_FILTER = _Expected()


def hush() -> None:
    """Put the filter on Prefect's handler for the terminal. Can be called again."""
    from prefect.logging.handlers import PrefectConsoleHandler

    for handler in logging.getLogger().handlers:
        if isinstance(handler, PrefectConsoleHandler):
            handler.addFilter(_FILTER)
