"""``/runs/ID/N/stream.jsonl``: the stream of an attempt as the agent wrote it, byte for byte."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import BinaryIO

import zstandard
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse, Response, StreamingResponse

from atomic.errors import PlaceError, RecordError
from flows.dashboard.pages.run.asked import positive
from flows.dashboard.records import AttemptFound, find_run
from flows.dashboard.sources import Sources

PIECE = 1 << 20  # bytes sent at once


def register(app: FastAPI, sources: Sources) -> None:
    """The route."""

    def look(run_id: str, number: str) -> tuple[AttemptFound, BinaryIO] | None:
        n = positive(number)
        attempt = find_run(sources.store, run_id).attempt(n) if n is not None else None
        if attempt is None or attempt.folder is None:
            return None
        return attempt, attempt.folder.open_stream()

    @app.api_route("/runs/{run_id}/{number}/stream.jsonl", methods=["GET", "HEAD"])
    async def stream(run_id: str, number: str) -> Response:
        try:
            found = await asyncio.to_thread(look, run_id, number)
        except (RecordError, PlaceError) as error:
            return PlainTextResponse(f"{error.message}\n", 404)
        if found is None:
            return PlainTextResponse("there is no such attempt\n", 404)
        attempt, source = found
        name = f"{run_id}-{attempt.n}.jsonl"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        if attempt.record is not None and attempt.record.stream is not None:
            headers["X-Content-SHA256"] = attempt.record.stream.sha256
        return StreamingResponse(_pieces(source), media_type="application/x-ndjson", headers=headers)


async def _pieces(source: BinaryIO) -> AsyncIterator[bytes]:
    """What there is: of a damaged copy what can be read, of a growing one what is written by then."""
    try:
        while piece := await asyncio.to_thread(source.read, PIECE):
            yield piece
    except zstandard.ZstdError:
        return
    finally:
        source.close()
