"""Text that wants to do something where it is shown, and an agent that says it everywhere it can."""

from __future__ import annotations

import json
import re
import shlex
import stat
from pathlib import Path
from typing import Any

from tests.agents import closing, opening, tool_end, tool_start

TERMINAL = (
    "\x1b[38;5;199mpink\x1b[0m \x1b]0;title\x07 \x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\ "
    "\x1b]52;c;ZXZpbA==\x07 \x1bPq#0\x1b\\ \x9b2J \x9d0;title\x9c \x1b[2J\x1b[H \x1b[?1049h \x08\x08\x7f \r\x0b\x0c "
    "over\rwritten \u202egnp.exe\u202c zero\u200bwidth \ufeff \U000e0041"
)
MARKUP = (
    "[bold red]rich[/] [/nope] [link=https://evil.example]x[/link] [[ ]] ![pixel](https://evil.example/p.png?leak) "
    "[click](javascript:alert(1)) <https://evil.example> https://evil.example <script>alert(1)</script> "
    "<img src=x onerror=alert(1)> ``` `code` | a | b | **bold** _it_ &lt; {n} {0} %s $(touch pwned) `touch pwned` "
    '=HYPERLINK("https://evil.example") ../../../etc/passwd\n\n# heading\n\n- item\n'
)
HOSTILE = f"{TERMINAL} {MARKUP}"

# What the command line itself sends: colours, and the moves of a line that is drawn anew.
_OURS = re.compile(r"\x1b\[(?:[0-9]{0,2}(?:;[0-9]{1,2})*m|\?25[lh]|[0-9]?[AK])")
_OVERWRITES = re.compile(r"\r[^\r\n\x1b]")
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u200b\ufeff\U000e0000-\U000e007f]")


def obeyed(written: str) -> list[str]:
    """What a terminal would obey, of what a command wrote to it, beside what the command line sends itself."""
    left = _OURS.sub("", written)
    found = [sign for sign in _UNFIT.findall(left) if sign != "\r"]
    return [*found, *_OVERWRITES.findall(written), *(["pink"] if "\x1b[38;5;199" in written else [])]


def hostile_agent(folder: Path, text: str = HOSTILE, *, headers: str = HOSTILE, fails: bool = False) -> str:
    """The command of an agent that says the text as answer or error, as model, tool, type, header and on stderr."""
    model = {"provider": text, "id": text, "headers": {"Authorization": headers}}
    said: dict[str, Any] = {"role": "assistant", "provider": text, "model": text, "usage": {"input": 1, "output": 1}}
    said |= {"content": [{"type": "text", "text": text}], "stopReason": "stop", "responseModel": text}
    if fails:
        said |= {"stopReason": "error", "errorMessage": text, "content": []}
    records = [
        *opening(),
        {"type": "model_changed", "model": model, "source": "set"},
        {"type": f"x_{text}"},
        {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 1, "delayMs": 1, "errorMessage": text},
        tool_start(text, text),
        tool_end(text),
        {"type": "message_end", "message": said},
        *closing(),
    ]
    stream = folder / "stream"
    stream.write_text(
        "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records) + f"noise {text!r}\n"
    )
    stderr = folder / "stderr"
    stderr.write_bytes(text.encode("utf-8", "replace"))
    # In two parts, so that there is a moment in which the tool runs.
    cut = stream.read_bytes().index(b'{"type":"tool_execution_end"')
    (folder / "head").write_bytes(stream.read_bytes()[:cut])
    (folder / "tail").write_bytes(stream.read_bytes()[cut:])
    program = folder / "agent.sh"
    at = shlex.quote(str(folder))
    program.write_text(f"#!/bin/sh\ncd {at}\ncat stderr >&2\ncat head\nsleep 0.6\ncat tail\nexit {int(fails)}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return shlex.quote(str(program))
