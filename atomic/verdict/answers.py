"""The answer: which text it is, and whether it is whole."""

from __future__ import annotations

from atomic.verdict.seen import Answer, Seen
from atomic.verdict.signs import Said

# So many equal characters at the head of two texts are no chance: the second begins the first anew.
_SAME_HEAD = 24


def starts_over(seen: Seen, before: Said, after: str) -> bool:
    """Whether the text begins the cut message before it anew, instead of going on with it.

    Agents drop a message that the output limit cut and ask again: some models then go on where they were, others write
    the whole once more.
    """
    heads = (text.lstrip()[:_SAME_HEAD] for text in (spoken(seen, before), before.text))
    return any(head and after.lstrip().startswith(head) for head in heads)


def spoken(seen: Seen, last: Said) -> str:
    """The text of the message, with the pieces before it that the output limit cut."""
    return "".join(seen.pieces) + last.text


def answer_of(seen: Seen, last: Said, text: str) -> Answer:
    """The text as the answer of the message's model."""
    return Answer(text, last.model or seen.last_model, last.response_model, last.at)


def full_answer(seen: Seen) -> Answer | None:
    """The whole answer that the stream holds now: its last message, ended by itself, with text."""
    last = seen.last
    if last is None or seen.opened or seen.prompted or last.stop != "stop" or last.tool_calls:
        return None
    text = spoken(seen, last)
    return answer_of(seen, last, text) if text.strip() else None


def tool_answer(seen: Seen, last: Said) -> Answer | None:
    """The answer of a message whose tools ended the work: the results' texts, else what the message itself said; None
    when there is no text at all."""
    results = [text for call in dict.fromkeys(last.tool_calls) if (text := seen.results.get(call, "")).strip()]
    text = "\n".join(results) or last.text
    return answer_of(seen, last, text) if text.strip() else None
