"""Fixtures: one provider for all, and for each test a real agent of each release."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.e2e.real import AGENT_FOLDER, RealAgent, set_up
from tests.e2e.releases import RELEASES, Release
from tests.loopback.provider import Provider


@pytest.fixture(scope="session")
def provider() -> Iterator[Provider]:
    with Provider() as listening:
        yield listening


@pytest.fixture(params=RELEASES, ids=str)
def real(request: pytest.FixtureRequest, provider: Provider, tmp_path: Path) -> Iterator[RealAgent]:
    """A real agent. Whatever a test that failed left running is ended: it has the agent's folder in its environment."""
    release: Release = request.param
    real = set_up(release, provider, tmp_path)
    yield real
    for process in psutil.process_iter():
        try:
            if process.environ().get(AGENT_FOLDER) == real.agent.env[AGENT_FOLDER]:
                process.kill()
        except psutil.Error:
            pass  # gone meanwhile, or somebody else's
