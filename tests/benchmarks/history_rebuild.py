"""Whether `history rebuild` makes the same tables from the records, and how fast: as they are, after the database was
deleted, overwritten, and damaged in its middle. Every row is compared.

    uv run python -m tests.benchmarks.history_rebuild [--records 10000]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import Select, Table, select

from atomic.record import RunStore
from flows.database import Database
from flows.database.tables import attempts, batches, cooldowns, editions, items, labels, run_labels, runs
from flows.history.rebuilding import rebuild
from tests.benchmarks.record_data import MASKER, make
from tests.benchmarks.report import Row, report

Rows = dict[str, Counter[tuple[object, ...]]]

_ITEM = ("custom_id", "digest", "round", "state", "run_id", "kind", "result")
# What the records say, by table …
OF_RECORDS: dict[str, Select[*tuple[Any, ...]]] = {
    "runs": select(runs),
    "attempts": select(attempts),
    "labels": select(labels.c.what, labels.c.value, run_labels.c.run_id).join_from(
        labels, run_labels, run_labels.c.label_id == labels.c.id
    ),
    "items": select(batches.c.name, editions.c.name, *(items.c[name] for name in _ITEM))
    .join_from(items, editions)
    .join(batches)
    .where(items.c.run_id.is_not(None)),
}
# … and what the database alone knows besides.
KEPT: tuple[Table, ...] = (batches, editions, items, cooldowns)
SHOWN = 3  # rows of each difference


def dump(database: Database, *, kept: bool) -> Rows:
    """The rows of all tables; without ``kept`` those alone that can be made from records."""
    queries = OF_RECORDS | ({f"{table.name}, all of it": select(table) for table in KEPT} if kept else {})
    with database.reading() as connection:
        return {name: Counter(tuple(row) for row in connection.execute(query)) for name, query in queries.items()}


def differences(before: Rows, after: Rows) -> int:
    """How many rows are not the same in both; the first of them are printed."""
    found = 0
    for name, rows in before.items():
        for what, more in (("missing", rows - after[name]), ("too much", after[name] - rows)):
            found += more.total()
            for row in list(more)[:SHOWN]:
                sys.stderr.write(f"{name}: {what}: {row!r}\n")
    return found


def nothing(_: Path) -> None:
    """The database as it is."""


def delete(file: Path) -> None:
    """No database."""
    file.unlink()


def overwrite(file: Path) -> None:
    """No database, but as many bytes."""
    file.write_bytes(b"no database " * (file.stat().st_size // 12))


def damage(file: Path) -> None:
    """A database whose first page is whole and whose others are half lost."""
    data = bytearray(file.read_bytes())
    for begin in range(8192, len(data), 8192):
        data[begin : begin + 4096] = b"\xa5" * len(data[begin : begin + 4096])
    file.write_bytes(data)


HARM: dict[str, Callable[[Path], None]] = {
    "as it is": nothing,
    "deleted": delete,
    "overwritten": overwrite,
    "damaged": damage,
}


def main() -> int:
    """Measure. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=10_000)
    records = parser.parse_args().records
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        store = RunStore(home / "records", home=home, fsync=False)
        database = Database.open(home=home)
        begun = time.perf_counter()
        make(database, store, records)
        rows = [Row("records made and told", records / (time.perf_counter() - begun), "/s")]
        whole, said = (dump(database, kept=kept) for kept in (True, False))
        database.close()
        for name, harm in HARM.items():
            harm(home / "history.db")
            begun, used = time.perf_counter(), time.process_time()
            n = rebuild(None, home, store, MASKER)
            rows.append(Row(f"{name}: records rebuilt", n / (time.perf_counter() - begun), "/s"))
            rows.append(Row(f"{name}: CPU of a record", (time.process_time() - used) / n * 1000, "ms"))
            again = Database.open(home=home)
            kept = harm is nothing
            differing = differences(whole if kept else said, dump(again, kept=kept))
            again.close()
            rows.append(Row(f"{name}: rows that differ", abs(n - records) + differing, "", 0))
        return report(f"{records:,} records, {sum(map(Counter.total, whole.values())):,} rows", rows)


if __name__ == "__main__":
    sys.exit(main())
