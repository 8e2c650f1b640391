"""What the pages read from: the records, the database, and where Prefect's own pages are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import urlsplit

from atomic.record import RunStore
from atomic.session import masker_for
from atomic.settings import Settings
from atomic.text import Masker
from flows.database import Database
from flows.server import named_server
from flows.server.facts import FOLDER, read_info


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
        if given := os.environ.get("PREFECT_UI_URL"):
            return _web_address(given)
        named = named_server(os.environ)
        if named is not None:
            base, api, rest = named.url.rstrip("/").rpartition("/api")
            return _web_address(base) if api and not rest else None  # elsewhere, pages are not where the API is
        info = read_info(self.settings.home / FOLDER)
        return info.dashboard if info is not None and info.alive() else None


def _web_address(url: str) -> str | None:
    """The address, where a link may lead there: no script, no password."""
    parts = urlsplit(url)
    fit = parts.scheme in {"http", "https"} and parts.hostname and "@" not in parts.netloc
    return url.rstrip("/") if fit else None
