"""Folders: can be written to what will be written, and is there room."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from atomic.agent import Agent
from atomic.errors import AtomicError
from atomic.models.agent_folder import agent_folder
from atomic.providers.find import AUTH_FILE
from atomic.runner import open_store
from atomic.settings import Settings
from flows.doctor.findings import Finding, fail, ok, warn

ABOUT = "folders"
LITTLE = 500 << 20  # bytes; a long session writes tens of MiB, a Prefect database hundreds
_PASSWORD = re.compile(r"(?<=://)[^/@]*@")
HOME_TO_DO = "set ATOMIC_FLOWS_HOME to a folder of yours"
RECORDS_TO_DO = "set [record] url (and spool) to a folder of yours"


def check_places(settings: Settings) -> list[Finding]:
    """The home, the records and the folder for temporary files."""
    findings = [_writable("home", settings.home, HOME_TO_DO)]
    try:
        store = open_store(settings)
    except AtomicError as error:
        findings.append(fail(ABOUT, f"records: {error.message}", error.hint or RECORDS_TO_DO))
    else:
        if "://" in settings.records and not settings.records.startswith(("file:", "local:")):
            shown = _PASSWORD.sub("", settings.records)
            findings.append(ok(ABOUT, f"records go to {shown} when a run has ended (not tried here)"))
        findings.append(_writable("records", store.spool, RECORDS_TO_DO))
    try:
        temporary = Path(tempfile.gettempdir())
    except OSError:
        findings.append(fail(ABOUT, "there is no folder for temporary files", "set TMPDIR to a folder of yours"))
    else:
        findings.append(_writable("temporary files", temporary, "set TMPDIR to a folder of yours"))
    return findings


def check_work_folder(cwd: Path) -> list[Finding]:
    """The folder that the agent works in."""
    if not cwd.is_dir():
        return [fail(ABOUT, f"the agent cannot work in {cwd}: it is no folder", "give one by --cwd")]
    reason = why_not_writable(cwd)
    if reason is not None:
        return [warn(ABOUT, f"the agent can change nothing in {cwd}: {reason}", "give another folder by --cwd")]
    return []


def check_agent_folder(agent: Agent) -> list[Finding]:
    """The agent's own folder. It locks its files there to read them, so that even keys cannot be read where it cannot
    write."""
    folder = agent_folder(agent.env, agent.command)
    if not folder.is_dir():
        return []
    reason = why_not_writable(folder)
    if reason is None:
        return [ok(ABOUT, f"the agent's own folder is {folder}")]
    what = f"the agent cannot write to its own folder {folder}: {reason}"
    to_do = "make it writable, or copy it and set PI_CODING_AGENT_DIR (ATOMIC_CODING_AGENT_DIR) to the copy"
    if (folder / AUTH_FILE).exists():
        return [fail(ABOUT, f"{what}; it then does not read its {AUTH_FILE} either", to_do)]
    return [warn(ABOUT, what, to_do)]


def why_not_writable(folder: Path) -> str | None:
    """Why no file can be made in a folder (or, where it is not there yet, in the nearest one above); None when one
    can be. It is tried: rights do not tell of full disks, quotas and read-only file systems."""
    place = next((each for each in (folder, *folder.parents) if os.path.lexists(each)), Path("/"))
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"\0")
            file.flush()
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return None


def _writable(name: str, folder: Path, to_do: str) -> Finding:
    reason = why_not_writable(folder)
    if reason is not None:
        return fail(ABOUT, f"{name}: cannot write to {folder}: {reason}", to_do)
    place = next(each for each in (folder, *folder.parents) if each.exists())
    free = shutil.disk_usage(place).free
    if free < LITTLE:
        return warn(ABOUT, f"{name}: only {free >> 20} MiB are free at {folder}", "free some space there")
    return ok(ABOUT, f"{name}: {folder}")
