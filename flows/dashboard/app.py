"""The app: our routes and pages, NiceGUI below them, the guard around all.

NiceGUI keeps its pages in one place for the whole process: there is one dashboard in a process.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from starlette.types import ASGIApp

from atomic.errors import UsageError
from flows.dashboard.guard import Rules
from flows.dashboard.sources import Sources

INSTALL = 'pip install "atomic-flows[dashboard]"'
RECONNECT = 10.0  # seconds for which the server keeps a page whose connection was lost: a laptop's lid, a tunnel


def is_installed() -> bool:
    """Whether the extra `dashboard` is there. Imports nothing."""
    return importlib.util.find_spec("nicegui") is not None


def require_library(home: Path) -> None:
    """Make ready for NiceGUI, which comes with the extra `dashboard`. Raises UsageError where it is not installed."""
    # Nothing is stored there; without it, NiceGUI would look for its files in the working folder.
    os.environ["NICEGUI_STORAGE_PATH"] = str(home / "dashboard" / "storage")
    os.environ.pop("NICEGUI_REDIS_URL", None)
    if not is_installed():
        raise UsageError("the dashboard needs NiceGUI, which is not installed", hint=INSTALL)


def build_app(sources: Sources, rules: Rules) -> ASGIApp:
    """The whole app. To be called once in a process, after ``require_library``."""
    from fastapi import FastAPI
    from nicegui import core, ui
    from starlette.staticfiles import StaticFiles

    from flows.dashboard import layout, pages, static
    from flows.dashboard.doors import Doors
    from flows.dashboard.login import login_router

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.include_router(login_router(rules.token))
    app.mount("/static", StaticFiles(directory=static.FOLDER))
    layout.add_shared_head()
    pages.register(app, sources)
    core.app.config.socket_io_js_transports = ["websocket"]
    core.app.config.quasar_config["loadingBar"]["skipHijack"] = True
    ui.run_with(
        app,
        title=layout.NAME,
        favicon=static.FOLDER / "icon.svg",
        dark=None,
        language="en-US",
        reconnect_timeout=RECONNECT,
        tailwind=False,
        gzip_middleware_factory=None,
        show_welcome_message=False,
    )
    return Doors(app, rules)
