"""Which runs are meant: a question about records that the records alone answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from atomic.errors import RecordError
from atomic.failures import FailureKind
from atomic.record.facts import RunRecord, RunStatus
from atomic.record.store import RunStore


@dataclass(frozen=True, slots=True)
class RunQuery:
    """All that is given must hold; of ``statuses``, ``kinds`` and ``models`` one of each is enough, while of ``tags``
    every one must be there. A kind is the run's or one of its attempts'. Models, tags and name are shell patterns
    (``anthropic/*``); a model is one that was asked or answered, with or without its level. Times are seconds since the
    epoch, and of the run's creation.
    """

    statuses: tuple[RunStatus, ...] = ()
    kinds: tuple[FailureKind, ...] = ()
    models: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    name: str | None = None
    since: float | None = None
    until: float | None = None

    @property
    def given(self) -> bool:
        """Whether anything is asked for at all."""
        return self != RunQuery()

    def takes(self, run: RunRecord) -> bool:
        """Whether a run is meant, its time apart."""
        return (
            (not self.statuses or run.status in self.statuses)
            and (not self.kinds or any(kind in self.kinds for kind in _kinds(run)))
            and (not self.models or any(_matches(model, self.models) for model in _models(run)))
            and all(any(fnmatchcase(tag, wanted) for tag in run.tags) for wanted in self.tags)
            and (self.name is None or (run.name is not None and fnmatchcase(run.name, self.name)))
        )


def find_runs(
    store: RunStore, query: RunQuery, *, on_damaged: Callable[[RecordError], None] | None = None
) -> Iterator[RunRecord]:
    """The runs that are meant, the newest first. Each record is read when it is asked for: whoever wants the newest
    twenty pays for these. Damaged ones are passed over and told to ``on_damaged``."""
    return filter(query.takes, store.iter_runs(since=query.since, until=query.until, on_damaged=on_damaged))


def _kinds(run: RunRecord) -> Iterator[FailureKind | None]:
    yield run.kind
    yield from (attempt.kind for attempt in run.attempts)


def _models(run: RunRecord) -> Iterator[str]:
    for attempt in run.attempts:
        yield from (model for model in (attempt.model, attempt.answered_by) if model is not None)
    if run.answered_by is not None:
        yield run.answered_by


def _matches(model: str, patterns: tuple[str, ...]) -> bool:
    forms = (model, model.rpartition(":")[0])
    return any(fnmatchcase(form, pattern) for form in forms for pattern in patterns if form)
