"""Text on a page: nothing in it is invisible."""

from __future__ import annotations

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from flows.dashboard.text import folded, visible

TEXT = st.text(alphabet=st.characters() | st.characters(categories=("Cs", "Cc", "Cf")), max_size=60)


@given(TEXT)
def test_nothing_invisible_is_left_and_utf8_can_hold_it(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert not set(shown) & set("\x00\x07\x1b\x7f\x9b\u202e\u2066\u200b\ufeff\u2028\r")
    assert all(unicodedata.category(sign) != "Cc" or sign in "\t\n" for sign in shown)


@given(TEXT)
def test_what_is_visible_stays_and_shown_text_stays_as_it_is(text: str) -> None:
    assert visible(visible(text)) == visible(text)
    if text.isprintable():
        assert visible(text) == text


def test_invisible_signs_are_named() -> None:
    assert visible("a\x1b[31m\u202eb\r\nc\x7f") == "a␛[31m⟦U+202E⟧b\nc␡"
    assert visible(json.loads('"\\ud800"')) == "⟦U+D800⟧"


def test_fold_tells_what_is_left_out() -> None:
    assert folded("abcdef", 4) == ("abcd", 2)
    assert folded("abc", 4) == ("abc", 0)
