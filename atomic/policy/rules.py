"""What a policy can do about one kind of failure."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import ConfigDict, Field, GetJsonSchemaHandler, model_serializer, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from atomic.verdict.facts import Facts

MOST_RETRIES = 100  # a retry that has failed a hundred times is a loop, not a retry


class Move(StrEnum):
    """Where a run goes when an attempt failed and is not tried again with the same model."""

    NEXT = "next"  # the next model in the policy's order
    LARGER_WINDOW = "larger-window"  # a model with a larger (or unknown) context window, else next
    OTHER_PROVIDER = "other-provider"  # a model of another provider, else next
    STOP = "stop"  # nowhere: the run ends failed


Accept = Literal["never", "complete", "any"]
ACTIONS = (*(move.value for move in Move), "accept")  # the words a rule can be written with


class Rule(Facts):
    """What is done on one kind, in this order: accept the answer the failed attempt holds, retry, move.

    Written in TOML as one word (`"next"`, `"accept"`) or as a table:
    `{ retry = 1, delay = 5, then = "next" }`, `{ accept = "complete", then = "larger-window" }`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    accept: Accept = Field(default="never", description="whether the answer that a failed attempt holds will do")
    retry: int = Field(default=0, ge=0, le=MOST_RETRIES, description="times with the same model, per kind in a run")
    delay: float = Field(default=0, ge=0, allow_inf_nan=False, description="seconds before a retry")
    then: Move | None = Field(default=None, description="where to go then; without it, where the kind goes by default")

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, data: Any) -> Any:
        if not isinstance(data, str):
            return data
        if data == "accept":
            return {"accept": "any"}
        if data not in ACTIONS:
            raise ValueError(f"unknown action {data!r}")
        return {"then": data}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        table = handler.resolve_ref_schema(handler(core))
        return {"anyOf": [{"type": "string", "enum": [*ACTIONS]}, table]}

    @model_serializer(mode="plain")
    def _short(self) -> str | dict[str, Any]:
        """The shortest form that reads back as this rule."""
        table: dict[str, Any] = {}
        if self.accept != "never":
            table["accept"] = self.accept
        if self.retry:
            table["retry"] = self.retry
        if self.delay:
            table["delay"] = self.delay
        if self.then is not None:
            table["then"] = self.then.value
        if table == {"accept": "any"}:
            return "accept"
        if self.then is not None and len(table) == 1:
            return self.then.value
        return table

    def __str__(self) -> str:
        """The rule in words: "retry 1 after 5 s, then next"."""
        parts = []
        if self.accept != "never":
            parts.append("accept an answer" if self.accept == "any" else "accept a complete answer")
        if self.retry:
            parts.append(f"retry {self.retry}" + (f" after {self.delay:g} s" if self.delay else ""))
        if self.then is not None:
            parts.append(self.then.value)
        return ", then ".join(parts)
