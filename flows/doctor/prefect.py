"""Prefect: which one runs go through, and whether it answers."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from urllib.parse import urlsplit, urlunsplit

import httpx

from atomic.settings import Settings
from flows.doctor.findings import Finding, fail, ok
from flows.server import named_server, server_status
from flows.server.facts import FOLDER

ABOUT = "prefect"
PATIENCE = 5.0  # seconds for a server somewhere else
DIRECT = "--direct does without Prefect"


def check_prefect(settings: Settings) -> list[Finding]:
    """The Prefect of these settings."""
    mode = settings.prefect.mode
    if mode == "direct":
        return [ok(ABOUT, "runs go without Prefect, as [prefect] mode says")]
    try:
        installed = version("prefect")
    except PackageNotFoundError:
        return [fail(ABOUT, "Prefect is not installed", f"pip install prefect; {DIRECT}")]
    named = named_server(os.environ) if mode == "auto" else None
    if named is not None:
        by = "PREFECT_API_URL" if named.profile is None else f"the Prefect profile {named.profile}"
        return [_ask(named.url, by)]
    if mode == "ephemeral":
        return [ok(ABOUT, f"Prefect {installed}: a server for each command, as [prefect] mode says")]
    return [_own(settings, installed)]


def _ask(url: str, by: str) -> Finding:
    """Any answer will do: whether its key is good, Prefect says itself."""
    shown = _shown(url)
    try:
        httpx.get(f"{url.rstrip('/')}/health", timeout=PATIENCE)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, OSError) as error:
        what = f"the server that {by} names, {shown}, does not answer ({type(error).__name__})"
        return fail(ABOUT, what, f"start it, or unset it to use the local server; {DIRECT}")
    return ok(ABOUT, f"{shown} answers, as {by} says")


def _own(settings: Settings, installed: str) -> Finding:
    status = server_status(settings.home) if (settings.home / FOLDER).is_dir() else None
    if status is None or not status.running or status.info is None:
        return ok(ABOUT, f"Prefect {installed}: the local server is not running, the first run starts it")
    if status.info.version != installed:
        what = f"the local server is Prefect {status.info.version}, installed is {installed}"
        return fail(ABOUT, what, "`atomic-flows down`; the next run starts the new one")
    if not status.healthy:
        what = f"the local server runs (pid {status.info.pid}) and does not answer; its log: {status.info.log}"
        return fail(ABOUT, what, f"`atomic-flows down`, then `atomic-flows up`; {DIRECT}")
    return ok(ABOUT, f"Prefect {installed}: the local server answers at {status.info.dashboard}")


def _shown(url: str) -> str:
    """The address without a name and password in it."""
    try:
        parts = urlsplit(url)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=""))
    except ValueError:
        return "an address that is none"
