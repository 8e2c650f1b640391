"""Which Prefect a command talks to, decided before Prefect is imported."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import httpx

from atomic.errors import ServerError
from atomic.settings.places import find_home, user_folder
from flows.server.environment import quiet, wire
from flows.server.facts import ServerInfo
from flows.server.local import ensure_server
from flows.server.private import PrivateServer, start_private

Mode = Literal["auto", "local", "ephemeral"]
Kind = Literal["environment", "profile", "local", "ephemeral"]
REACH_TIMEOUT = 10.0  # seconds for a server somewhere else


@dataclass(frozen=True, slots=True)
class Choice:
    """The Prefect that was chosen. ``info`` is there for a server of ours, ``profile`` where the user's named it."""

    kind: Kind
    url: str
    info: ServerInfo | None = None
    profile: str | None = None
    private: PrivateServer | None = None

    def close(self) -> None:
        """End what was started for this process alone; a shared server goes on."""
        if self.private is not None:
            self.private.close()


def choose(mode: Mode = "auto", *, home: Path | None = None, meanwhile: Callable[[], None] | None = None) -> Choice:
    """Find the Prefect to use, start it where it is ours, and set the environment for it.

    ``auto`` takes PREFECT_API_URL, else the user's active profile where it names a server, else the server of ``home``
    (default: ATOMIC_FLOWS_HOME), as ``local`` always does. Settings files of the working folder are not asked: a folder
    one has cloned must not say where prompts are sent. ``meanwhile`` is called once the environment is set and may
    import Prefect while the server still starts. Raises ServerError.
    """
    given = named_server(os.environ) if mode == "auto" else None
    quiet()
    if given is not None:
        os.environ["PREFECT_API_URL"] = given.url
        _reach(given)
        if meanwhile is not None:
            meanwhile()
        return given
    home = home or find_home()

    def wired(info: ServerInfo) -> None:
        wire(info)
        if meanwhile is not None:
            meanwhile()

    if mode == "ephemeral":
        os.environ["PREFECT_LOGGING_TO_API_ENABLED"] = "false"  # nobody can read them there afterwards
        server = start_private(home, meanwhile=wired)
        return Choice("ephemeral", server.info.url, info=server.info, private=server)
    info = ensure_server(home, meanwhile=wired)
    return Choice("local", info.url, info=info)


def named_server(environ: Mapping[str, str]) -> Choice | None:
    """The server that the environment or the user's active profile names."""
    if url := environ.get("PREFECT_API_URL"):
        return Choice("environment", url)
    file = _profiles_file(environ)
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None  # Prefect itself says what is wrong with it
    name = environ.get("PREFECT_PROFILE") or data.get("active")
    profiles = data.get("profiles")
    profile = profiles.get(name) if isinstance(profiles, dict) else None
    url = profile.get("PREFECT_API_URL") if isinstance(profile, dict) else None
    return Choice("profile", str(url), profile=str(name)) if url else None


def _profiles_file(environ: Mapping[str, str]) -> Path:
    if path := environ.get("PREFECT_PROFILES_PATH"):
        return Path(path)
    folder = environ.get("PREFECT_HOME")
    return (Path(folder) if folder else user_folder(environ) / ".prefect") / "profiles.toml"


def _reach(choice: Choice) -> None:
    """Any answer will do: whether the key is good, Prefect says itself."""
    try:
        httpx.get(f"{choice.url}/health", timeout=REACH_TIMEOUT)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        named = "PREFECT_API_URL" if choice.profile is None else f"the Prefect profile {choice.profile}"
        raise ServerError(
            f"the Prefect server that {named} names does not answer: {error}",
            hint="start it, unset it to use the local server, or run with --direct",
            url=choice.url,
        ) from error
