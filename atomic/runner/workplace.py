"""Where the attempts of a run work: in the user's own folder, or in a workspace that is made, put back, asked and
removed around them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from atomic.agent import Agent
from atomic.errors import AtomicError
from atomic.project_trust import decided_as_in
from atomic.record import AttemptRecord, RunFolder, RunRecord, RunStore
from atomic.runner.facts import RunRequest
from atomic.runner.whole import whole
from atomic.workspace import Workspace, keep_changes


class Workplace:
    """The place of one run. ``warnings`` is what should be known of it at the end."""

    def __init__(self, request: RunRequest, store: RunStore, folder: RunFolder) -> None:
        self.warnings: list[str] = []
        self._request = request
        self._store = store
        self._folder = folder
        self._workspace: Workspace | None = None
        self._unsaved = False

    @property
    def agent(self) -> Agent:
        """The agent, which trusts the project in a workspace as it does in the user's folder."""
        request = self._request
        return request.agent if self._workspace is None else decided_as_in(request.cwd, request.agent)

    @property
    def folder(self) -> Path | None:
        """The folder of the whole workspace; None: there is none."""
        return None if self._workspace is None else self._workspace.place

    @property
    def cwd(self) -> Path:
        """Where the agent works."""
        return self._request.cwd if self._workspace is None else self._workspace.cwd

    async def ready(self, record: RunRecord, *, carry: bool) -> RunRecord:
        """Before an attempt: there is a workspace, if one is meant; a carried attempt finds it as the one before left
        it, a fresh one as it was at the start. Returns the run's record, which says what it was made from. Raises
        WorkspaceError, PlaceError, RecordError."""
        if self._request.workspace is None:
            return record
        if self._workspace is None:
            workspace = await whole(self._make)
            return record.model_copy(update={"workspace": workspace.start})
        if not carry:
            await whole(self._workspace.reset)
        return record

    def _make(self) -> Workspace:
        assert self._request.workspace is not None, "a workspace is meant"
        # Known from here on: a cancel meanwhile must find it.
        self._workspace = Workspace.make(self._request.workspace, self._store.home, self._folder.run_id)
        return self._workspace

    async def changed(self, attempts: Sequence[AttemptRecord]) -> list[AttemptRecord]:
        """After an attempt, or when it was broken off: the attempts with what the last one changed, its patch in its
        folder. What fails is a warning, and the workspace stays until the next start has tried again."""
        workspace = self._workspace
        if workspace is None or not attempts or attempts[-1].changes is not None:
            return list(attempts)
        *before, last = attempts
        folder = self._folder.attempt(last.n)
        try:
            changes = await whole(lambda: keep_changes(workspace, folder))
            last = last.model_copy(update={"changes": changes})
            await asyncio.to_thread(folder.write, last)
        except AtomicError as error:
            self._unsaved = True
            self.warnings.append(f"attempt {last.n}: what it changed could not be kept: {error.message}")
        else:
            self._unsaved = False
        return [*before, last]

    async def close(self) -> None:
        """At the end, when the record is whole: the workspace goes, unless it holds what the record does not. What
        cannot be removed is left to the next start."""
        if self._workspace is None or self._unsaved:
            return
        try:
            await whole(self._workspace.remove)
        except AtomicError:
            return
