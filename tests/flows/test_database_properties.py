"""What holds of items whatever is done with them, in any order, by owners of which some are dead and come back."""

from __future__ import annotations

import secrets
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from atomic.errors import EditionBusy, EditionLost
from atomic.failures import FailureKind
from atomic.record.owner import this_process
from flows.database import (
    HEARTBEAT_LIMIT,
    ClaimedItem,
    Counts,
    Database,
    Edition,
    ItemRow,
    control,
    editions,
    items,
    loading,
)
from tests.flows.databases import came_to, let_be_silent
from tests.postgres import Cluster

NAMES = "abcde"
OWNERS = [this_process().model_copy(update={"host": f"host-{n}", "boot_id": f"boot-{n}"}) for n in range(3)]
OWNER = st.integers(0, len(OWNERS) - 1)
KINDS = st.sampled_from([None, None, FailureKind.CRASHED, FailureKind.CANCELLED, FailureKind.BUDGET])


class Batch(RuleBasedStateMachine):
    """A batch that three machines would like to carry out. Each remembers what it was told; the model knows who owns
    the edition, who has which item, and what was answered."""

    url: str | None = None  # None: a file of its own

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.database = Database.open(self.url, home=Path(self.folder.name))
        self.batch = secrets.token_hex(8)
        self.begun: dict[int, Edition] = {}  # by owner: the last edition it was given
        self.owner: int | None = None
        self.silent = False
        self.holders: dict[str, int] = {}  # by item: who works on it
        self.claims: dict[int, dict[str, ClaimedItem]] = {n: {} for n in range(len(OWNERS))}
        self.answered: dict[str, str] = {}  # by item: the digest that was answered
        self.digests = dict.fromkeys(NAMES, "one")
        self.keys: set[str] = set()  # of what was answered

    def teardown(self) -> None:
        self.database.close()
        self.folder.cleanup()

    @rule(who=OWNER)
    def begin(self, who: int) -> None:
        if self.owner is not None and not self.silent:
            with pytest.raises(EditionBusy):
                editions.begin(self.database, self.batch, edition="e", owner=OWNERS[who])
            return
        self.begun[who] = editions.begin(self.database, self.batch, edition="e", owner=OWNERS[who])
        self.owner, self.silent, self.holders = who, False, {}
        self._load(who)

    @rule()
    def fall_silent(self) -> None:
        if self.owner is not None:
            let_be_silent(self.database, self.begun[self.owner].id, HEARTBEAT_LIMIT * 2)
            self.silent = True

    @rule(who=OWNER)
    def beat(self, who: int) -> None:
        if self._may(who, lambda: editions.heartbeat(self.database, self.begun[who])):
            self.silent = False

    @rule(who=OWNER)
    def finish(self, who: int) -> None:
        if self._may(who, lambda: editions.finish(self.database, self.begun[who])):
            self.owner, self.holders = None, {}

    @rule(who=OWNER, n=st.integers(1, 3))
    def claim(self, who: int, n: int) -> None:
        found: list[ClaimedItem] = []
        self._may(who, lambda: found.extend(items.claim(self.database, self.begun[who], n)))
        for one in found:
            assert one.custom_id not in self.holders, "an item has one owner"
            assert self.answered.get(one.custom_id) != one.digest, "what was answered is not done again"
            assert one.key not in self.keys, "no key of an answer is given for another run"
            self.holders[one.custom_id] = who
            self.claims[who][one.custom_id] = one

    @rule(who=OWNER, name=st.sampled_from(NAMES), kind=KINDS)
    def end(self, who: int, name: str, kind: FailureKind | None) -> None:
        self._change(who, name, "end", kind)

    @rule(who=OWNER, name=st.sampled_from(NAMES), how=st.sampled_from(["park", "park till tomorrow", "release"]))
    def put_aside(self, who: int, name: str, how: str) -> None:
        self._change(who, name, how, None)

    def _change(self, who: int, name: str, how: str, kind: FailureKind | None) -> None:
        claimed = self.claims[who].get(name)
        if claimed is None:
            return
        edition, item_id = self.begun[who], claimed.id
        done: list[bool] = []
        if how == "end":
            self._may(who, lambda: done.append(bool(items.end(self.database, edition, [came_to(item_id, kind)]))))
        elif how == "release":
            self._may(who, lambda: done.append(bool(items.release(self.database, edition, [item_id]))))
        else:
            until = 0.0 if how == "park" else 1e12
            self._may(who, lambda: done.append(items.park(self.database, edition, item_id, until=until, kind=None)))
        if not done:
            return
        assert done[0] == (self.holders.get(name) == who), "an item is changed by its owner only, and once"
        if done[0]:
            del self.holders[name]
            if how == "end" and kind is None:
                self.answered[name] = claimed.digest
                self.keys.add(claimed.key)

    @rule(name=st.sampled_from(NAMES), digest=st.sampled_from(["one", "two"]))
    def edit(self, name: str, digest: str) -> None:
        self.digests[name] = digest

    @rule(who=OWNER, retry_failed=st.booleans())
    def load_before_work(self, who: int, retry_failed: bool) -> None:
        if not self.holders and who in self.begun:
            self._may(who, lambda: self._load(who, retry_failed=retry_failed))

    @rule(who=OWNER)
    def redo(self, who: int) -> None:
        if not self.holders and who in self.begun and self._may(who, lambda: self._load(who, redo=True)):
            self.answered.clear()

    def _load(self, who: int, *, retry_failed: bool = False, redo: bool = False) -> None:
        rows = [ItemRow(name, digest, "") for name, digest in self.digests.items()]
        loading.load(self.database, self.begun[who], rows, retry_failed=retry_failed, redo=redo)
        self.answered = {name: was for name, was in self.answered.items() if was == self.digests[name]}
        # An answer of an earlier digest may be asked for again: its record gives it without a run.
        self.keys = {key for key in self.keys if key.split("/")[3] in self.answered}

    def _may(self, who: int, act: object) -> bool:
        """Do what only the owner may; whether it was."""
        if who not in self.begun:
            return False
        assert callable(act)
        if who == self.owner:
            act()
            return True
        with pytest.raises(EditionLost):
            act()
        return False

    @invariant()
    def the_database_agrees(self) -> None:
        if not self.begun:
            return
        [state] = control.editions_of(self.database, self.batch)
        assert state.counts.total == len(NAMES)
        assert state.counts.running == len(self.holders)
        found = {one.custom_id for one in items.results(self.database, state.id) if one.status == "answered"}
        assert found == set(self.answered), "answered stays answered"
        assert state.alive == (self.owner is not None and not self.silent)
        assert (state.owner is None) == (self.owner is None)
        assert state.counts != Counts()


def test_an_item_has_one_owner_and_an_answer_stays_on_sqlite() -> None:
    run_state_machine_as_test(Batch, settings=settings(max_examples=40, stateful_step_count=40, deadline=None))


def test_an_item_has_one_owner_and_an_answer_stays_on_postgres(postgres: Cluster) -> None:
    class OnPostgres(Batch):
        url = postgres.create()

    run_state_machine_as_test(
        OnPostgres,
        settings=settings(
            max_examples=15, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
        ),
    )
