"""Labels: all that a run can be found by, so that any filter's newest runs are read and no others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, get_args

from sqlalchemy import Connection, bindparam, delete, insert, select, tuple_

from atomic.errors import ModelRefError
from atomic.models import ModelRef
from flows.database.engine import Database
from flows.database.tables import labels as t
from flows.database.tables import run_labels, storable

What = Literal["status", "kind", "model", "provider", "tag", "name", "batch", "edition", "answered_by", "hopped"]
WHATS: tuple[What, ...] = get_args(What)
Label = tuple[What, str]
YES = "yes"  # the value of a label that has no other
_AT_ONCE = 200  # labels looked up by one statement

_PUT = insert(run_labels).values(label_id=bindparam("label"), run_id=bindparam("run"))
_TAKE = delete(run_labels).where(run_labels.c.label_id == bindparam("label"), run_labels.c.run_id == bindparam("run"))


def name_of(model: str | None) -> str | None:
    """A model without its level; what is no reference stays as it is."""
    if model is None:
        return None
    try:
        return ModelRef.parse(model).name
    except ModelRefError:
        return model  # the stream's word, which may be anything


def hopped(status: str, first_model: str | None, answered_by: str | None) -> bool:
    """Whether another model answered than the first that was asked; where nobody knows which was asked, none did."""
    return status == "answered" and None not in (first_model, answered_by) and name_of(first_model) != answered_by


def labels_of(run: Mapping[str, Any], attempts: Iterable[Mapping[str, Any]]) -> set[Label]:
    """The labels of a run by its row and those of its attempts."""
    return {(what, storable(value)) for what, value in _found(run, attempts)}


def _found(run: Mapping[str, Any], attempts: Iterable[Mapping[str, Any]]) -> Iterator[Label]:
    if run["status"] != "answered":  # most are: whoever asks for these is best served by the order of all
        yield "status", run["status"]
    for what in ("name", "batch", "edition", "answered_by"):
        if run[what] is not None:
            yield what, run[what]
    if run["hopped"]:
        yield "hopped", YES
    yield from (("tag", tag) for tag in json.loads(run["tags"]) if isinstance(tag, str))
    if run["kind"] is not None:
        yield "kind", run["kind"]
    yield from _of_model(run["answered_by"])
    for attempt in attempts:
        if attempt["kind"] is not None:
            yield "kind", attempt["kind"]
        yield from _of_model(attempt["model"])
        yield from _of_model(attempt["answered_by"])


def _of_model(model: str | None) -> Iterator[Label]:
    name = name_of(model)
    if model is None or name is None:
        return
    yield "model", name
    yield "model", model
    provider, slash, _ = name.partition("/")
    if slash:
        yield "provider", provider


def put(database: Database, connection: Connection, found: Mapping[str, set[Label]]) -> None:
    """Label runs, by their ids, within the connection's transaction; they have no labels yet."""
    wanted = sorted(set().union(*found.values()))
    known = _ids(connection, wanted)
    if missing := [label for label in wanted if label not in known]:  # in one order for all: none waits for another
        new = [{"what": what, "value": value} for what, value in missing]
        connection.execute(database.insert(t).on_conflict_do_nothing(), new)
        known |= _ids(connection, missing)
    rows = [{"label": known[label], "run": run_id} for run_id, own in found.items() for label in sorted(own)]
    if rows:
        connection.execute(_PUT, rows)


def take(connection: Connection, found: Mapping[str, set[Label]]) -> None:
    """Take the labels of runs away, within the connection's transaction."""
    known = _ids(connection, sorted(set().union(*found.values())))
    pairs = [(known[label], run_id) for run_id, own in found.items() for label in own if label in known]
    if pairs:
        connection.execute(_TAKE, [{"label": label, "run": run_id} for label, run_id in pairs])


def _ids(connection: Connection, wanted: Sequence[Label]) -> dict[Label, int]:
    found: dict[Label, int] = {}
    left = iter(wanted)
    while some := list(islice(left, _AT_ONCE)):
        query = select(t.c.id, t.c.what, t.c.value).where(tuple_(t.c.what, t.c.value).in_(some))
        found |= {(row.what, row.value): row.id for row in connection.execute(query)}
    return found
