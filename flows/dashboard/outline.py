"""What happened in a stream, in order, with the place of each event: a fold over its records. Bodies stay in the
stream; they are read when somebody looks at them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from atomic.framing import Record
from atomic.verdict.fields import amount, block_text, count, mapping, text

SHORT = 200  # characters of a text that stands in the outline
MOST = 20_000  # entries of an outline: what comes after them is in the raw events only


class Sort(StrEnum):
    """What an entry is."""

    PROMPT = "prompt"
    ASSISTANT = "assistant"
    TOOL = "tool"
    RETRY = "retry"
    COMPACTION = "compaction"
    FALLBACK = "fallback"
    MODEL = "model"
    NOTE = "note"  # other messages, and what an extension says


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened. ``line`` (from 1) and ``offset`` (bytes) are those of the record that tells most of it;
    ``start`` is where the record lies that it began with. ``failed`` is None until it is known."""

    sort: Sort
    line: int
    offset: int
    start: int
    name: str = ""
    detail: str = ""
    failed: bool | None = False
    at: float | None = None  # seconds since the epoch, where the record tells
    call: str = ""
    tokens: int = 0


class Outline:
    """Feed it the records; ``entries`` are what happened so far."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.left_out = 0
        self.tokens = 0  # input and output of all messages
        self._calls: dict[str, int] = {}
        self._open: dict[Sort, int] = {}

    def take(self, record: Record) -> None:
        """Take one record in. Whatever its fields are, it is no error."""
        data = record.data
        match record.type:
            case "message_end":
                self._message(record, mapping(data.get("message")))
            case "tool_execution_start":
                self._tool_start(record)
            case "tool_execution_end":
                self._tool_end(record)
            case "auto_retry_start":
                delay = (amount(data.get("delayMs")) or 0) / 1000
                name = f"retry {count(data.get('attempt')) or ''} of {count(data.get('maxAttempts')) or '?'}"
                detail = f"after {delay:.1f} s: {text(data.get('errorMessage'))}"
                self._begin(Sort.RETRY, record, name, detail)
            case "auto_retry_end":
                self._end(Sort.RETRY, record, data.get("success") is False, text(data.get("finalError")))
            case "compaction_start":
                self._begin(Sort.COMPACTION, record, "compaction", text(data.get("reason")))
            case "compaction_end":
                self._compacted(record)
            case "model_fallback_start":
                self._begin(Sort.FALLBACK, record, f"{_model(data.get('from'))} → {_model(data.get('to'))}", "")
            case "model_fallback_end":
                self._end(Sort.FALLBACK, record, data.get("success") is False, text(data.get("finalError")))
            case "model_changed":
                self._add(Entry(Sort.MODEL, *_place(record), name=_model(data.get("model"))))
            case "agent_continue_error":
                detail = text(data.get("errorMessage"))[:SHORT]
                self._add(Entry(Sort.NOTE, *_place(record), name="could not go on", detail=detail, failed=True))
            case _:
                pass

    def _message(self, record: Record, message: Any) -> None:
        role = text(message.get("role"))
        said = block_text(message.get("content"))[:SHORT]
        at = amount(message.get("timestamp"))
        when = at / 1000 if at is not None else None
        if role == "assistant":
            stop = text(message.get("stopReason"))
            error = text(message.get("errorMessage"))
            usage = mapping(message.get("usage"))
            tokens = count(usage.get("input")) + count(usage.get("output"))
            self.tokens += tokens
            self._add(
                Entry(
                    Sort.ASSISTANT,
                    *_place(record),
                    name="/".join(filter(None, (text(message.get("provider")), text(message.get("model")))))[:SHORT],
                    detail=(error or said)[:SHORT],
                    failed=stop in {"error", "aborted"},
                    at=when,
                    tokens=tokens,
                )
            )
        elif role == "user":
            self._add(Entry(Sort.PROMPT, *_place(record), detail=said, at=when))
        elif role == "toolResult":
            if text(message.get("toolCallId")) not in self._calls:  # else its tool has told it
                name = text(message.get("toolName"))[:SHORT]
                failed = message.get("isError") is True
                self._add(Entry(Sort.TOOL, *_place(record), name=name, detail=said, failed=failed, at=when))
        elif role:
            self._add(Entry(Sort.NOTE, *_place(record), name=role[:SHORT], detail=said, at=when))

    def _tool_start(self, record: Record) -> None:
        call = text(record.data.get("toolCallId"))
        name = text(record.data.get("toolName"))[:SHORT]
        detail = brief(record.data.get("args"))
        self._calls[call] = len(self.entries)
        self._add(Entry(Sort.TOOL, *_place(record), name=name, detail=detail, failed=None, call=call[:SHORT]))

    def _tool_end(self, record: Record) -> None:
        call = text(record.data.get("toolCallId"))
        failed = record.data.get("isError") is True or mapping(record.data.get("result")).get("isError") is True
        at = self._calls.get(call)
        if at is not None and at < len(self.entries):
            self.entries[at] = replace(self.entries[at], line=record.line, offset=record.offset, failed=failed)
        else:
            name = text(record.data.get("toolName"))[:SHORT]
            self._calls[call] = len(self.entries)
            self._add(Entry(Sort.TOOL, *_place(record), name=name, failed=failed))

    def _compacted(self, record: Record) -> None:
        data, result = record.data, mapping(record.data.get("result"))
        failed = not result or data.get("unresolvedOverflow") is True or data.get("aborted") is True
        told = text(data.get("errorMessage"))
        if result.get("rung") == "fresh":
            told = told or "the context was thrown away"
        self._end(Sort.COMPACTION, record, failed, told)

    def _begin(self, sort: Sort, record: Record, name: str, detail: str) -> None:
        """What of its sort is still open did not help: an agent tries again and says at the end only how it went."""
        before = self._open.get(sort)
        if before is not None and before < len(self.entries):
            self.entries[before] = replace(self.entries[before], failed=True)
        self._open[sort] = len(self.entries)
        self._add(Entry(sort, *_place(record), name=name[:SHORT], detail=detail[:SHORT], failed=None))

    def _end(self, sort: Sort, record: Record, failed: bool, detail: str) -> None:
        """What ends was begun before, by the last of its sort; else it is an entry of its own."""
        at = self._open.pop(sort, None)
        if at is not None and at < len(self.entries):
            was = self.entries[at]
            detail = detail[:SHORT] or was.detail
            self.entries[at] = replace(was, line=record.line, offset=record.offset, failed=failed, detail=detail)
        else:
            self._add(Entry(sort, *_place(record), name=sort.value, detail=detail[:SHORT], failed=failed))

    def _add(self, entry: Entry) -> None:
        if len(self.entries) < MOST:
            self.entries.append(entry)
        else:
            self.left_out += 1


def brief(value: object) -> str:
    """Arguments of a tool in a few words: a command as it stands, else the members."""
    members = mapping(value)
    for key in ("command", "path", "file_path", "pattern", "query", "url"):
        if isinstance(members.get(key), str):
            return str(members[key])[:SHORT]
    return ", ".join(f"{key}: {item}" for key, item in list(members.items())[:4])[:SHORT]


def _place(record: Record) -> tuple[int, int, int]:
    return record.line, record.offset, record.offset


def _model(value: object) -> str:
    if isinstance(value, str):
        return value[:SHORT] or "?"
    model = mapping(value)
    return "/".join(filter(None, (text(model.get("provider")), text(model.get("id")))))[:SHORT] or "?"
