"""The schema of atomic-flows.toml accepts what loads, refuses what does not, and says what each key is."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from atomic.errors import AtomicError
from atomic.settings import load_settings, settings_schema
from flows.first_settings import Found, render

README = Path(__file__).parents[2] / "README.md"
SCHEMA = settings_schema()

GOOD = [
    "",
    'default_policy = "night"\nadopt = "follow"',
    '[policy.default]\nmodels = ["a/b:high", "openrouter/x/y:free"]\nmax_wait = 1.5\nafter_tools = "stop"',
    '[policy.n]\non = { overflow = "larger-window", network = { retry = 1, delay = 5, then = "next" } }',
    '[policy.n]\non = { empty = "accept" }',
    '[policy.n]\non = { overflow = { accept = "complete" } }\ncooldown = { rate_limit = 60 }',
    '[policy.a]\nmodels = ["a/b"]\n[policy.b]\nextends = "a"\nlimits = { total = 7200, cost_usd = 0.5, turns = 3 }',
    '[agent]\ncommand = ["node", "cli.js"]\nargs = ["--x"]\nenv = { A = "b" }\napprove = true',
    "[agent.settings.retry]\nenabled = false",
    '[record]\nurl = "s3://bucket/x"\nspool = "/tmp/x"\nfsync = false\nlevel = 9\nredact = true',
    '[prefect]\nmode = "direct"',
    '[model."my/model"]\nwindow = 1000\nprice = { input = 1, output = 2.5, cacheRead = 0 }',
]
BAD = [
    "polcy = 1",
    '[policy.default]\nmodels = "a/b"',
    '[policy.default]\nmodels = ["no-provider"]',
    '[policy.default]\nmodel = ["a/b"]',
    '[policy.default]\non = { overflo = "next" }',
    '[policy.default]\non = { overflow = "nxt" }',
    "[policy.default]\non = { overflow = { retry = -1 } }",
    "[policy.default]\nmax_attempts = 0",
    "[policy.default.limits]\nidel = 3",
    "[policy.default.limits]\nidle = -3",
    '[agent]\ncommand = "pi"',
    "[agent]\nenv = { A = 1 }",
    "[record]\nlevel = 99",
    '[record]\nfsync = "no"',
    '[prefect]\nmode = "none"',
    'home = "/x"',
    '[model."my/model"]\nwindow = 0',
]


def accepts(text: str) -> bool:
    return bool(Draft202012Validator(SCHEMA).is_valid(tomllib.loads(text)))


def loads(text: str, folder: Path) -> bool:
    file = folder / "some.toml"
    file.write_text(text)
    try:
        load_settings(folder, file, {"ATOMIC_FLOWS_HOME": str(folder / "home"), "HOME": str(folder)})
    except AtomicError:
        return False
    return True


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("text", GOOD)
def test_what_loads_is_accepted(text: str, tmp_path: Path) -> None:
    assert loads(text, tmp_path)
    assert accepts(text)


@pytest.mark.parametrize("text", BAD)
def test_what_does_not_load_is_refused(text: str, tmp_path: Path) -> None:
    assert not loads(text, tmp_path)
    assert not accepts(text)


def test_the_readme_and_a_first_file_are_accepted() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", README.read_text(), re.DOTALL)
    assert blocks
    for text in (*blocks, render(Found()), _uncommented(render(Found()))):
        Draft202012Validator(SCHEMA).validate(tomllib.loads(text))


def _uncommented(text: str) -> str:
    """The file with every default that it shows in force."""
    return re.sub(r"^#(?=\S)", "", text, flags=re.MULTILINE)


def test_every_key_says_what_it_is() -> None:
    assert list(_undescribed(SCHEMA)) == []


def _undescribed(schema: dict[str, Any]) -> Iterator[str]:
    tables = {"": SCHEMA, **schema["$defs"]}
    for name, table in tables.items():
        for key, value in table.get("properties", {}).items():
            if "description" not in value:
                yield f"{name}.{key}"
