"""Fixtures: one provider for all, and for each test a real agent of each release."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.real import RealAgent, set_up
from tests.e2e.releases import RELEASES, Release
from tests.loopback.provider import Provider


@pytest.fixture(scope="session")
def provider() -> Iterator[Provider]:
    with Provider() as listening:
        yield listening


@pytest.fixture(params=RELEASES, ids=str)
def real(request: pytest.FixtureRequest, provider: Provider, tmp_path: Path) -> RealAgent:
    release: Release = request.param
    return set_up(release, provider, tmp_path)
