"""How the models are, and what there is to choose from."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Row, exists, func, select

from atomic.errors import ModelRefError
from atomic.models import ModelRef
from atomic.policy.cooldowns import credential_key, model_key
from atomic.record.layout import first_id
from flows.database import Cooldown, Database, cooldowns
from flows.database.labels import What
from flows.database.tables import attempts as a
from flows.database.tables import labels as t
from flows.database.tables import run_labels as of_run
from flows.database.tables import runs as r
from flows.history.facts import Facets, ModelHealth
from flows.history.snapshots import snapshot

RECENT = 24 * 3600.0  # seconds: a night and the day before it
NEWEST = 5_000  # runs that are looked at for it, at most
MOST = 200  # values in a menu


def health(database: Database, now: float | None = None) -> tuple[ModelHealth, ...]:
    """How the models did in the attempts of the last day's newest runs, and until when they cool down; the one asked
    most often first. Raises DatabaseError."""
    now = time.time() if now is None else now
    cooling = cooldowns.current(database, now=now)
    newest = select(r.c.run_id).where(r.c.run_id >= first_id(now - RECENT)).order_by(r.c.run_id.desc()).limit(NEWEST)
    by = (a.c.asked, a.c.status, a.c.kind)
    query = select(*by, func.count().label("n"), func.max(a.c.ended_at).label("last")).group_by(*by)
    with database.reading() as connection:
        rows = connection.execute(query.where(a.c.run_id.in_(newest), a.c.status.is_not(None))).all()
    by_model: dict[str | None, list[Row[Any]]] = defaultdict(list)
    for row in rows:
        by_model[row.asked].append(row)
    for one in cooling:
        if one.key.startswith("model/"):
            by_model.setdefault(one.key.removeprefix("model/"), [])
    found = [_health(model, parts, cooling) for model, parts in by_model.items()]
    return tuple(sorted(found, key=lambda one: (-one.attempts, one.model or "")))


def _health(model: str | None, parts: list[Row[Any]], cooling: Iterable[Cooldown]) -> ModelHealth:
    answered = [row for row in parts if row.status == "answered"]
    failed = max((row for row in parts if row.status == "failed"), key=lambda row: row.last or 0, default=None)
    until, reason = max(((one.until, one.reason) for one in cooling if _is_of(one.key, model)), default=(None, ""))
    return ModelHealth(
        model=model,
        attempts=sum(row.n for row in parts),
        answered=sum(row.n for row in answered),
        last_kind=None if failed is None else failed.kind,
        last_failed_at=None if failed is None else failed.last,
        last_answered_at=max((row.last for row in answered if row.last is not None), default=None),
        cooldown_until=until,
        cooldown_reason=reason,
    )


def _is_of(key: str, model: str | None) -> bool:
    """Whether a shared cooldown's key is that of a model, or of its provider's credential, whoever has it."""
    try:
        ref = None if model is None else ModelRef.parse(model)
    except ModelRefError:
        return False
    if ref is None:
        return False
    credential = credential_key(ref)
    return key in (model_key(ref), credential) or key.startswith(f"{credential}/")


def facets(database: Database) -> Facets:
    """The models, providers, tags, batches and kinds that runs have: at most MOST of each. Raises DatabaseError."""
    with snapshot(database) as connection:
        found = {what: _values(connection, what) for what in _MENUS}
    return Facets(found["model"], found["provider"], found["tag"], found["batch"], found["kind"])


_MENUS: tuple[What, ...] = ("model", "provider", "tag", "batch", "kind")


def _values(connection: Connection, what: What) -> tuple[str, ...]:
    used = exists().where(of_run.c.label_id == t.c.id)  # a label stays when its last run has gone
    newest = select(t.c.value).where(t.c.what == what, used).order_by(t.c.id.desc()).limit(MOST)
    return tuple(sorted(connection.execute(newest).scalars()))
