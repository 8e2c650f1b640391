from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.cli.spoken import spoken
from tests.flows.conftest import CommandLine

OVERLOADED = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (OVERLOADED, "Overloaded"),
        (f"529 {OVERLOADED}", "529 Overloaded"),
        ('404: {"message":"unknown model a/b","type":"invalid_request_error"}', "404: unknown model a/b"),
        ('400 {"error":{"message":"{\\"error\\":{\\"code\\":400,\\"message\\":\\"too long\\"}}"}}', "400 too long"),
        ('{"error": "no such model"}', "no such model"),
        ('{"detail": "slow down"} (request 7)', "slow down (request 7)"),
        ('429 {"error":{"message":"Rate limit reached for req', "429 Rate limit reached for req…"),
        ('{"code": 7}', '{"code": 7}'),
        ("{not json", "{not json"),
        ("the last message has no text", "the last message has no text"),
    ],
)
def test_it_is_the_message_that_a_person_reads(text: str, says: str) -> None:
    assert spoken(text) == says


@given(st.text())
def test_text_without_json_stays(text: str) -> None:
    if "{" not in text:
        assert spoken(text) == text


@given(st.recursive(st.none() | st.text() | st.integers(), lambda one: st.dictionaries(st.text(), one)))
def test_no_json_is_too_odd(value: object) -> None:
    assert isinstance(spoken(f"500 {json.dumps(value)}"), str)


def test_a_run_says_things_once_and_in_words(cli: CommandLine) -> None:
    models = ("-m", "a/rate-limit", "-m", "b/rate-limit", "-m", "b/ok")
    done = cli.scripted(*models, "--max-cost", "2", "x")
    assert done.code == 0
    assert "rate_limit  429: Rate limit reached for requests\n" in done.err
    assert "b/rate-limit  another provider's model after rate_limit\n" in done.err
    assert "b/ok  the next model after rate_limit\n" in done.err
    assert "at most $2, all attempts together" in done.err
    assert "attempts 1, 2: the agent itself tried again 2 times" in done.err
    raw = cli("record", "cat", "latest/1").out
    assert '\\"type\\":\\"rate_limit_error\\"' in raw, "the record has the whole"


def test_where_the_policy_stopped_it_says_what_would_go_on(cli: CommandLine) -> None:
    done = cli.scripted("-m", "a/refusal", "-m", "b/ok", "x")
    assert '[policy.default.on] refusal = "next" would go on after refusal' in done.err
    assert "one model was tried" not in done.err
    assert "one model was tried" in cli.scripted("-m", "a/quota", "x").err
