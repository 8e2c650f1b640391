"""The scripted agent itself: what a behaviour can do, in the words of the protocol."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from atomic.scripted.arguments import Arguments
from atomic.scripted.session_file import SessionFile
from atomic.scripted.usage import SYSTEM_TOKENS, tokens, usage
from atomic.scripted.wire import Json, Wire, encode

API = "scripted"
RETRIES = 2  # as many as the agent is set to in the recorded streams
RETRY_DELAY_MS = 20  # short: nobody waits for a script


def now_ms() -> int:
    """The time as the agent writes it into messages."""
    return int(time.time() * 1000)


def provider_error(status: int, message: str, kind: str, code: str | None = None) -> str:
    """An error's text as the agent takes it from an OpenAI-compatible provider."""
    error = {"message": message, "type": kind, "code": code, "param": None}
    return f"{status}: {encode(error).decode().rstrip()}"


class Agent:
    """One session. A behaviour calls, in this order: `begin`; for each message `say`, `fail` or `use_tool`; `end_run`
    (once for each low-level run, `begin_run` before another); `settle`. `answer` does all but `begin` at once."""

    def __init__(self, arguments: Arguments, wire: Wire, session: SessionFile, prompt: str) -> None:
        self.arguments = arguments
        self.wire = wire
        self.session = session
        self.prompt = prompt
        self.provider, self.model = arguments.model
        self.exit_code = 0
        self._named = False
        self._run: list[Json] = []  # messages of the low-level run: what agent_end repeats
        self._turn: tuple[Json, list[Json]] | None = None
        self._seen = sum(tokens(str(message.get("content"))) for message in session.history)

    # lifecycle

    def header(self) -> None:
        """Write the stream's first line, once: the session's header, the original one of a session that goes on."""
        if not self._named:
            self.wire.raw(encode(self.session.header))
            self._named = True

    def begin(self) -> None:
        """Header, start of the first run, and the prompt as the user's message."""
        self.header()
        self.session.append("model_change", provider=self.provider, modelId=self.model)
        self.session.append("thinking_level_change", thinkingLevel=self.arguments.options.get("--thinking", "off"))
        self.begin_run()
        self._whole({"role": "user", "content": [{"type": "text", "text": self.prompt}], "timestamp": now_ms()})

    def begin_run(self) -> None:
        """Start a low-level run, and its first turn."""
        self._run = []
        self.wire.emit("agent_start")
        self.begin_turn()

    def begin_turn(self) -> None:
        """Start a turn."""
        self.wire.emit("turn_start")

    def end_turn(self) -> None:
        """End the turn of the last assistant message, if it is still open."""
        if self._turn:
            message, results = self._turn
            self.wire.emit("turn_end", message=message, toolResults=results)
            self._turn = None

    def end_run(self) -> None:
        """End the turn and the low-level run. It is not the end of the prompt: retries and the like may follow."""
        self.end_turn()
        self.wire.emit("agent_end", messages=self._run)

    def settle(self) -> None:
        """The end of the prompt, said only by clients that have the event."""
        if self.wire.style.settles:
            self.wire.emit("agent_settled")

    # messages

    def say(
        self,
        *pieces: str,
        stop: str = "stop",
        error: str | None = None,
        thinking: str | None = None,
        pause: float = 0,
        piece_tokens: int | None = None,
    ) -> Json:
        """An assistant message, streamed in these pieces. `piece_tokens`: what each piece counts as, where that is not
        its length. Returns the message as message_end carries it."""
        message = self.open_message()
        if thinking is not None:
            self._stream(message, "thinking", [thinking])
        if any(pieces):
            count = tokens if piece_tokens is None else lambda _: piece_tokens
            self._stream(message, "text", pieces, pause=pause, count=count)
        return self._close(message, stop, error)

    def answer(self, *pieces: str, **how: Any) -> None:
        """Say this and end: the message, its turn, the run, the prompt."""
        self.say(*(pieces or ("",)), **how)
        self.end_run()
        self.settle()

    def fail(self, error: str, *, partial: str = "", stop: str = "error") -> None:
        """An assistant message that ends with this error, maybe after some text."""
        if partial:
            self.say(partial, stop=stop, error=error)
        else:
            message = self._blank(stop)
            message["errorMessage"] = error
            self._whole(message)
        self.end_run()

    def fail_with_retries(self, error: str, *, partial: str = "", until: int | None = None) -> None:
        """Fail, announce a retry and fail again, until the retries are used up. With `until` the retry of that number
        is left open: the caller lets it succeed."""
        for attempt in range(1, RETRIES + 1):
            self.fail(error, partial=partial)
            delay = RETRY_DELAY_MS * 2 ** (attempt - 1)
            self.wire.emit("auto_retry_start", attempt=attempt, maxAttempts=RETRIES, delayMs=delay, errorMessage=error)
            time.sleep(delay / 1000)
            self.begin_run()
            if attempt == until:
                return
        self.fail(error, partial=partial)
        self.wire.emit("auto_retry_end", success=False, attempt=RETRIES, finalError=error)

    def open_message(self) -> Json:
        """Open an assistant message without ending it."""
        message = self._blank("stop" if self.wire.style.form == "cumulative" else "pending")
        message["usage"] = self._usage(0)
        self.wire.emit("message_start", message={**message, "usage": usage()})
        return message

    def write(self, message: Json, pieces: Iterable[str], *, pause: float = 0) -> None:
        """Stream text into an open message and leave it open."""
        self._stream(message, "text", pieces, pause=pause, close=False)

    def ask_for_tool(self, name: str, call_id: str, arguments: Json) -> None:
        """An assistant message that asks for a tool."""
        message = self.open_message()
        call = {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}
        message["content"] = [call]
        self.wire.update({"type": "toolcall_start", "contentIndex": 0}, message)
        delta = encode(arguments).decode().rstrip()
        self.wire.update({"type": "toolcall_delta", "contentIndex": 0, "delta": delta}, message)
        message["usage"] = self._usage(tokens(delta))
        self.wire.update({"type": "toolcall_end", "contentIndex": 0, "toolCall": call}, message)
        self._close(message, "toolUse", None)

    def give_tool_result(self, result: Json) -> None:
        """A tool's result as a message."""
        self._whole({"role": "toolResult", **result, "timestamp": now_ms()})

    # within

    def _usage(self, output: int) -> Json:
        return usage(fresh=SYSTEM_TOKENS + tokens(self.prompt), cached=self._seen, output=output)

    def _blank(self, stop: str) -> Json:
        return {
            "role": "assistant",
            "content": [],
            "api": API,
            "provider": self.provider,
            "model": self.model,
            "usage": usage(),
            "stopReason": stop,
            "timestamp": now_ms(),
        }

    def _stream(
        self,
        message: Json,
        kind: str,
        pieces: Iterable[str],
        *,
        pause: float = 0,
        count: Callable[[str], int] = tokens,
        close: bool = True,
    ) -> None:
        index, written, said = len(message["content"]), message["usage"]["output"], list[str]()
        block = {"type": kind, kind: ""}
        message["content"].append(block)
        self.wire.update({"type": f"{kind}_start", "contentIndex": index}, message)
        for piece in pieces:
            said.append(piece)
            written += count(piece)
            if self.wire.style.form == "cumulative":
                block[kind] = "".join(said)
            message["usage"] = self._usage(written)
            self.wire.update({"type": f"{kind}_delta", "contentIndex": index, "delta": piece}, message)
            if pause:
                time.sleep(pause)
        block[kind] = "".join(said)
        if close:
            self.wire.update({"type": f"{kind}_end", "contentIndex": index, "content": block[kind]}, message)

    def _close(self, message: Json, stop: str, error: str | None) -> Json:
        message["stopReason"] = stop
        if error is not None:
            message["errorMessage"] = error
        self._end_message(message)
        return message

    def _whole(self, message: Json) -> None:
        self.wire.emit("message_start", message=message)
        self._end_message(message)

    def _end_message(self, message: Json) -> None:
        self.wire.emit("message_end", message=message)
        self.session.append("message", message=message)
        self._run.append(message)
        if message["role"] == "assistant":
            self._turn = (message, [])
            failed = message["stopReason"] in ("error", "aborted")
            self.exit_code = self.wire.style.failure_exit if failed else 0
        elif message["role"] == "toolResult" and self._turn:
            self._turn[1].append(message)
