"""`models`: windows and prices by what is known, and providers that are asked for nothing but their lists."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.flows.conftest import CommandLine
from tests.loopback.provider import Provider

KEY = "loopback-very-secret"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as listening:
        listening.require_key("locked", KEY)
        yield listening


@pytest.fixture(autouse=True)
def agent_folder(cli: CommandLine, tmp_path: Path, provider: Provider) -> Path:
    folder = tmp_path / "agent"
    folder.mkdir()
    cost = {"input": 1.5, "output": 6, "cacheRead": 0.1, "cacheWrite": 0}
    good = {
        "baseUrl": provider.base_url("locked"),
        "api": "openai-completions",
        "apiKey": "$FAKE_KEY",
        "models": [{"id": "ok", "contextWindow": 64_000, "cost": cost}, {"id": "nosuch"}],
    }
    bad = {**good, "apiKey": "wrong-key-4711", "models": [{"id": "ok"}]}
    (folder / "models.json").write_text(json.dumps({"providers": {"fake": good, "bad": bad}}))
    cli.environ |= {
        "HOME": str(tmp_path),
        "PI_CODING_AGENT_DIR": str(folder),
        "ATOMIC_CODING_AGENT_DIR": str(folder),
        "FAKE_KEY": KEY,
    }
    return folder


def rows(cli: CommandLine, *args: str) -> dict[str, dict[str, Any]]:
    done = cli("models", "--json", *args)
    assert done.code == 0, done.err
    assert KEY not in done.out + done.err
    return {row["model"]: row for row in json.loads(done.out)["models"]}


def test_windows_prices_and_reach(cli: CommandLine) -> None:
    (cli.project / "atomic-flows.toml").write_text(
        '[policy.default]\nmodels = ["anthropic/claude-opus-4-5:high", "fake/ok"]\n'
        '[policy.other]\nmodels = ["nobody/x"]\n[model."nobody/x"]\nwindow = 1000\n'
    )
    found = rows(cli)
    assert list(found) == ["anthropic/claude-opus-4-5", "fake/ok", "nobody/x", "fake/nosuch", "bad/ok"]
    fake = found["fake/ok"]
    assert (fake["window"], fake["reach"], fake["listed"], fake["key"]) == (64_000, "reachable", True, "FAKE_KEY")
    assert fake["price"] == {"input": 1.5, "output": 6.0, "cacheRead": 0.1, "cacheWrite": 0.0}
    assert found["fake/nosuch"]["listed"] is False
    assert found["bad/ok"]["reach"] == "key_refused"
    assert (found["nobody/x"]["window"], found["nobody/x"]["price"]) == (1000, None)
    opus = found["anthropic/claude-opus-4-5"]
    assert (opus["window"], opus["price"]["input"], opus["price"]["output"]) == (200_000, 5.0, 25.0)
    assert opus["reach"] == "no_key"


def test_for_people_it_is_a_table(cli: CommandLine) -> None:
    done = cli("models", "fake/ok", "bad/ok")
    head, fake, bad = done.out.splitlines()
    assert head.split() == ["model", "window", "$/M", "in", "$/M", "out", "provider"]
    assert fake.split() == ["fake/ok", "64.0k", "1.5", "6", "reachable", "with", "FAKE_KEY"]
    assert "key refused with models.json: Incorrect API key provided" in bad
    assert "wrong-key-4711" not in done.out


def test_offline_asks_nobody(cli: CommandLine) -> None:
    found = rows(cli, "--offline")
    assert {row["reach"] for row in found.values()} == {None}
    assert "not asked" in cli("models", "--offline").out


def test_a_name_that_is_none_is_a_usage_error(cli: CommandLine) -> None:
    done = cli("models", "gpt-5.2")
    assert (done.code, done.out) == (2, "")
    assert "does not name a model" in done.err


def test_where_no_model_is_named_it_says_how_to_find_some(cli: CommandLine, agent_folder: Path) -> None:
    (agent_folder / "models.json").unlink()
    done = cli("models")
    assert (done.code, done.out) == (0, "")
    assert "atomic-flows init" in done.err
