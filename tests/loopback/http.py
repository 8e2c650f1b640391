"""As much of HTTP as a provider needs: one request a connection, JSON in, JSON or server-sent events out."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
CLOSED_CHUNK = b"0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Request:
    """A request, read whole."""

    method: str
    path: str
    headers: dict[str, str]  # names in lower case
    body: bytes

    @property
    def key(self) -> str | None:
        """The key that the client sent."""
        scheme, _, value = self.headers.get("authorization", "").partition(" ")
        return value if scheme.lower() == "bearer" else None


@dataclass(frozen=True, slots=True)
class ProviderError:
    """An error as a provider answers it."""

    status: HTTPStatus
    message: str
    type: str
    code: str | None = None
    retry_after: int | None = None  # seconds


async def read_request(reader: asyncio.StreamReader) -> Request:
    """Read one request. Raises IncompleteReadError when the client goes away first."""
    head, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head.split(" ", 2)
    headers = {name.lower(): value for name, colon, value in (line.partition(": ") for line in lines) if colon}
    body = b""
    if length := headers.get("content-length"):
        body = await reader.readexactly(int(length))
    elif headers.get("transfer-encoding") == "chunked":
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
    return Request(method, path, headers, body)


class Reply:
    """Writes one reply: JSON, or a stream of server-sent events."""

    def __init__(self, writer: asyncio.StreamWriter, model: str = "") -> None:
        self._writer = writer
        self._model = model

    async def json(self, status: HTTPStatus, value: Any, headers: str = "") -> None:
        """Answer with a JSON value."""
        body = json.dumps(value).encode()
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n{headers}Connection: close\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        await self._writer.drain()

    async def error(self, error: ProviderError) -> None:
        """Answer with an error, and a Retry-After header where it says when."""
        detail = {"message": error.message, "type": error.type, "code": error.code, "param": None}
        wait = "" if error.retry_after is None else f"Retry-After: {error.retry_after}\r\n"
        await self.json(error.status, {"error": detail}, wait)

    async def open(self) -> None:
        """Begin a stream."""
        self._writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        )
        await self._writer.drain()

    async def raw(self, data: bytes) -> None:
        """Send one event with these bytes."""
        event = b"data: " + data + b"\n\n"
        self._writer.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
        await self._writer.drain()

    async def delta(self, delta: dict[str, Any], finish: str | None = None) -> None:
        """Send a piece of the answer."""
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        await self.raw(json.dumps(self._chunk([choice])).encode())

    async def finish(self, reason: str = "stop") -> None:
        """Send why it ends, the usage and the end."""
        await self.delta({}, reason)
        await self.raw(json.dumps({**self._chunk([]), "usage": USAGE}).encode())
        await self.raw(b"[DONE]")
        await self.end()

    async def end(self) -> None:
        """End the stream, whatever was sent."""
        self._writer.write(CLOSED_CHUNK)
        await self._writer.drain()

    async def text(self, *parts: str, reason: str = "stop", pause: float = 0.0) -> None:
        """A whole answer in these pieces."""
        await self.open()
        for part in parts:
            await self.delta({"content": part})
            await asyncio.sleep(pause)
        await self.finish(reason)

    async def bash(self, command: str) -> None:
        """Ask for a shell command."""
        function = {"name": "bash", "arguments": json.dumps({"command": command})}
        call = {"index": 0, "id": "call_1", "type": "function", "function": function}
        await self.open()
        await self.delta({"role": "assistant", "content": None, "tool_calls": [call]})
        await self.finish("tool_calls")

    def reset(self) -> None:
        """Break the connection at once, as a crashed machine does."""
        linger = struct.pack("ii", 1, 0)
        self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self._writer.transport.abort()

    def _chunk(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": "chatcmpl-loopback",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": self._model,
            "choices": choices,
        }
