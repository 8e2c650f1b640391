"""The history opened for a command, and brought in line with the records first."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from atomic.errors import DatabaseError, RecordError
from atomic.record import RunStore
from atomic.runner import open_store
from atomic.session import masker_for
from atomic.settings import Settings, load_settings
from atomic.text import Masker, one_line
from flows.cli.output import YELLOW, paint, say
from flows.database import Database
from flows.history.catching_up import catch_up

SAID = 500  # characters of a message


@dataclass(frozen=True, slots=True)
class Histories:
    """What a command of the history works with."""

    settings: Settings
    store: RunStore
    database: Database
    masker: Masker


@contextlib.contextmanager
def opened(config: Path | None) -> Iterator[Histories]:
    """The history that the settings name. Raises UsageError, PlaceError, DatabaseError."""
    settings = load_settings(config=config)
    store = open_store(settings)
    masker = masker_for(settings.agent.agent())
    database = Database.open(settings.history.url, home=settings.home)
    try:
        try:
            catch_up(database, store, masker, on_damaged=tell_damaged)
        except DatabaseError as error:  # it may still be read
            warn(f"the history could not catch up with the records: {error.message}")
        yield Histories(settings, store, database, masker)
    finally:
        database.close()


def tell_damaged(error: RecordError) -> None:
    """Say that a record is damaged."""
    say(f"{paint('damaged:', YELLOW)} {one_line(error.message, SAID)}")


def warn(text: str) -> None:
    """Say what is not as it should be."""
    say(f"{paint('warning:', YELLOW)} {one_line(text, SAID)}")
