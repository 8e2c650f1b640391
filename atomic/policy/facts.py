"""What a policy says, and the steps it can answer with: frozen facts."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    ValidationError,
    WithJsonSchema,
    field_validator,
    model_serializer,
    model_validator,
)

from atomic.errors import PolicyError
from atomic.failures import FailureKind
from atomic.models.ref import ModelRef
from atomic.policy.defaults import CONTINUE_PROMPT, DEFAULTS, MAX_ATTEMPTS, MAX_WAIT, OUTPUT, REJECTED_PROMPT
from atomic.policy.problems import policy_problem
from atomic.policy.rules import Rule
from atomic.verdict.facts import Facts, Verdict

if TYPE_CHECKING:
    from pydantic.functional_validators import ModelWrapValidatorHandler

STARTUP = 60.0  # seconds; the slowest agent measured writes its first byte within four
IDLE = 900.0  # seconds; a model that thinks hard is silent for minutes, not for a quarter of an hour
TOOL = 3600.0  # seconds; test suites and builds take their time
SETTLE = 10.0  # seconds; an agent that has said its last word needs only to close its files
CHECK = 600.0  # seconds; a project's quick tests take minutes, and a model waits for what they say
MOST = 2**63 - 1  # of anything counted: the largest integer that a JSON record holds


class Limits(Facts):
    """Bounds of one session, in seconds; 0 means none. Tokens and dollars are those of the whole run."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    startup: float = Field(default=STARTUP, ge=0, description="seconds to the first byte")
    idle: float = Field(default=IDLE, ge=0, description="seconds of silence, no tool running and no wait announced")
    tool: float = Field(default=TOOL, ge=0, description="seconds of one tool")
    total: float = Field(default=0, ge=0, description="seconds of a session; 0: no bound")
    settle: float = Field(default=SETTLE, ge=0, description="seconds that a process may stay after its end")
    check: float = Field(default=CHECK, ge=0, description="seconds that the policy's check may take")
    turns: int = Field(default=0, ge=0, le=MOST, description="turns of a session; 0: no bound")
    tokens: int = Field(default=0, ge=0, le=MOST, description="tokens of a run, all attempts together; 0: no bound")
    cost_usd: float = Field(default=0, ge=0, description="dollars of a run, all attempts together; 0: no bound")


AfterTools = Literal["carry", "fresh", "stop"]
AfterRejection = Literal["carry", "fresh"]
Seconds = Annotated[float, Field(ge=0)]
Model = Annotated[
    ModelRef,
    BeforeValidator(lambda value: ModelRef.parse(value) if isinstance(value, str) else value),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "pattern": r"^[^-/\s][^/\s]*/\S+$", "description": "provider/id[:level]"}),
]


Command = Annotated[
    tuple[str, ...],
    WithJsonSchema({"type": ["string", "array"], "items": {"type": "string"}}),  # words, or a line that holds them
]


class FallbackPolicy(Facts):
    """The models in order, and what to do on each kind of failure.

    Without models the agent's own default model gets one attempt. ``on`` and ``cooldown`` hold what differs from the
    defaults (:mod:`atomic.policy.defaults`). ``max_wait`` is in seconds: all that a run may wait, for cooldowns and
    before retries; 0 means never. Raises PolicyError, or ModelRefError for a model's name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    models: tuple[Model, ...] = Field(default=(), description="in order; none: the agent's own default model")
    max_attempts: int = Field(default=MAX_ATTEMPTS, ge=1, le=MOST, description="of a run, all models together")
    max_wait: Seconds = Field(default=MAX_WAIT, description="seconds a run may wait, in all")
    after_tools: AfterTools = Field(
        default="carry", description="when an attempt failed after tools had run: carry its conversation, fresh, stop"
    )
    continue_prompt: str = Field(
        default=CONTINUE_PROMPT, description="what the next model is told when a conversation is carried"
    )
    check: Command = Field(
        default=(),
        description="a command that is run where the agent worked, with the answer on stdin: it accepts by exit code 0",
    )
    answer_schema: Path | None = Field(
        default=None, alias="schema", description="a file with the JSON Schema that an answer must fit"
    )
    after_rejection: AfterRejection = Field(
        default="carry", description="when a check rejected an answer: carry the conversation to the next model, fresh"
    )
    rejected_prompt: str = Field(
        default=REJECTED_PROMPT,
        description="what the next model is told when a rejected conversation is carried; {output}: the check's words",
    )
    on: dict[FailureKind, Rule] = Field(default_factory=dict, description="what is done on each kind of failure")
    cooldown: dict[FailureKind, Seconds] = Field(
        default_factory=dict, description="seconds until another try, where the provider did not say when"
    )
    limits: Limits = Field(default=Limits(), description="bounds of a session, and of a run's cost")

    if TYPE_CHECKING:  # the forms that may be given, for editors and type checkers

        def __init__(
            self,
            *,
            models: Sequence[str | ModelRef] = (),
            max_attempts: int = MAX_ATTEMPTS,
            max_wait: float = MAX_WAIT,
            after_tools: AfterTools = "carry",
            continue_prompt: str = CONTINUE_PROMPT,
            check: str | Sequence[str] = (),
            schema: str | Path | None = None,
            after_rejection: AfterRejection = "carry",
            rejected_prompt: str = REJECTED_PROMPT,
            on: Mapping[str, str | Mapping[str, str | float] | Rule] = ...,
            cooldown: Mapping[str, float] = ...,
            limits: Limits | Mapping[str, float] = ...,
        ) -> None: ...

    def rule(self, kind: FailureKind) -> Rule:
        """What this policy does on a kind: its own rule where it has one, else the default; ``then`` is never None."""
        default = DEFAULTS[kind].rule
        own = self.on.get(kind)
        if own is None:
            return default
        return own if own.then is not None else own.model_copy(update={"then": default.then})

    def waiting(self, seconds: float) -> FallbackPolicy:
        """This policy for a run that may wait so long in all, however long; less than nothing is nothing."""
        return self.model_copy(update={"max_wait": max(0.0, seconds)})

    @field_validator("models")
    @classmethod
    def _named_once(cls, models: tuple[ModelRef, ...]) -> tuple[ModelRef, ...]:
        if not models:
            raise ValueError("name at least one model, or leave the key out for the agent's own default model")
        twice = next((model for n, model in enumerate(models) if model in models[:n]), None)
        if twice is not None:
            raise ValueError(f"{twice} is there twice; use `retry` to try a model again")
        return models

    @field_validator("continue_prompt", "rejected_prompt")
    @classmethod
    def _sayable(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("it is what the next model is told, and cannot be empty")
        if text.lstrip().startswith("/"):
            raise ValueError("the agent would take a text that begins with '/' for a command")
        return text

    @field_validator("rejected_prompt")
    @classmethod
    def _tells_the_output(cls, text: str) -> str:
        if OUTPUT not in text:
            raise ValueError(f"it must hold {OUTPUT}, where what the check said is put")
        if text.lstrip().startswith(OUTPUT):
            raise ValueError("put a word before the output, which the agent could take for a command")
        return text

    @field_validator("check", mode="before")
    @classmethod
    def _words(cls, command: Any) -> Any:
        if not isinstance(command, str):
            return command
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise ValueError(f"it cannot be read as a command: {str(error).lower()}") from None
        if not words:
            raise ValueError("it is empty; leave the key out where nothing is checked")
        return words

    @field_validator("on")
    @classmethod
    def _obeyed(cls, on: dict[FailureKind, Rule]) -> dict[FailureKind, Rule]:
        if FailureKind.CANCELLED in on:
            raise ValueError("a run that somebody cancelled always stops: `cancelled` takes no action")
        return on

    @model_validator(mode="wrap")
    @classmethod
    def _friendly(cls, data: Any, handler: ModelWrapValidatorHandler[FallbackPolicy]) -> FallbackPolicy:
        try:
            return handler(data)
        except ValidationError as error:
            names = [field.alias or name for name, field in cls.model_fields.items()]
            raise policy_problem(error, keys=names, limits=Limits.model_fields) from None

    @model_serializer(mode="wrap")
    def _readable_back(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data: dict[str, Any] = handler(self)
        if not self.models:
            del data["models"]  # `models = []` is an error, no models are not
        data["schema"] = data.pop("answer_schema", None) or data.get("schema")  # its name in files
        return {key: value for key, value in data.items() if key != "schema" or value is not None}


@dataclass(frozen=True, slots=True)
class Attempted:
    """One attempt as `decide` sees it."""

    n: int
    model: ModelRef | None
    verdict: Verdict
    ended_at: float
    carried: bool = False
    has_session: bool = False  # a session file is there to carry on with

    @property
    def kind(self) -> FailureKind:
        """The kind of a failed attempt; `unknown` where the verdict names none."""
        return self.verdict.kind or FailureKind.UNKNOWN


@dataclass(frozen=True, slots=True)
class Start:
    """Begin an attempt with this model, at once. ``carry_from``: the attempt whose conversation goes on, if any;
    ``rejected``: the one whose answer a check rejected last, of which the model is to be told."""

    model: ModelRef | None
    reason: str
    carry_from: int | None = None
    rejected: int | None = None

    @property
    def carry(self) -> bool:
        """Whether the attempt goes on with an earlier one's conversation, instead of starting fresh."""
        return self.carry_from is not None


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can start before `until` (seconds since the epoch): a cooldown, or the delay of a retry."""

    until: float
    reason: str


@dataclass(frozen=True, slots=True)
class End:
    """The run is over. `attempt` is the number of the attempt whose answer counts, where there is one."""

    status: Literal["answered", "failed"]
    kind: FailureKind | None
    message: str
    attempt: int | None = None
    warning: str | None = None


Step = Start | Wait | End

__all__ = [
    "AfterRejection",
    "AfterTools",
    "Attempted",
    "End",
    "FallbackPolicy",
    "Limits",
    "PolicyError",
    "Start",
    "Step",
    "Wait",
]
