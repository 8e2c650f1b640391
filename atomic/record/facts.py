"""What the files of a run say: frozen facts, as they stand in ``run.json`` and ``attempt.json``."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from atomic.failures import FailureKind
from atomic.policy.facts import Limits
from atomic.processes import ProcessId
from atomic.verdict.facts import Facts, Status, Usage, Verdict

RunStatus = Literal["running", "answered", "failed"]


class Owner(Facts):
    """The process that carries a run out. Two owners are the same only when all five agree."""

    pid: int
    process_started: float  # as in ProcessId.start_time
    boot_id: str
    host: str
    user: str


class StreamFile(Facts):
    """The agent's stdout at rest. ``sha256`` and ``bytes`` are those of the raw stream, whatever form it is kept in; of
    a redacted one, those of what is kept."""

    name: str  # stream.jsonl.zst; stream.jsonl where it could not be compressed
    bytes: int
    sha256: str
    compressed_bytes: int | None = None


class Changes(Facts):
    """What has changed in a run's workspace since its start. Lines of binary files are not counted."""

    files: int = 0
    insertions: int = 0
    deletions: int = 0
    bytes: int = 0  # of the patch
    patch: str | None = None  # its file, relative to the record; None: nothing changed, or more than is kept

    def __str__(self) -> str:
        """``3 files changed, +10 −2``."""
        if not self.files:
            return "nothing changed"
        told = (
            f"{self.files:,} {'file' if self.files == 1 else 'files'} changed, +{self.insertions:,} −{self.deletions:,}"
        )
        return told if self.patch else f"{told}, too much to keep as a patch"


class AttemptRecord(Facts):
    """One attempt (``attempt.json``). Times are seconds since the epoch. ``status`` is None until it has a verdict;
    status, kind, message and answered_by repeat the verdict's, so that a listing need not look inside it."""

    run_id: str
    n: int
    model: str | None = None  # None: the agent's own default
    status: Status | None = None
    kind: FailureKind | None = None
    message: str = ""
    answered_by: str | None = None
    carry: bool = False
    record: str = ""  # the attempt's folder, relative to the run's
    command: tuple[str, ...] = ()  # secrets masked
    marker: str = ""  # value of ATOMIC_FLOWS_ATTEMPT in the environment of the agent and its tools
    pid: int | None = None
    process_started: float | None = None
    boot_id: str | None = None
    host: str | None = None
    descendants: tuple[ProcessId, ...] = ()  # seen while the agent lived
    may_stay: tuple[str, ...] = ()  # what of them may outlive it, as [agent] may_stay had it
    agent_version: str | None = None
    cwd: str = ""
    started_at: float = 0.0
    ended_at: float | None = None
    limits: Limits = Limits()
    exit_code: int | None = None  # negative: ended by that signal; None: nobody saw the end
    verdict: Verdict | None = None
    stream: StreamFile | None = None  # None: there is none, or it has not been put to rest
    prompt_bytes: int = 0
    session_file: str | None = None  # relative to the attempt's folder; None when the agent wrote none
    redacted: bool = False  # known secrets were taken out of its files: they are not what the agent wrote
    changes: Changes | None = None  # in its folder; None: it worked in the user's own folder

    @property
    def ended(self) -> bool:
        """Whether the attempt has its verdict."""
        return self.verdict is not None

    @property
    def process(self) -> ProcessId | None:
        """The agent's process; None when it was never started, or was started and not yet noted."""
        if self.pid is None or self.process_started is None:
            return None
        return ProcessId(self.pid, self.process_started)

    def concluded(
        self,
        verdict: Verdict,
        *,
        ended_at: float,
        stream: StreamFile | None = None,
        session_file: str | None = None,
        descendants: tuple[ProcessId, ...] | None = None,
        redacted: bool = False,
    ) -> AttemptRecord:
        """The same attempt with its verdict, and with the fields that repeat it."""
        return self.model_copy(
            update={
                "verdict": verdict,
                "status": verdict.status,
                "kind": verdict.kind,
                "message": verdict.message,
                "answered_by": verdict.answered_by,
                "exit_code": verdict.exit_code,
                "ended_at": ended_at,
                "stream": stream,
                "session_file": session_file,
                "redacted": redacted,
                "descendants": self.descendants if descendants is None else descendants,
            }
        )


class WorkspaceStart(Facts):
    """The workspace of a run: what it was made from."""

    mode: Literal["worktree", "copy"]
    top: str  # the user's folder that it stands for: paths in patches are relative to it
    commit: str | None = None  # that was checked out there; None: there was none


class AttemptSummary(Facts):
    """An attempt as results and listings show it."""

    n: int
    model: str | None
    status: Status | None = None
    kind: FailureKind | None = None
    message: str = ""
    answered_by: str | None = None
    carry: bool = False
    retry_at: float | None = None  # seconds since the epoch
    record: str = ""  # the attempt's folder, relative to the run's

    @classmethod
    def of(cls, attempt: AttemptRecord) -> AttemptSummary:
        """The summary of an attempt's record."""
        return cls(
            n=attempt.n,
            model=attempt.model,
            status=attempt.status,
            kind=attempt.kind,
            message=attempt.message,
            answered_by=attempt.answered_by,
            carry=attempt.carry,
            retry_at=attempt.verdict.retry_at if attempt.verdict else None,
            record=attempt.record,
        )


class RunRecord(Facts):
    """One run (``run.json``). Times are seconds since the epoch. Usage and cost are sums over the attempts;
    ``cost_usd`` is None where nobody knows it."""

    run_id: str
    name: str | None = None
    key: str | None = None  # of idempotence, as the caller gave it
    batch: str | None = None
    edition: str | None = None
    custom_id: str | None = None
    status: RunStatus = "running"
    kind: FailureKind | None = None
    message: str = ""
    answer: str | None = None
    answered_by: str | None = None
    policy: dict[str, Any] = Field(default_factory=dict)
    policy_digest: str = ""
    attempts: tuple[AttemptSummary, ...] = ()
    usage: Usage = Usage()
    cost_usd: float | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = Field(default_factory=dict)
    owner: Owner | None = None
    versions: dict[str, str] = Field(default_factory=dict)
    cwd: str = ""
    created_at: float = 0.0
    ended_at: float | None = None
    flow_run_id: str | None = None
    warnings: tuple[str, ...] = ()
    workspace: WorkspaceStart | None = None  # None: it worked in ``cwd`` itself
    changes: Changes | None = None  # after the attempt that answered, or the last one

    @property
    def ended(self) -> bool:
        """Whether the run is over."""
        return self.status != "running"
