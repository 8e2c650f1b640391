"""Many processes at once, and some of them killed."""

from __future__ import annotations

import random

from flows.database import Cooldown, Counts, cooldowns, editions, items, loading
from tests.flows.databases import Where, rows, work_off

CLAIMER = """
import sys
from pathlib import Path
from atomic.verdict.facts import Status
from flows.database import Database, Edition, Ended, Counts, items
database = Database.open(sys.argv[1], home=Path("/nowhere"))
edition = Edition(int(sys.argv[2]), "nightly", sys.argv[3], 1, False, None, Counts())
while claimed := items.claim(database, edition, int(sys.argv[4])):
    print(*(one.custom_id for one in claimed), sep="\\n", flush=True)
    items.end(database, edition, [Ended(one.id, Status.ANSWERED, None, "r", "{}") for one in claimed])
"""
WORKER = """
import sys
from pathlib import Path
from atomic.verdict.facts import Status
from flows.database import Database, Ended, ItemRow, editions, items, loading
database = Database.open(sys.argv[1], home=Path("/nowhere"))
edition = editions.begin(database, "nightly")
print("begun", flush=True)
loading.load(database, edition, [ItemRow(f"item-{n}", "d", "s" * 500) for n in range(2000)])
while claimed := items.claim(database, edition, 7):
    done = items.end(database, edition, [Ended(one.id, Status.ANSWERED, None, "r", "{}") for one in claimed])
    print(*(one.custom_id for one in claimed if one.id in done), sep="\\n", flush=True)
"""
COOLER = """
import sys
from pathlib import Path
from flows.database import Cooldown, Database, cooldowns
database = Database.open(sys.argv[1], home=Path("/nowhere"))
for until in map(float, sys.argv[2:]):
    cooldowns.put(database, [Cooldown("model/b", until), Cooldown("model/a", until)])
"""


def test_no_two_processes_get_the_same_item(where: Where) -> None:
    database = where.open()
    edition = editions.begin(database, "nightly")
    names = [f"item-{n}" for n in range(400)]
    loading.load(database, edition, rows(*names))
    claimers = [where.start(CLAIMER, str(edition.id), edition.name, str(n)) for n in (1, 2, 5)]
    found = [name for claimer in claimers for name in claimer.communicate()[0].split()]
    assert sorted(found) == sorted(names)
    assert editions.finish(database, edition) == "finished"
    assert {claimer.returncode for claimer in claimers} == {0}


def test_killed_at_any_moment_nothing_is_lost_and_nothing_done_twice(where: Where) -> None:
    chance = random.Random(7)
    told: list[str] = []
    killed = 0
    for _ in range(4):
        worker = where.start(WORKER)
        assert worker.stdout is not None
        assert worker.stdout.readline() == "begun\n"
        for line in worker.stdout:
            told.append(line.strip())
            if chance.random() < 0.005:
                worker.kill()
        killed += worker.wait() != 0
    assert killed
    database = where.open()
    edition = editions.begin(database, "nightly")
    counts = items.counts(database, edition.id)
    assert counts.running == 0
    assert len(told) == len(set(told))
    assert set(told) <= {one.custom_id for one in items.results(database, edition.id)}
    loading.load(database, edition, rows(*(f"item-{n}" for n in range(2000)), source="s" * 500))
    rest = work_off(database, edition)
    assert not set(rest) & set(told)
    assert items.counts(database, edition.id) == Counts(answered=2000)


def test_killed_while_loading_the_rest_is_loaded_by_the_next(where: Where) -> None:
    worker = where.start(WORKER)
    assert worker.stdout is not None
    assert worker.stdout.readline() == "begun\n"
    worker.kill()
    worker.wait()
    database = where.open()
    edition = editions.begin(database, "nightly")
    loaded = loading.load(database, edition, rows(*(f"item-{n}" for n in range(2000)), source="s" * 500))
    assert loaded.new + loaded.kept == 2000
    assert items.counts(database, edition.id).total == 2000


def test_of_cooldowns_noted_at_once_the_longest_counts(where: Where) -> None:
    database = where.open()
    coolers = [where.start(COOLER, *map(str, range(100 + n, 200 + n, 3))) for n in range(2)]
    for _ in range(30):
        cooldowns.put(database, [Cooldown("model/a", 50), Cooldown("model/b", 150)])
    for cooler in coolers:
        assert cooler.wait() == 0
    assert cooldowns.get_many(database, ["model/a", "model/b"]) == {"model/a": 200, "model/b": 200}
