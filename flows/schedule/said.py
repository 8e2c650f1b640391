"""What happens while schedules are served: frozen facts for whoever watches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from flows.schedule.deployments import Registered


@dataclass(frozen=True, slots=True)
class Serving:
    """It has begun. ``missed``: scheduled times that nobody was there for, ``upcoming``: the next ones; both by the
    schedules' names, in seconds since the epoch."""

    registered: tuple[Registered, ...]
    missed: Mapping[str, list[float]]
    upcoming: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TurnBegan:
    """A flow run was started."""

    name: str
    flow_run_id: UUID


@dataclass(frozen=True, slots=True)
class Missed:
    """Scheduled times that went by while the server was away."""

    name: str
    times: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A flow run ended in this state."""

    name: str
    flow_run_id: UUID
    state: str
    message: str


@dataclass(frozen=True, slots=True)
class TakenUp:
    """An edition that was cut off is gone on with."""

    name: str
    edition: str
    left: int


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """An edition was cut off, and is not gone on with by itself. ``deployment`` is what goes on with it when it is told
    to, ``again``: it was gone on with as often as it may be."""

    name: str
    edition: str
    left: int
    deployment: str
    again: bool


@dataclass(frozen=True, slots=True)
class ServerAway:
    """Prefect's server does not answer. What is at work goes on."""

    said: str


@dataclass(frozen=True, slots=True)
class ServerBack:
    """It answers again."""


@dataclass(frozen=True, slots=True)
class FileChanged:
    """The file of the schedules is no longer what is served."""


Served = Serving | Missed | TurnBegan | TurnEnded | TakenUp | LeftBehind | ServerAway | ServerBack | FileChanged
OnServed = Callable[[Served], None]
