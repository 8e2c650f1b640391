"""Lines of OpenAI's batch format, as far as an agent can be asked the same.

System, developer and user messages become one prompt. ``body.model`` names a model of the endpoint that the line was
written for, never one of ours, so it is passed over, and said to be, as are the settings of sampling. What would make
the answer another one (images, tools, a conversation under way, a schema for the answer) is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flows.inputs.facts import Problem, Row, Rules
from flows.inputs.fields import found_type, unknown_field

_LINE = ("custom_id", "method", "url", "body")
_URL = "/v1/chat/completions"
_CARRIED = ("messages", "metadata")
# How a model speaks, what the provider keeps and bills: the agent decides that, and the question stays the same.
_IGNORED = frozenset(
    "model temperature top_p top_k seed max_tokens max_completion_tokens frequency_penalty presence_penalty store user "
    "stream stream_options service_tier reasoning_effort verbosity parallel_tool_calls safety_identifier "
    "prompt_cache_key prompt_cache_retention".split()
)
# Given, these ask for another answer than a text; in brackets the values that ask for nothing.
_REFUSED: dict[str, tuple[Any, ...]] = {
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "response_format": ({"type": "text"},),
    "n": (1,),
    "modalities": (["text"],),
    "audio": (),
    "stop": ([],),
    "logit_bias": ({},),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "prediction": (),
    "web_search_options": (),
}
_ASKING = ("system", "developer", "user")


def is_openai(fields: Mapping[str, Any]) -> bool:
    """Whether a line of JSON is one of OpenAI's batches."""
    return isinstance(fields.get("body"), dict) and "method" in fields and "url" in fields


def from_openai(row: Row, rules: Rules) -> Row | list[Problem]:
    """The row that such a line means, or everything that keeps it from being carried over."""
    problems = [unknown_field(rules, row.line, name, _LINE) for name in row.fields if name not in _LINE]
    body = row.fields.get("body")
    if row.fields.get("method", "POST") != "POST":
        problems.append(rules.problem(row.line, "method", "only POST can be carried over"))
    if row.fields.get("url", _URL) != _URL:
        problems.append(rules.problem(row.line, "url", f"only {_URL} can be carried over"))
    if not isinstance(body, dict):
        problems.append(rules.problem(row.line, "body", f"expected a table, found {found_type(body)}"))
        return problems
    given = {name: value for name, value in body.items() if value is not None}
    problems += _parameters(given, row.line, rules)
    texts, wrong = _messages(given.get("messages"), row.line, rules)
    problems += wrong
    if problems:
        return problems
    fields = {"custom_id": row.fields.get("custom_id"), "prompt": "\n\n".join(texts), "metadata": given.get("metadata")}
    ignored = tuple(f"body.{name}" for name in given if name in _IGNORED)
    return Row(row.line, row.name, fields, ignored)


def _parameters(body: Mapping[str, Any], line: int, rules: Rules) -> Iterator[Problem]:
    for name, value in body.items():
        if name in _REFUSED:
            if value not in _REFUSED[name]:
                yield rules.problem(line, f"body.{name}", "it cannot be carried over to an agent; take it out")
        elif name not in _IGNORED and name not in _CARRIED:
            known = (*_CARRIED, *sorted(_IGNORED), *_REFUSED)
            problem = unknown_field(rules, line, name, known)
            yield rules.problem(
                line, f"body.{name}", "it is not known, nor whether it may be left out", problem.nearest
            )


def _messages(messages: Any, line: int, rules: Rules) -> tuple[list[str], list[Problem]]:
    """The texts of the messages in their order, and what is wrong with them."""
    if not isinstance(messages, list) or not messages:
        return [], [rules.problem(line, "body.messages", "expected a list of messages")]
    texts: list[str] = []
    problems: list[Problem] = []
    asked = False
    for n, message in enumerate(messages):
        where = f"body.messages[{n}]"
        if not isinstance(message, dict):
            problems.append(rules.problem(line, where, f"expected a table, found {found_type(message)}"))
            continue
        role = message.get("role")
        if role in ("assistant", "tool", "function"):
            said = f"a message of role {role!r}: a conversation under way cannot be carried over"
            problems.append(rules.problem(line, f"{where}.role", said))
        elif role not in _ASKING:
            said = f"expected one of {', '.join(_ASKING)}, found {str(role)[:40]!r}"
            problems.append(rules.problem(line, f"{where}.role", said))
        else:
            asked = asked or role == "user"
            text, wrong = _content(message.get("content"), f"{where}.content", line, rules)
            problems += wrong
            texts += [text] if text.strip() else []
    if not asked and not problems:
        problems.append(rules.problem(line, "body.messages", "there is no message of the user"))
    return texts, problems


def _content(content: Any, where: str, line: int, rules: Rules) -> tuple[str, list[Problem]]:
    """The text of one message, whose parts stand on lines of their own."""
    if isinstance(content, str):
        return content, []
    if not isinstance(content, list):
        return "", [rules.problem(line, where, f"expected text, found {found_type(content)}")]
    texts: list[str] = []
    problems: list[Problem] = []
    for n, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        text = part.get("text") if isinstance(part, dict) else None
        if kind == "text" and isinstance(text, str):
            texts.append(text)
        else:
            said = f"a part of type {str(kind)[:40]!r} cannot be carried over, only text"
            problems.append(rules.problem(line, f"{where}[{n}]", said))
    return "\n".join(texts), problems
