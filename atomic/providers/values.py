"""Values of the agent's configuration that stand for others: `$NAME`, `${NAME}`, `!command`, or the name of a variable.

pi 1.6.0 fills in `$NAME` and `${NAME}` (`$$` and `$!` are a dollar and an exclamation mark); pi 0.73.1 takes a whole
value that is the name of a variable for that variable. Both run what follows a leading `!` in a shell. We do not: what
a command would print is unknown here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from atomic.text import is_secret_name

_REFERENCE = re.compile(r"\$(?:([$!])|\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", re.ASCII)
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class Value:
    """What a value comes to. ``text`` is None for a command, and where a variable is missing. It may be secret."""

    text: str | None = field(default=None, repr=False)
    command: bool = False
    variables: tuple[str, ...] = ()  # that it stands for, set or not


def read_value(written: str, environ: Mapping[str, str]) -> Value:
    """What a value of `models.json` or `auth.json` comes to in this environment."""
    if written.startswith("!"):
        return Value(command=True)
    if _VARIABLE.fullmatch(written) and (environ.get(written) or is_secret_name(written)):
        return Value(environ.get(written) or None, variables=(written,))
    names = tuple(dict.fromkeys(match[2] or match[3] for match in _REFERENCE.finditer(written) if not match[1]))
    if any(not environ.get(name) for name in names):
        return Value(variables=names)
    text = _REFERENCE.sub(lambda match: match[1] or environ[match[2] or match[3]], written)
    return Value(text, variables=names)
