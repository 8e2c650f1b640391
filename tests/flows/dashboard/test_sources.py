"""Where the dashboard finds Prefect's own pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from atomic.runner import open_store
from atomic.settings import load_settings
from flows.dashboard.sources import Sources
from flows.database import Database


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, None),
        ({"PREFECT_API_URL": "http://127.0.0.1:4200/api/"}, "http://127.0.0.1:4200"),
        ({"PREFECT_API_URL": "https://api.example.org/api/accounts/1/workspaces/2"}, None),
        ({"PREFECT_API_URL": "http://h/api", "PREFECT_UI_URL": "https://prefect.example.org/"}, "https://prefect.example.org"),
        ({"PREFECT_UI_URL": "javascript:alert(1)"}, None),
        ({"PREFECT_API_URL": "http://user:pass@host/api"}, None),
    ],
)  # fmt: skip
def test_prefects_pages_are_where_its_server_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str | None
) -> None:
    environ = {"ATOMIC_FLOWS_HOME": str(tmp_path), "HOME": str(tmp_path)}
    for name in ("PREFECT_API_URL", "PREFECT_UI_URL", "PREFECT_PROFILE", "PREFECT_PROFILES_PATH", "PREFECT_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**environ, **variables}.items():
        monkeypatch.setenv(name, value)
    settings = load_settings(tmp_path, environ=environ)
    database = Database.open(home=tmp_path)
    sources = Sources(settings, open_store(settings), database)
    assert sources.prefect_pages() == expected
    database.close()
