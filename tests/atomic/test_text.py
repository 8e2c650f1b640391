from __future__ import annotations

import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atomic.text import MASK, Masker, is_secret_name, one_line, printable, slug


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n\tümläut 日本 👩‍👩‍👧", "plain\n\tümläut 日本 👩‍👩‍👧"),
        ("a\x1b[31;1mred\x1b[0mb", "aredb"),
        ("\x1b]0;title\x07x\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "xlink"),
        ("\x9b31mred \x1b(0x \x1bPq..\x1b\\y", "red x y"),
        ("\x1b]52;c;never ended\nnext", "\nnext"),
        ("one\r\ntwo\rthree\u2028four\x85five", "one\ntwo\nthree\nfour\nfive"),
        ("\x00a\x07\x08\x7fb\x9d", "ab"),
        ("user\u202egnp.exe\u202c \u2066x\u2069\u200f", "usergnp.exe x"),
        ("in\u200bvis\ufeffible\U000e0041", "invisible"),
        ("half \ud83d", "half �"),
        ("[bold]not markup[/bold]", "[bold]not markup[/bold]"),
    ],
)
def test_what_a_terminal_would_obey_is_gone(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(st.characters(), max_size=60))
def test_no_control_code_is_left_and_cleaning_twice_changes_nothing(text: str) -> None:
    shown = printable(text)
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]
    assert printable(shown) == shown
    shown.encode()


@given(st.text(max_size=300), st.integers(1, 50))
def test_one_line_is_one_line_within_its_limit(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1


def test_one_line_says_that_it_cut() -> None:
    assert one_line("  a\n\n b\t c ") == "a b c"
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("x" * 10_000_000, 5) == "xxxx…"


@given(st.text(max_size=200))
def test_a_slug_is_fit_for_a_key(text: str) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug(text))
    assert len(slug(text)) <= 60


def test_slugs_read_like_their_texts() -> None:
    assert slug("Nightly Triage: Überblick #3") == "nightly-triage-uberblick-3"
    assert slug("日本") != slug("中国")


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "GH_TOKEN", "db_password", "AWS_SECRET_ACCESS_KEY", "TOKEN"])
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["PATH", "MONKEY", "TOKENIZERS_PARALLELISM", "KEYBOARD", "COMPAT"])
def test_names_of_no_secrets(name: str) -> None:
    assert not is_secret_name(name)


def test_secrets_are_masked_whole_wherever_they_stand() -> None:
    mask = Masker.of({"A_KEY": "sk-12345", "B_TOKEN": "sk-12345-longer", "PATH": "/usr/bin"}, secrets=["given.secret"])
    assert mask("x sk-12345-longer sk-12345 givenXsecret given.secret /usr/bin") == (
        f"x {MASK} {MASK} givenXsecret {MASK} /usr/bin"
    )


def test_values_too_short_to_be_secrets_are_left() -> None:
    assert Masker.of({"DEBUG_KEY": "1", "E_KEY": ""})("a 1 b") == "a 1 b"


def test_a_private_key_is_masked_by_its_lines_and_as_json_writes_it() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSjAgEAAoIBAQ\n-----END KEY-----"
    masker = Masker.of({"DEPLOY_KEY": key})
    for text in (key, json.dumps(key), "it says MIIEvQIBADANBgkqhkiG9w0BAQEF there"):
        assert "MIIEvQ" not in masker(text)
        assert "AASCBK" not in masker.raw(text.encode()).decode()


def test_a_secret_that_a_cut_left_the_beginning_of_is_masked() -> None:
    masker = Masker(["sk-live-4242424242424242"])
    for length in range(1, 60):
        assert "sk-liv" not in masker(one_line("key sk-live-4242424242424242 is bad" + " x" * 40, length))


def test_passwords_in_addresses_are_secrets() -> None:
    masker = Masker.of({"DATABASE_URL": "postgres://me:pw-of-mine@db.example/x", "HOMEPAGE": "https://a.example/b:c@d"})
    assert masker("cannot reach postgres://me:pw-of-mine@db.example") == f"cannot reach postgres://me:{MASK}@db.example"
    assert masker("see https://a.example/b:c@d") == "see https://a.example/b:c@d"


def test_data_keeps_words_that_happen_to_be_passwords() -> None:
    masker = Masker.of({"DB_PASSWORD": "postgres", "API_KEY": "sk-live-42424242"})
    assert masker("connect to postgres") == f"connect to {MASK}"
    assert masker.data("import postgres # sk-live-42424242") == f"import postgres # {MASK}"
    assert masker.raw(b"postgres sk-live-42424242") == f"postgres {MASK}".encode()


def test_a_secret_that_is_no_text_hides_all_the_same() -> None:
    masker = Masker(["sk-\ud800-42424242"])
    assert masker.raw("a sk-\ud800-42424242 b".encode("utf-8", "surrogatepass")) == f"a {MASK} b".encode()
