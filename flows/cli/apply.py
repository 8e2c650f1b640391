"""`apply`: what a run changed in its workspace, brought into the user's tree or onto a branch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows.cli import completion


def apply(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run: id, its beginning, latest.", autocompletion=completion.runs)
    ],
    branch: Annotated[
        str | None,
        typer.Option("--branch", "-b", metavar="NAME", help="Make this branch of it; the files stay as they are."),
    ] = None,
    cwd: Annotated[
        Path | None, typer.Option("--cwd", "-C", help="Another folder than the one it was made from.")
    ] = None,
    config: Annotated[Path | None, typer.Option("--config", help="Settings file in place of the project's.")] = None,
) -> None:
    """Bring what a run changed in its workspace into your tree, if it fits as a whole.

    What does not fit changes nothing, and the files that are in the way are named (exit code 1).
    """
    from atomic.runner import open_store
    from atomic.settings import load_settings
    from atomic.text import one_line, printable
    from atomic.workspace import Branch, apply_to_branch, apply_to_tree
    from flows.cli.output import GREEN, paint, say
    from flows.cli.patches import find_patch

    patch = find_patch(open_store(load_settings(cwd, config)), run, cwd)
    if patch is None:
        say("the run changed nothing")
        return
    what = str(patch.changes)
    if branch is None:
        apply_to_tree(patch.file, patch.top)
        say(f"{paint('✓ applied', GREEN)} {what} in {printable(str(patch.top))}; nothing is staged or committed")
        return
    made = Branch(branch, patch.commit(), patch.message)
    commit = apply_to_branch(patch.file, patch.top, made)
    say(f"{paint('✓ branch', GREEN)} {one_line(branch)} at {commit[:12]}: {what}; your files are as they were")
