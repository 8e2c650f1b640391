"""What a page says where there is none, and where making it went wrong: what went wrong is for the log."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import Response
from nicegui import Client, core, ui

from flows.dashboard.elements import el, link
from flows.dashboard.layout import frame, missing


def register() -> None:
    """In the place of NiceGUI's own."""

    @core.app.exception_handler(404)
    async def not_found(request: Request, _: Exception) -> Response:
        with Client(ui.page(""), request=request) as client:
            missing("There is no such page", request.url.path)
        return client.build_response(request, 404)

    core.app.on_page_exception(_failure)


def _failure() -> None:
    with frame("This page failed"):
        el("h1", "This page failed")
        el("p", "What went wrong is in the log of the dashboard.", "muted")
        link("All runs", "/runs")
