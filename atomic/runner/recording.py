"""The record of a run, begun and read back."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import platform
from importlib.metadata import PackageNotFoundError, version

import orjson

from atomic.errors import RecordDamaged, UsageError
from atomic.policy import FallbackPolicy
from atomic.record import RunFolder, RunRecord, RunStore
from atomic.record.layout import run_path
from atomic.runner.facts import RunRequest, RunResult
from atomic.runner.results import result_of, verdicts_of


def create_run(store: RunStore, request: RunRequest, flow_run_id: str | None) -> RunFolder:
    """A new run in the store, with all that is known before its first attempt. Raises PlaceError, RecordError."""
    return store.create(
        kept(store, request.prompt),
        key=request.key,
        name=request.name,
        batch=request.batch,
        edition=request.edition,
        custom_id=request.custom_id,
        policy=request.policy.model_dump(mode="json"),
        policy_digest=policy_digest(request.policy),
        tags=request.tags,
        metadata=dict(request.metadata),
        versions=_versions(request),
        cwd=str(request.cwd),
        flow_run_id=flow_run_id,
    )


def refuse_another(store: RunStore, answered: RunRecord, request: RunRequest) -> None:
    """See that a run that was answered before is the one that is asked for again with its key: one key, one prompt in
    one folder. A recorded prompt that cannot be read is no other one. Raises UsageError, RecordError."""
    differs = []
    with contextlib.suppress(RecordDamaged):
        if store.open(answered.run_id).prompt not in (request.prompt, kept(store, request.prompt)):
            differs.append("another prompt")
    if answered.cwd and answered.cwd != str(request.cwd):
        differs.append(f"another folder ({answered.cwd})")
    if differs:
        raise UsageError(
            f"key {request.key!r} stands for run {answered.run_id}, which had {' and '.join(differs)}",
            hint=f"give another key; `atomic-flows history show {answered.run_id}` shows what was asked and answered",
            key=request.key,
            run_id=answered.run_id,
            differs=tuple(differs),
        )


def recorded_result(store: RunStore, record: RunRecord) -> RunResult:
    """The result of a run that was answered before, for the caller who asks again with its key. Raises RecordError."""
    folder = store.open(record.run_id)
    attempts, damaged = [], []
    for attempt in folder.attempts():
        try:
            attempts.append(attempt.read())
        except RecordDamaged as error:  # the answer is in the run's own file
            damaged.append(error.message)
    if damaged:
        record = record.model_copy(update={"warnings": (*record.warnings, *damaged)})
    result = result_of(record, verdicts_of(attempts), run_place(store, folder))
    return result.model_copy(update={"recorded": True})


def kept(store: RunStore, prompt: bytes) -> bytes:
    """The prompt as the record has it."""
    return prompt if store.redact is None else store.redact.raw(prompt)


def run_place(store: RunStore, folder: RunFolder) -> str:
    """Where a run's files are: the folder, or the URL it was moved to."""
    return str(folder.path) if folder.path.is_dir() else place_of(store, folder.run_id)


def place_of(store: RunStore, run_id: str) -> str:
    """Where the files of a recorded run are, be it live, finished, or moved elsewhere."""
    path = store.spool / run_path(run_id)
    return str(path) if path.is_dir() else f"{store.root.rstrip('/')}/{run_path(run_id)}"


def policy_digest(policy: FallbackPolicy) -> str:
    """The sha256 of what a policy says: the same for the same policy, however it was written."""
    return hashlib.sha256(orjson.dumps(policy.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS)).hexdigest()


def _versions(request: RunRequest) -> dict[str, str]:
    versions = {"atomic-flows": _own_version(), "python": platform.python_version(), "agent": request.agent.version}
    return {name: value for name, value in versions.items() if value is not None}


@functools.cache
def _own_version() -> str:
    try:
        return version("atomic-flows")
    except PackageNotFoundError:  # run from a checkout that nobody installed
        return "unknown"
