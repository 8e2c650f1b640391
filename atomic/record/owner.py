"""Who carries a run out, and whether that process still lives."""

from __future__ import annotations

import functools
import getpass
import socket
from enum import Enum

from atomic.processes import ProcessId, boot_id, is_alive, own_id
from atomic.record.facts import Owner


class OwnerState(Enum):
    """What can be known of an owner from here."""

    LIVING = "living"
    DEAD = "dead"  # its process is gone, or the machine has been started anew since
    ELSEWHERE = "elsewhere"  # on another machine: nothing is known, so nothing of it is touched


@functools.cache
def host_name() -> str:
    """This machine's name."""
    return socket.gethostname()


@functools.cache
def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # an id without an entry in the user database, as containers have them
        return ""


def this_process() -> Owner:
    """This process as an owner."""
    own = own_id()
    return Owner(pid=own.pid, process_started=own.start_time, boot_id=boot_id(), host=host_name(), user=_user())


def state_of(owner: Owner) -> OwnerState:
    """Whether an owner lives. A process of another boot is never taken for alive."""
    if owner.host != host_name():
        return OwnerState.ELSEWHERE
    if owner.boot_id != boot_id() or not is_alive(ProcessId(owner.pid, owner.process_started)):
        return OwnerState.DEAD
    return OwnerState.LIVING
