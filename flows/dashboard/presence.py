"""Which dashboard runs in a home: what it writes down of itself, and what others read there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from filelock import FileLock, Timeout
from pydantic import ValidationError

from atomic.errors import RecordDamaged
from atomic.record.files import encode, make_folder, read_object, write_file
from atomic.settings import Settings
from flows.server.facts import Started, own_facts, who

FOLDER = "dashboard"
STATE = "dashboard.json"
LOG = "dashboard.log"
LIFE_LOCK = "dashboard.lock"  # held by the dashboard that others are told of, as long as it lives
START_LOCK = "start.lock"  # held while somebody decides whether to start one


class DashboardInfo(Started):
    """A dashboard. ``url`` is where this machine finds it; ``guarded``: it asks for a token."""

    url: str
    guarded: bool = False

    @property
    def log(self) -> Path:
        """What it printed, where it was started in the background."""
        return self.folder / LOG


def running_dashboard(home: Path) -> DashboardInfo | None:
    """The dashboard that runs in this home, if one does."""
    info = last_dashboard(home)
    return info if info is not None and info.alive() else None


def last_dashboard(home: Path) -> DashboardInfo | None:
    """What the last dashboard of this home wrote down; None when there was none, or the file is damaged."""
    try:
        return DashboardInfo.model_validate(read_object(home / FOLDER / STATE))
    except (FileNotFoundError, RecordDamaged, ValidationError):
        return None


@contextlib.contextmanager
def present(home: Path, url: str, *, guarded: bool) -> Iterator[bool]:
    """Within this, others are told of this process's dashboard; not of a second one: then it is False."""
    folder = home / FOLDER
    make_folder(folder)
    lock = FileLock(folder / LIFE_LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        yield False
        return
    try:
        info = DashboardInfo(**own_facts(folder, who()), url=url, guarded=guarded)
        write_file(folder / STATE, encode(info.model_dump(mode="json")))
        yield True
    finally:
        lock.release()


def dashboard_address(settings: Settings) -> str | None:
    """Where links of Prefect's pages lead: what the settings name, else the dashboard that runs now. Without a slash at
    the end; None where there is nothing to lead to."""
    if settings.dashboard.url is not None:
        return settings.dashboard.url.rstrip("/") if is_address(settings.dashboard.url) else None
    info = running_dashboard(settings.home)
    return info.url if info is not None else None


def is_address(url: str) -> bool:
    """Whether a link may lead there: a page of the web, no password in it, nothing that ends a link in Markdown."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    fit = parts.scheme in {"http", "https"} and parts.hostname and "@" not in parts.netloc
    return bool(fit) and url.isprintable() and not set(url) & set(" ()[]<>\"'`\\")
