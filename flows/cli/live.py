"""The foot of a terminal: a line that moves while something is at work, and lines above it that stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from flows.cli.output import BOLD, CYAN, DIM, GREEN, RED, YELLOW
from flows.cli.sentences import Piece

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

FRAMES_A_SECOND = 8
STYLES = {BOLD: "bold", DIM: "dim", RED: "red", GREEN: "green", YELLOW: "yellow", CYAN: "cyan"}  # rich's names for ours


class Foot:
    """Holds stderr's terminal from ``start`` to ``stop``. ``moving`` makes what the foot shows, for each frame."""

    def __init__(self, moving: Callable[[], RenderableType]) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(stderr=True, highlight=False, force_terminal=True)
        self._live = Live(
            get_renderable=moving,
            console=self._console,
            refresh_per_second=FRAMES_A_SECOND,
            transient=True,
            redirect_stdout=False,
        )

    def start(self) -> None:
        """Begin to move."""
        self._live.start()

    def stop(self) -> None:
        """Take the moving line away."""
        self._live.stop()

    def line(self, pieces: list[Piece]) -> None:
        """One line that stays, above the foot."""
        self._console.print(text_of(pieces), soft_wrap=True)


def text_of(pieces: list[Piece]) -> Text:
    """The pieces as rich shows them. Never by markup: what models wrote, or a batch's name, may look like some."""
    from rich.text import Text

    return Text.assemble(*((text, STYLES.get(code, "")) for text, code in pieces), no_wrap=True, overflow="ellipsis")
