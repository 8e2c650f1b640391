"""The agent's command line, as far as a script needs it; an unknown option is refused, as the real agent does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

PROVIDER = "scripted"
MODEL = "ok"
LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")

VALUED = {
    "--api-key",
    "--append-system-prompt",
    "--exclude-tools",
    "--extension",
    "--fork",
    "--mode",
    "--model",
    "--models",
    "--name",
    "--prompt-template",
    "--provider",
    "--session",
    "--session-dir",
    "--session-id",
    "--skill",
    "--system-prompt",
    "--theme",
    "--thinking",
    "--tools",
}
SWITCHES = {
    "--approve",
    "--continue",
    "--help",
    "--list",
    "--no-approve",
    "--no-builtin-tools",
    "--no-context-files",
    "--no-extensions",
    "--no-mcp",
    "--no-prompt-templates",
    "--no-session",
    "--no-skills",
    "--no-themes",
    "--no-tools",
    "--offline",
    "--print",
    "--verbose",
    "--version",
}
SHORT = {
    "-a": "--approve",
    "-c": "--continue",
    "-e": "--extension",
    "-h": "--help",
    "-n": "--name",
    "-na": "--no-approve",
    "-nc": "--no-context-files",
    "-ne": "--no-extensions",
    "-np": "--no-prompt-templates",
    "-ns": "--no-skills",
    "-nt": "--no-tools",
    "-p": "--print",
    "-t": "--tools",
    "-v": "--version",
    "-xt": "--exclude-tools",
}


class ArgumentError(Exception):
    """The command line cannot be read; the message is what the real agent would print."""


class Arguments(NamedTuple):
    """What the command line said."""

    options: dict[str, str]  # with their dashes; switches have the value ""
    files: tuple[str, ...]  # the @file arguments
    messages: tuple[str, ...]

    @property
    def model(self) -> tuple[str, str]:
        """Provider and id of the model. The level behind the last colon is dropped: no behaviour depends on it."""
        name = self.options.get("--model", MODEL)
        head, colon, level = name.rpartition(":")
        if colon and level in LEVELS:
            name = head
        if provider := self.options.get("--provider"):
            return provider, name.removeprefix(f"{provider}/")
        provider, slash, identity = name.partition("/")
        return (provider, identity) if slash else (PROVIDER, name)


def parse(argv: Sequence[str]) -> Arguments:
    """Read the command line. Raises ArgumentError for an unknown option, or one without its value."""
    options: dict[str, str] = {}
    files: list[str] = []
    messages: list[str] = []
    words = iter(argv)
    for word in words:
        if word == "--":
            messages.extend(words)
        elif word.startswith("@"):
            files.append(word[1:])
        elif not word.startswith("-"):
            messages.append(word)
        elif (option := SHORT.get(word, word)) in SWITCHES:
            options[option] = ""
        elif option in VALUED:
            value = next(words, None)
            if value is None:
                raise ArgumentError(f"Option {word} needs a value")
            options[option] = value
        else:
            raise ArgumentError(f"Unknown option: {word}")
    return Arguments(options, tuple(files), tuple(messages))
