"""Models: what a name means, and what is known of windows and prices without asking anybody."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atomic.errors import ModelRefError
from atomic.models import LEVELS, ModelCatalog, ModelEntry, ModelRef, Price
from atomic.models.agent_folder import AGENT_WINDOW, agent_folder, read_agent_models
from atomic.verdict.facts import Usage


@pytest.mark.parametrize(
    ("text", "provider", "name", "level"),
    [
        ("openai/gpt-5.2", "openai", "gpt-5.2", None),
        ("anthropic/claude-opus-4-5:high", "anthropic", "claude-opus-4-5", "high"),
        ("openrouter/qwen/qwen3-coder:free", "openrouter", "qwen/qwen3-coder:free", None),
        ("ollama/llama3.1:8b", "ollama", "llama3.1:8b", None),
        ("ollama/llama3.1:latest:low", "ollama", "llama3.1:latest", "low"),
        ("openrouter/x/y:HIGH", "openrouter", "x/y:HIGH", None),
        ("a/high", "a", "high", None),
    ],
)
def test_a_level_is_only_what_follows_the_last_colon_and_is_one(
    text: str, provider: str, name: str, level: str | None
) -> None:
    ref = ModelRef.parse(text)
    assert (ref.provider, ref.id, ref.level) == (provider, name, level)
    assert str(ref) == text
    assert ref.name == f"{provider}/{name}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("gpt-5.2", "no provider"),
        ("/gpt-5.2", "provider before '/' is empty"),
        ("openai/", "id after '/' is empty"),
        ("openai/:high", "id after '/' is empty"),
        ("openai/gpt:", "nothing follows"),
        ("openai/gpt 5", "blank"),
        ("openai/gpt\n", "blank"),
        ("openai/g\x1b[2Jpt", "control code"),
        ("--model/x", "option"),
    ],
)
def test_a_name_that_is_none_is_refused_with_the_reason_and_an_example(text: str, why: str) -> None:
    with pytest.raises(ModelRefError, match="does not name a model") as caught:
        ModelRef.parse(text)
    assert why in caught.value.message
    assert "anthropic/claude-opus-4-5" in (caught.value.hint or "")
    assert caught.value.text == text
    assert not any(ord(char) < 32 for char in caught.value.message)


def test_a_whole_file_given_as_a_name_is_not_repeated_whole() -> None:
    with pytest.raises(ModelRefError) as caught:
        ModelRef.parse("x" * 100_000)
    assert len(caught.value.message) < 300


words = st.text("abcxyz019.-_", min_size=1, max_size=8).filter(lambda word: not word.startswith("-"))


@settings(deadline=None)
@given(words, st.lists(words, min_size=1, max_size=3).map("/".join), st.sampled_from([None, *LEVELS]))
def test_a_reference_reads_back_as_it_was_written(provider: str, name: str, level: str | None) -> None:
    ref = ModelRef(provider, name, level)
    assert ModelRef.parse(str(ref)) == ref


def models_json(folder: Path, text: str) -> Path:
    (folder / "models.json").write_text(text, "utf-8")
    return folder


def test_the_agent_s_own_models_json_tells_windows_and_prices(tmp_path: Path) -> None:
    declared = [
        {"id": "big", "contextWindow": 262144, "cost": {"input": 1, "output": 2, "cacheRead": 0.5, "cacheWrite": 0}},
        {"id": "plain"},
        {"id": "free", "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}},
    ]
    providers = {
        "ollama": {"baseUrl": "http://localhost", "models": declared},
        "openai": {"modelOverrides": {"gpt-5.2": {"contextWindow": 50_000}}},
    }
    catalog = ModelCatalog(agent=read_agent_models(models_json(tmp_path, json.dumps({"providers": providers}))))
    big, plain, free = (ModelRef.parse(f"ollama/{name}") for name in ("big", "plain", "free"))
    assert catalog.window(big) == 262144
    assert catalog.window(plain) == AGENT_WINDOW
    assert catalog.window(ModelRef.parse("openai/gpt-5.2:high")) == 50_000
    usage = Usage(input=1_000_000, output=1_000_000, cacheRead=1_000_000)
    assert catalog.cost(big, usage) == pytest.approx(3.5)
    assert catalog.cost(free, usage) == 0
    assert catalog.price_known(free)
    assert not catalog.price_known(plain)
    assert catalog.cost(plain, usage) is None


def test_comments_and_trailing_commas_are_read_as_the_agent_reads_them(tmp_path: Path) -> None:
    text = """{ // mine
      "providers": {"local": {"baseUrl": "http://x//y", "models": [
        {"id": "a,}b", "contextWindow": 7,}, // the small one
      ]}},
    }"""
    assert read_agent_models(models_json(tmp_path, text))["local/a,}b"].window == 7


@pytest.mark.parametrize("text", ["", "{", "[]", '{"providers": []}', '{"providers": {"a": 1, "b": {"models": {}}}}'])
def test_a_models_json_that_is_none_tells_nothing_and_breaks_nothing(tmp_path: Path, text: str) -> None:
    assert read_agent_models(models_json(tmp_path, text)) == {}
    assert read_agent_models(tmp_path / "missing") == {}


@pytest.mark.parametrize("wrong", ["many", -1, 0, True, 1.5, None])
def test_a_window_that_is_none_is_not_believed(tmp_path: Path, wrong: object) -> None:
    data = {"providers": {"p": {"models": [{"id": "m", "contextWindow": wrong, "cost": {"input": "x"}}]}}}
    assert read_agent_models(models_json(tmp_path, json.dumps(data)))["p/m"] == ModelEntry(window=AGENT_WINDOW)


def test_the_agent_s_folder_is_found_by_its_variables_then_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ATOMIC_CODING_AGENT_DIR", raising=False)
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "outer"))
    assert agent_folder({}) == tmp_path / "outer"
    assert agent_folder({"ATOMIC_CODING_AGENT_DIR": str(tmp_path / "own")}) == tmp_path / "own"
    monkeypatch.delenv("PI_CODING_AGENT_DIR")
    home = {"HOME": str(tmp_path)}
    (tmp_path / ".pi" / "agent").mkdir(parents=True)
    assert agent_folder(home, ("/usr/bin/atomic",)) == tmp_path / ".pi" / "agent"
    (tmp_path / ".atomic" / "agent").mkdir(parents=True)
    assert agent_folder(home, ("/usr/bin/atomic",)) == tmp_path / ".atomic" / "agent"
    assert agent_folder(home, ("/usr/bin/pi",)) == tmp_path / ".pi" / "agent"


def test_the_agent_s_word_goes_before_the_user_s_and_that_before_what_is_published() -> None:
    ref = ModelRef.parse("anthropic/claude-opus-4-5")
    assert ModelCatalog().window(ref) == 200_000
    table = {ref.name: ModelEntry(window=5, price=Price(input=1, output=1))}
    assert ModelCatalog(table=table).window(ref) == 5
    assert ModelCatalog(agent={ref.name: ModelEntry(window=6)}, table=table).window(ref) == 6
    assert ModelCatalog(agent={ref.name: ModelEntry(window=6)}, table=table).cost(ref, Usage(input=1_000_000)) == 1


def test_a_cost_is_the_stream_s_own_else_by_the_price_else_unknown_and_never_nothing() -> None:
    catalog = ModelCatalog()
    known, unknown = ModelRef.parse("anthropic/claude-opus-4-5:high"), ModelRef.parse("nobody/knows")
    assert catalog.cost(known, Usage(input=5, cost_usd=0.25)) == 0.25
    # $5 a million input, $25 output, $0.50 read from the cache: cached tokens are not paid twice.
    usage = Usage(input=100_000, output=10_000, cacheRead=1_000_000, cost_usd=0)
    assert catalog.cost(known, usage) == pytest.approx(0.5 + 0.25 + 0.5)
    assert catalog.cost(unknown, usage) is None
    assert not catalog.price_known(unknown)
    assert catalog.window(unknown) is None


def test_what_is_published_is_known_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a model's price asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert ModelCatalog().price_known(ModelRef.parse("openai/gpt-5.2"))


def test_the_price_table_is_not_imported_before_it_is_needed() -> None:
    code = "import sys, atomic.policy, atomic.models; sys.exit('genai_prices' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("a/b:hihg", "high"),
        ("a/b:HIGH", "high"),
        ("a/b:meduim", "medium"),
        ("a/b:xhihg", "xhigh"),
        ("a/b:high", None),
        ("ollama/llama3:8b", None),
        ("openrouter/x/y:free", None),
        ("ollama/phi3:mini", None),
        ("ollama/llama3:latest", None),
        ("a/hihg", None),
    ],
)
def test_a_mistyped_level_is_told_from_ids_that_hold_colons(text: str, level: str | None) -> None:
    assert ModelRef.parse(text).meant_level == level
