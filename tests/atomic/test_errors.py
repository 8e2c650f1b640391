"""The error tree, as a program that catches, sends and stores errors meets it."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import atomic.errors
from atomic.errors import AtomicError, NoModelAnswered, RunError, UsageError
from atomic.failures import FailureKind
from atomic.record import AttemptSummary
from atomic.runner import RunResult, run_sync
from atomic.verdict import Evidence, Status, Usage, Verdict

RESULT = RunResult(
    run_id="20260101-000000-aaaaaaaa",
    status=Status.FAILED,
    kind=FailureKind.QUOTA,
    message="half \ud83d of a pair",
    attempts=(AttemptSummary(n=1, model="a/b", status=Status.FAILED, kind=FailureKind.QUOTA),),
    usage=Usage(input=1, cache_read=2, cost_usd=0.5),
    verdicts=(Verdict(status=Status.FAILED, evidence=(Evidence(event="message_end", line=1, offset=0),)),),
)
CLASSES = [
    found for found in vars(atomic.errors).values() if isinstance(found, type) and issubclass(found, AtomicError)
]


def made(kind: type[AtomicError]) -> AtomicError:
    fields: dict[str, Any] = {"key": "some.key", "line": 3, "nearest": ("a", "b")}
    if issubclass(kind, RunError):
        fields["result"] = RESULT
    return kind("what is wrong", hint="what to do", **fields)


def same(one: AtomicError, other: BaseException) -> bool:
    assert type(other) is type(one)
    assert isinstance(other, AtomicError)
    return (str(one), one.message, one.hint, one.fields) == (str(other), other.message, other.hint, other.fields)


def test_they_are_one_tree() -> None:
    assert len(CLASSES) == 24
    assert all(issubclass(kind, AtomicError) for kind in CLASSES)
    assert not issubclass(NoModelAnswered, UsageError)
    assert {kind.exit_code for kind in CLASSES if issubclass(kind, UsageError)} == {2}


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_each_survives_pickling_and_copying(kind: type[AtomicError], protocol: int) -> None:
    error = made(kind)
    assert same(error, pickle.loads(pickle.dumps(error, protocol)))
    assert same(error, copy.copy(error))
    assert same(error, copy.deepcopy(error))


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_the_machine_fields_are_attributes(kind: type[AtomicError]) -> None:
    error = made(kind)
    assert (error.key, error.line, error.nearest) == ("some.key", 3, ("a", "b"))
    assert error.fields["key"] == "some.key"
    with pytest.raises(AttributeError, match="no_such"):
        _ = error.no_such


def raising(kind: type[AtomicError]) -> None:
    raise made(kind)


def unanswered(folder: str) -> RunResult:
    import os

    os.environ["ATOMIC_FLOWS_HOME"] = f"{folder}/home"
    return run_sync("x", models=["scripted/refusal"], agent="scripted", cwd=folder)


@pytest.fixture(scope="module")
def pool() -> Any:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_each_comes_out_of_another_process(pool: ProcessPoolExecutor, kind: type[AtomicError]) -> None:
    with pytest.raises(kind) as raised:
        pool.submit(raising, kind).result()
    assert same(made(kind), raised.value)


def test_a_run_that_nobody_answered_comes_out_with_its_result(pool: ProcessPoolExecutor, tmp_path: Path) -> None:
    with pytest.raises(NoModelAnswered) as raised:
        pool.submit(unanswered, str(tmp_path)).result()
    result = raised.value.result
    assert isinstance(result, RunResult)
    assert [(one.model, one.kind) for one in result.attempts] == [("scripted/refusal", FailureKind.REFUSAL)]
    assert result.verdicts[0].evidence


def test_a_result_is_a_value() -> None:
    assert pickle.loads(pickle.dumps(RESULT)) == RESULT
    assert RunResult.model_validate(RESULT.model_dump()) == RESULT
    whole = RESULT.model_copy(update={"message": "whole"})
    assert RunResult.model_validate_json(whole.model_dump_json(by_alias=True)) == whole
