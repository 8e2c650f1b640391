"""Where settings live: the home, the user's file, the project's file."""

from __future__ import annotations

import contextlib
import os
import pwd
from collections.abc import Mapping
from pathlib import Path

from atomic.errors import PlaceError, SettingsError

FILE_NAME = "atomic-flows.toml"
HOME_VARIABLE = "ATOMIC_FLOWS_HOME"


def user_folder(environ: Mapping[str, str]) -> Path:
    """The user's home folder: ``HOME``, else what the system's user database says. Raises SettingsError for none."""
    if environ.get("HOME"):
        return Path(environ["HOME"])
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        raise SettingsError(
            "HOME is not set, and the system knows no home folder of this user",
            hint=f"set {HOME_VARIABLE} to a folder for the state of atomic-flows",
            key=HOME_VARIABLE,
        ) from None


def expand(text: str, environ: Mapping[str, str]) -> Path:
    """A path with its leading ``~`` replaced."""
    if text == "~" or text.startswith("~/"):
        return user_folder(environ) / text[2:]
    return Path(text)


def find_home(environ: Mapping[str, str] = os.environ) -> Path:
    """The state's folder, absolute: ``ATOMIC_FLOWS_HOME``, else ``~/.atomic-flows``. It need not exist yet."""
    given = environ.get(HOME_VARIABLE)
    home = expand(given, environ) if given else user_folder(environ) / ".atomic-flows"
    try:
        fit = not home.exists() or home.is_dir()
    except OSError as error:  # a name that is too long
        raise SettingsError(
            f"{home} cannot be the home: {(error.strerror or str(error)).lower()}",
            hint=f"set {HOME_VARIABLE} to a folder that can be made",
            key=HOME_VARIABLE,
        ) from None
    if not fit:
        raise SettingsError(
            f"{home} is not a folder",
            hint=f"set {HOME_VARIABLE} to a folder, or move that file away",
            key=HOME_VARIABLE,
        )
    return Path(os.path.realpath(home))  # unlike `resolve` it takes links that lead in a circle


def find_project_file(cwd: Path, home: Path) -> Path | None:
    """The nearest ``atomic-flows.toml`` in `cwd` or above; never the user's own, which is no project's. Folders that
    may not be looked into hold none. Raises PlaceError where the working folder is gone."""
    try:
        folder = Path(os.path.realpath(cwd))
    except FileNotFoundError:
        raise PlaceError(
            "the working folder does not exist any more", hint="cd to one that does", path=str(cwd), reason="missing"
        ) from None
    for place in (folder, *folder.parents):
        with contextlib.suppress(PermissionError):
            if place != home and os.path.lexists(place / FILE_NAME):  # what cannot be read is told, not passed over
                return place / FILE_NAME
    return None
