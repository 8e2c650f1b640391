"""The error tree.

    AtomicError
    ├── UsageError                 what was asked for cannot be done as given; nothing was spent
    │   ├── SettingsError          a configuration file or variable
    │   ├── PolicyError            a policy that cannot be followed
    │   ├── ModelRefError          a model's name that cannot be read
    │   ├── PromptError            a prompt that is missing, empty or not meant to be one
    │   ├── AgentNotFound          no agent to run
    │   ├── PlaceError             a folder or file that is missing, of the wrong sort, or not writable
    │   ├── WorkspaceError         no workspace of its own can be made for a run
    │   ├── FolderBusy             another session is at work in the folder
    │   ├── InputError             the input of a batch holds what cannot be run
    │   ├── BatchNotFound          no batch, or no edition of it, of that name
    │   └── EditionBusy            a batch that another process carries out
    ├── RecordError                the files of a run
    │   ├── RunNotFound            no record of that name
    │   └── RecordDamaged          a record that does not hold what it should
    ├── PatchRefused               a run's patch does not fit the tree that it was to be applied to
    ├── ServerError                a Prefect server that does not start or answer
    ├── DatabaseError              the database of batches and history cannot be used
    ├── EditionLost                another process has taken the edition over
    ├── BatchBroken                what a batch that has begun needs is not to be had any more
    └── RunError                   a run that ended without an answer
        ├── NoModelAnswered        every attempt failed, or the policy stopped
        └── RunCancelled           somebody stopped it

Every error carries machine fields (its keyword arguments, as attributes and in ``fields``), a message that a person
reads, and a ``hint``: what to do about it. All of them can be pickled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from atomic.runner import RunResult

EXIT_ANSWERED = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_BUDGET = 3
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143


class AtomicError(Exception):
    """Any error of this toolkit. ``hint`` says what to do; ``fields`` holds the machine fields."""

    exit_code: ClassVar[int] = EXIT_FAILED

    def __init__(self, message: str, *, hint: str | None = None, **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.fields = fields

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["fields"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.hint, self.fields)


def _rebuild(kind: type[AtomicError], message: str, hint: str | None, fields: dict[str, Any]) -> AtomicError:
    return kind(message, hint=hint, **fields)


class UsageError(AtomicError):
    """What was asked for cannot be done as given; nothing was spent."""

    exit_code = EXIT_USAGE


class SettingsError(UsageError):
    """A configuration file or variable is wrong. Fields: ``file``, ``line``, ``key``, ``nearest``, where known;
    ``problems``: all messages, where there are several."""


class PolicyError(UsageError):
    """A policy cannot be followed. Fields: ``policy``, ``key``, ``nearest``, where known; ``more``: what else is wrong,
    each a PolicyError."""


class ModelRefError(UsageError):
    """A model's name cannot be read, or ends in a mistyped level. Fields: ``text``; ``nearest``, the level meant."""


class PromptError(UsageError):
    """A prompt is missing, empty or not meant to be one. Fields: ``reason``."""


class AgentNotFound(UsageError):
    """No agent to run. Fields: ``command``."""


class PlaceError(UsageError):
    """A folder or file is missing, of the wrong sort, or not writable. Fields: ``path``, ``reason``."""


class WorkspaceError(UsageError):
    """No workspace of its own can be made for a run. Fields: ``path``, ``reason``, where known."""


class FolderBusy(UsageError):
    """Another session is at work in the folder. Fields: ``path``, ``what`` (in words), and where known ``pid`` and
    ``since`` (seconds since the epoch)."""


class InputError(UsageError):
    """The input of a batch holds what cannot be run. Fields: ``problems`` (the first of them), ``total``."""


class BatchNotFound(UsageError):
    """No batch, or no edition of it, of that name. Fields: ``batch``, ``edition``, ``nearest``, where known."""


class EditionBusy(UsageError):
    """Another process carries the batch out. Fields: ``batch``, ``edition``, ``owner`` (in words), ``since`` and
    ``heartbeat`` (seconds since the epoch)."""


class RecordError(AtomicError):
    """The files of a run cannot be used. Fields: ``path``, where known."""


class RunNotFound(RecordError):
    """No record of that name. Fields: ``run_id``, ``nearest``."""

    exit_code = EXIT_USAGE


class RecordDamaged(RecordError):
    """A record does not hold what it should. Fields: ``path``, ``offset``."""


class PatchRefused(AtomicError):
    """A run's patch does not fit the tree, or the branch is there already; nothing was changed. Fields: ``files`` (in
    the way, as far as git names them)."""


class ServerError(AtomicError):
    """A Prefect server does not start or answer. Fields: ``url``, ``log``, where known."""


class DatabaseError(AtomicError):
    """The database of batches and history cannot be used. Fields: ``url`` (passwords masked), ``reason``: one of
    ``locked``, ``full``, ``readonly``, ``corrupt``, ``removed``, ``newer``, ``unreachable``, ``denied``, ``url``,
    ``driver``, ``failed``."""

    exit_code = EXIT_USAGE


class EditionLost(AtomicError):
    """Another process has taken the edition over: nothing more may be written to it. Fields: ``batch``,
    ``edition``."""


class BatchBroken(AtomicError):
    """A batch had begun, and its database, its results or its records can be written no more. The cause is the error
    that says so. Fields: ``batch``, ``edition``; those of the cause."""


class RunError(AtomicError):
    """A run ended without an answer. ``result`` is the whole :class:`atomic.runner.RunResult`."""

    def __init__(self, message: str, *, result: RunResult, hint: str | None = None, **fields: Any) -> None:
        super().__init__(message, hint=hint, result=result, **fields)


class NoModelAnswered(RunError):
    """Every attempt failed, or the policy stopped. ``result.attempts`` holds each attempt and its verdict."""


class RunCancelled(RunError):
    """Somebody stopped the run. ``result`` holds what there was until then."""

    exit_code = EXIT_INTERRUPTED
