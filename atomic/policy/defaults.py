"""What a policy does where it says nothing: one row for each kind of failure, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from atomic.failures import FailureKind as Kind
from atomic.policy.rules import Move, Rule

MAX_ATTEMPTS = 8  # three or four models, each with a retry: more is a loop that a person should see
MAX_WAIT = 900.0  # seconds; most rate limits pass within minutes, and someone is waiting for the answer
CONTINUE_PROMPT = "Another model worked on this and was cut off. Look at what is done, then go on."
OUTPUT = "{output}"  # where the text of a check goes in `rejected_prompt`
REJECTED_PROMPT = (
    f"A check did not accept the answer that was given. It said:\n\n{OUTPUT}\n\n"
    "Look at what is done, put right what the check names, and answer again."
)
# What follows the run's own prompt where no conversation is carried.
REJECTED_BEFORE = (
    f"An earlier answer to this was not accepted by a check, which said:\n\n{OUTPUT}\n\n"
    "What was changed for that answer may still be there."
)
INTERRUPTIONS = 3  # of one model in a run; one whose parent dies oftener needs a person, not another try

Scope = Literal["model", "credential"]
Passing = Literal["yes", "no", "near"]  # near: when `retry_at` is near enough to wait for


@dataclass(frozen=True, slots=True)
class KindDefault:
    """What is done about a kind by default. ``scope`` and ``seconds``: what cools down, and for how long where the
    provider did not say; None when nothing does."""

    rule: Rule
    why: str
    passing: Passing = "no"
    scope: Scope | None = None
    seconds: float = 0


def _move(move: Move, why: str) -> KindDefault:
    return KindDefault(Rule(then=move), why)


DEFAULTS: Mapping[Kind, KindDefault] = MappingProxyType(
    {
        Kind.OVERFLOW: _move(Move.LARGER_WINDOW, "the same text would not fit into the same window again"),
        Kind.OUTPUT_LIMIT: _move(Move.NEXT, "another model may be allowed a longer answer"),
        Kind.RATE_LIMIT: KindDefault(
            Rule(then=Move.OTHER_PROVIDER),
            "limits are often shared by a provider's models, and pass within a minute",
            passing="yes",
            scope="model",
            seconds=60,
        ),
        Kind.QUOTA: KindDefault(
            Rule(then=Move.OTHER_PROVIDER),
            "the account is used up, and with it every model behind the same credential",
            passing="near",
            scope="credential",
            seconds=3600,
        ),
        Kind.AUTH: KindDefault(
            Rule(retry=1, delay=2, then=Move.OTHER_PROVIDER),
            "parallel starts can collide over the agent's lock file; a bad key is bad for all of the provider's models",
            scope="credential",
            seconds=600,
        ),
        Kind.MODEL_UNAVAILABLE: _move(Move.NEXT, "the name will not become right by trying again"),
        Kind.PROVIDER_UNAVAILABLE: KindDefault(
            Rule(then=Move.OTHER_PROVIDER),
            "an outage takes all of a provider's models, and lasts minutes",
            passing="yes",
            scope="model",
            seconds=120,
        ),
        Kind.NETWORK: KindDefault(
            Rule(retry=1, delay=5, then=Move.NEXT),
            "most broken connections are gone with the next one",
            passing="yes",
            scope="model",
            seconds=30,
        ),
        Kind.INVALID_REQUEST: _move(Move.NEXT, "another provider may take what this one calls invalid"),
        Kind.REFUSAL: _move(Move.STOP, "shopping for a model that does not refuse is for a person to decide"),
        Kind.REJECTED: _move(Move.NEXT, "your check did not take this answer; another model's may pass"),
        Kind.EMPTY: KindDefault(Rule(retry=1, then=Move.NEXT), "an empty answer is mostly chance"),
        Kind.ABORTED: _move(Move.STOP, "something asked the agent to stop"),
        Kind.STALLED: _move(Move.NEXT, "a model that hung once tends to hang again"),
        Kind.TIMEOUT: _move(Move.STOP, "the time for this prompt is used up"),
        Kind.CRASHED: KindDefault(Rule(retry=1, then=Move.NEXT), "a crash may be chance; twice is not"),
        Kind.INTERRUPTED: KindDefault(
            Rule(retry=INTERRUPTIONS, then=Move.STOP),
            "the runner died, not the model: the same model again, not counted as an attempt",
        ),
        Kind.UNREADABLE: _move(Move.STOP, "the agent speaks another language; so it will with every model"),
        Kind.CONFIGURATION: _move(Move.STOP, "the agent does not start; so it will with every model"),
        Kind.BUDGET: _move(Move.STOP, "the money or the tokens for this prompt are used up"),
        Kind.CANCELLED: _move(Move.STOP, "somebody said stop"),
        Kind.UNKNOWN: _move(Move.NEXT, "what nobody can name may be this model's alone"),
    }
)
