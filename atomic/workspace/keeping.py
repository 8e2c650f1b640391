"""What a workspace has come to, put on record."""

from __future__ import annotations

from atomic.record import AttemptFolder, Changes
from atomic.record.redact import redact_lines
from atomic.workspace.live import Workspace
from atomic.workspace.state import PATCH_FILE


def keep_changes(workspace: Workspace, folder: AttemptFolder) -> Changes:
    """Write the patch into an attempt's folder. Where records are redacted, known secrets are taken out of it, too:
    it may then no longer fit. Blocks. Raises PlaceError, RecordError, WorkspaceError."""
    patch = folder.path / PATCH_FILE
    changes = workspace.changes(patch, durable=folder.durable)
    masker = folder.store.redact
    if masker is None or changes.patch is None:
        return changes
    redact_lines(patch, masker, durable=folder.durable)
    return changes.model_copy(update={"bytes": patch.stat().st_size})
