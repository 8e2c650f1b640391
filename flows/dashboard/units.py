"""Figures with their units, as they stand in tables and tiles."""

from __future__ import annotations

from flows.cli.figures import duration

NOTHING = "–"


def percent(part: float | None) -> str:
    """A share: ``98.2 %``; of small ones enough to tell them from nothing."""
    if part is None:
        return NOTHING
    if 0 < part < 0.0005:
        return "< 0.1 %"
    if 0.9995 < part < 1:
        return "> 99.9 %"
    return f"{part:.1%}".replace("%", " %")


def dollars(amount: float | None) -> str:
    """``$1,204.50``, ``$0.0312``; a dash where no price is known."""
    if amount is None:
        return NOTHING
    return f"${amount:,.2f}" if amount >= 1 or amount == 0 else f"${amount:.4f}"


def seconds(took: float | None) -> str:
    """A duration; a dash where nothing was measured."""
    return NOTHING if took is None else duration(took)


def change(before: float | None, after: float | None) -> str:
    """How much more or less it became: ``+12.0 %``, ``×3.1``; a dash where that says nothing."""
    if before is None or after is None or not before:
        return NOTHING
    times = after / before
    if times >= 3:
        return f"×{times:.1f}"
    return f"{times - 1:+z.1%}".replace("+0.0%", "0.0%").replace("%", " %").replace("-", "−")
