"""What changes while it is looked at: asked for anew every few seconds, and not at all in a hidden tab."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from nicegui import Client, events, ui

from atomic.errors import DatabaseError
from flows.dashboard.elements import el

EVERY = 2.0  # seconds: progress that a person watches, and a question that costs the database next to nothing
_Facts = TypeVar("_Facts")


def follow(ask: Callable[[], _Facts], show: Callable[[_Facts], bool]) -> None:
    """Ask (in a thread) and show what is found, until ``show`` says that nothing more is to come, or the page is left.
    Where the database does not answer, the next time it may."""

    async def tick() -> None:
        try:
            found = await asyncio.to_thread(ask)
        except DatabaseError:
            return
        if not show(found):
            timer.cancel()

    def looked_at(event: events.GenericEventArguments) -> None:
        timer.active = event.args.get("detail") is not False

    timer = ui.timer(EVERY, tick, immediate=False)
    el("span", None, "unseen", data_live=True, aria_hidden="true").on("lookedat", looked_at, ["detail"])


def looked_at() -> bool:
    """Whether anybody has a page open. From any thread."""
    return any(client.has_socket_connection for client in list(Client.instances.values()))
