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


# They report that a server is away, at length and each for itself.
_REPORTERS = (
    "EventsWorker",
    "APILogWorker",
    "prefect.events",
    "prefect._internal",
    "prefect._internal.concurrency",
    "websockets",
)


UNTOLD = "Prefect's server was not told how the run ended: %s"


class _Traces(logging.Filter):
    """Drops what Prefect says with a traceback, and what the program says itself."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and record.name.partition(".")[0] == "prefect") and record.msg != UNTOLD


_TRACES = _Traces()


def _none(_: logging.LogRecord) -> bool:
    """Lets nothing pass."""
    return False


def hush_outage() -> None:
    """For programs that say themselves that the server did not answer: no traceback of Prefect's, and no report of its
    background workers, on this process's terminal. Can be called again."""
    from prefect.logging.handlers import PrefectConsoleHandler

    logging.raiseExceptions = False  # the worker that sends log lines prints its failures past all handlers
    for name in _REPORTERS:
        logger = logging.getLogger(name)
        logger.setLevel(logging.CRITICAL)
        logger.addFilter(_none)  # some of Prefect's ask for no level
    for handler in logging.getLogger().handlers:
        if isinstance(handler, PrefectConsoleHandler):
            handler.addFilter(_TRACES)
