"""One run: the whole of it, each attempt's transcript and raw events, and the stream as a file.

/runs/ID                     why it ended as it did
/runs/ID/N                   the transcript of attempt N            ?from=ENTRY
/runs/ID/N/events            its raw events                         ?from=LINE or ?line=LINE
/runs/ID/N/stream.jsonl      its stream, byte for byte
"""

from __future__ import annotations

from fastapi import FastAPI

from flows.dashboard.pages.run import download, events, transcript, whole
from flows.dashboard.sources import Sources


def register(app: FastAPI, sources: Sources) -> None:
    """All routes of a run."""
    download.register(app, sources)
    whole.register(sources)
    transcript.register(sources)
    events.register(sources)
