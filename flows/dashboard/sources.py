"""What the pages read from: the records, the database, and where Prefect's own pages are."""

from __future__ import annotations

from dataclasses import dataclass

from atomic.record import RunStore
from atomic.session import masker_for
from atomic.settings import Settings
from atomic.text import Masker
from flows.database import Database
from flows.server import named_server, server_status


@dataclass(frozen=True, slots=True)
class Sources:
    """Given to every page when it is registered. All of it blocks: a page asks in a thread (``asyncio.to_thread``)."""

    settings: Settings
    store: RunStore
    database: Database

    def masker(self) -> Masker:
        """Hides the secrets that are known now; each view asks anew, since keys change."""
        return masker_for(self.settings.agent.agent())

    def prefect_pages(self) -> str | None:
        """Where Prefect's pages are, without a slash at the end; None where no server is known."""
        import os

        named = named_server(os.environ)
        if named is not None:
            return named.url.rstrip("/").removesuffix("/api")
        status = server_status(self.settings.home)
        return status.info.dashboard if status.running and status.info is not None else None
