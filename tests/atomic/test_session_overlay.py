"""Settings laid over the agent's own for one attempt: the user's files stay as they are."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atomic.agent import Agent
from atomic.errors import SettingsError
from atomic.runner import prepare
from atomic.session import check_overlay, run_attempt
from atomic.session.overlay import merged
from atomic.verdict.facts import Status
from tests.agents import Place, answer

LOOK = (
    'cat "$PI_CODING_AGENT_DIR/settings.json" > settings\n'
    'cat "$ATOMIC_CODING_AGENT_DIR/models.json" > models\n'
    'ls "$PI_CODING_AGENT_DIR/skills" > skills\n'
    'echo changed > "$PI_CODING_AGENT_DIR/settings.json"\n'
    'echo new > "$PI_CODING_AGENT_DIR/new.json"\n'
)
SETTINGS = {"retry": {"enabled": False}, "fallbackModels": []}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The user's own folder of the agent."""
    folder = tmp_path / "own"
    (folder / "skills").mkdir(parents=True)
    (folder / "skills" / "one.md").touch()
    (folder / "models.json").write_text('{"providers": {}}')
    (folder / "settings.json").write_text('{"retry": {"enabled": true, "maxRetries": 5}, "theme": "dark"}')
    (folder / "auth.json").write_text('{"some": {"type": "api_key", "key": "k"}}')
    return folder


def everything(folder: Path) -> dict[str, bytes | None]:
    return {
        os.fspath(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")
    }


async def test_settings_are_merged_and_the_rest_is_linked(place: Place, own: Path) -> None:
    before = everything(own)
    agent = place.agent(LOOK + answer(), env={"PI_CODING_AGENT_DIR": str(own)}, settings=SETTINGS)
    record = await place.run(agent)
    assert record.status is Status.ANSWERED
    assert json.loads((place.work / "settings").read_text()) == {
        "retry": {"enabled": False, "maxRetries": 5},
        "theme": "dark",
        "fallbackModels": [],
    }
    assert (place.work / "models").read_text() == '{"providers": {}}'
    assert (place.work / "skills").read_text() == "one.md\n"
    assert everything(own) == before
    assert not (place.path(record) / "agent").exists(), "links to the user's keys do not stay in the record"


async def test_without_settings_the_agent_keeps_its_own_folder(place: Place, own: Path) -> None:
    agent = place.agent('echo "$PI_CODING_AGENT_DIR" > dir\n' + answer(), env={"PI_CODING_AGENT_DIR": str(own)})
    await place.run(agent)
    assert (place.work / "dir").read_text() == f"{own}\n"


async def test_an_agent_without_a_folder_of_its_own_gets_one(place: Place) -> None:
    env = {"PI_CODING_AGENT_DIR": str(place.folder / "none")}
    agent = place.agent('cat "$PI_CODING_AGENT_DIR/settings.json" > settings\n' + answer(), env=env, settings=SETTINGS)
    await place.run(agent)
    assert json.loads((place.work / "settings").read_text()) == SETTINGS
    assert not (place.folder / "none").exists()


async def test_oauth_credentials_are_refused_before_anything_is_spent(place: Place, own: Path) -> None:
    (own / "auth.json").write_text('{"a": {"type": "oauth"}, "b": {"type": "api_key"}}')
    agent = Agent(command=("/bin/true",), env={"PI_CODING_AGENT_DIR": str(own)}, settings=SETTINGS)
    with pytest.raises(SettingsError, match=r"OAuth credentials \(a\)") as refused:
        check_overlay(agent)
    assert refused.value.file == str(own / "auth.json")
    spec = place.spec(agent)
    with pytest.raises(SettingsError):
        await run_attempt(spec)
    check_overlay(Agent(command=("/bin/true",), env={"PI_CODING_AGENT_DIR": str(own)}))


@pytest.mark.parametrize("text", ["{", "[]", "\xff"])
def test_settings_that_cannot_be_read_are_told(own: Path, text: str) -> None:
    (own / "settings.json").write_text(text, encoding="latin-1")
    agent = Agent(command=("/bin/true",), env={"PI_CODING_AGENT_DIR": str(own)}, settings=SETTINGS)
    with pytest.raises(SettingsError, match=r"settings\.json") as told:
        check_overlay(agent)
    assert told.value.hint


TABLES = st.recursive(
    st.integers() | st.lists(st.integers()), lambda inner: st.dictionaries(st.sampled_from("abc"), inner), max_leaves=8
).filter(lambda value: isinstance(value, dict))


@given(TABLES, TABLES)
def test_what_is_above_wins_and_nothing_else_is_lost(below: dict[str, object], above: dict[str, object]) -> None:
    result = merged(below, above)
    assert set(result) == set(below) | set(above)
    for key, value in result.items():
        if key not in above:
            assert value == below[key]
        elif isinstance(above[key], dict) and isinstance(below.get(key), dict):
            assert value == merged(below[key], above[key])  # type: ignore[arg-type]
        else:
            assert value == above[key]
    assert merged(result, above) == result


def test_a_run_is_refused_before_its_record_is_made(place: Place, own: Path) -> None:
    (own / "auth.json").write_text('{"a": {"type": "oauth"}}')
    agent = place.agent(answer(), env={"PI_CODING_AGENT_DIR": str(own)}, settings=SETTINGS)
    with pytest.raises(SettingsError, match="OAuth"):
        prepare("hello", agent=agent, cwd=place.work)
