"""Bars by day: a chart for the eye, and the same figures as a table, whose every figure leads to its runs.

Charts are drawn as SVG, so that their colours are the style sheet's and follow the theme. Names of models are hostile:
they are values of the options, never keys (NiceGUI runs what stands below a key that begins with a colon), and tips are
drawn as text, not as HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from nicegui import events, ui

from flows.dashboard.elements import el, link
from flows.dashboard.tables import number, table
from flows.dashboard.text import visible

MOST_DAYS = 400  # days that a chart shows; of a longer time the last ones
PATTERNS: tuple[dict[str, Any], ...] = (
    {},
    {"dashArrayX": [1, 0], "dashArrayY": [2, 4], "rotation": -0.785},
    {"symbol": "circle", "dashArrayX": [[5, 5], [0, 5, 5, 0]], "dashArrayY": [3, 0], "symbolSize": 0.7},
    {"dashArrayX": [1, 0], "dashArrayY": [2, 4]},
    {"dashArrayX": [1, 0], "dashArrayY": [2, 4], "rotation": 0.785},
    {"dashArrayX": [1, 0], "dashArrayY": [2, 4], "rotation": 1.571},
)


@dataclass(frozen=True, slots=True)
class Series:
    """One part of the bars. ``colour`` is the name of one of the style sheet's; ``pattern`` a number of PATTERNS, which
    tells it from others of its colour."""

    name: str
    colour: str
    values: Sequence[float | None]  # one for each day
    pattern: int = 0
    to: Callable[[date], str] | None = None  # where the figure of a day leads
    whole: str | None = None  # where all days lead


def each_day(first: date, last: date) -> list[date]:
    """All days between two, both included: at most MOST_DAYS, the last ones."""
    n = min((last - first).days + 1, MOST_DAYS)
    return [last - timedelta(days=back) for back in range(n - 1, -1, -1)]


def day_name(day: date, today: date) -> str:
    """``Tue 1 Dec``; with the year where it is another."""
    return f"{day:%a} {day.day} {day:%b}" + ("" if day.year == today.year else f" {day.year}")


def stacked(days: Sequence[date], series: Sequence[Series], *, unit: str) -> dict[str, Any]:
    """The options of a chart of stacked bars. Pure. ``unit``: ``count`` or ``money``, see the script."""
    today = days[-1] if days else date.min
    muted = {"color": "var(--muted)", "fontSize": 11}
    return {
        "animation": False,
        "grid": {"left": 4, "right": 8, "top": 12, "bottom": 2, "containLabel": True},
        "tooltip": {
            "trigger": "axis",
            "renderMode": "richText",
            "confine": True,
            "axisPointer": {"type": "shadow", "shadowStyle": {"color": "var(--muted)", "opacity": 0.12}},
            "backgroundColor": "var(--raised)",
            "borderColor": "var(--line)",
            "borderWidth": 1,
            "shadowBlur": 0,
            "textStyle": {"color": "var(--text)", "fontSize": 12, "lineHeight": 18},
            ":formatter": f"(parts) => window.flowsTip(parts, '{unit}')",
        },
        "xAxis": {
            "type": "category",
            "data": [day_name(day, today) for day in days],
            "axisLabel": {
                **muted,
                "lineHeight": 14,
                "hideOverlap": True,
                ":formatter": "(day) => day.replace(' ', '\\n')",
            },
            "axisTick": {"show": False},
            "axisLine": {"lineStyle": {"color": "var(--line)"}},
        },
        "yAxis": {
            "type": "value",
            "splitNumber": 3,
            "axisLabel": {**muted, ":formatter": f"(value) => window.flowsFigure(value, '{unit}')"},
            "splitLine": {"lineStyle": {"color": "var(--line)", "opacity": 0.6}},
        },
        "series": [
            {
                "name": visible(one.name),
                "type": "bar",
                "stack": "all",
                "data": list(one.values),
                "barMaxWidth": 36,
                "barCategoryGap": "22%",
                "cursor": "pointer" if one.to else "default",
                "emphasis": {"disabled": True},
                "itemStyle": {
                    "color": f"var(--{one.colour})",
                    "borderColor": "var(--raised)",
                    "borderWidth": 0.5,
                    **_decal(one.pattern),
                },
            }
            for one in series
        ],
    }


def _decal(pattern: int) -> dict[str, Any]:
    lines = PATTERNS[pattern % len(PATTERNS)]
    return {"decal": {**lines, "color": "var(--raised)"}} if lines else {}


def day_chart(
    title: str,
    days: Sequence[date],
    series: Sequence[Series],
    *,
    unit: str,
    show: Callable[[float], str],
    keys: int = 0,
) -> None:
    """The chart, and its figures in a table that unfolds. ``show`` writes a figure with its unit. ``keys``: how many
    series, from the last on, have a key above the chart; 0: all."""

    def go(event: events.GenericEventArguments) -> None:
        bar, at = event.args.get("seriesIndex"), event.args.get("dataIndex")
        if isinstance(bar, int) and isinstance(at, int) and 0 <= bar < len(series) and 0 <= at < len(days):
            to = series[bar].to
            if to is not None:
                ui.navigate.to(to(days[at]))

    _key(series[-keys:], show)
    with el("div", None, "chart", aria_hidden="true"):
        chart = ui.echart(stacked(days, series, unit=unit), renderer="svg")
        chart.on("componentClick", go, ["seriesIndex", "dataIndex"])
    with el("details", None, "figures") as details:
        el("summary", "Figures")
        place = el("div")
    made = False

    def unfold() -> None:  # only then: cells of months by the thousand would keep everybody waiting
        nonlocal made
        if not made:
            made = True
            with place:
                _figures(title, days, series, show)

    details.on("toggle", unfold, [])


def _figures(title: str, days: Sequence[date], series: Sequence[Series], show: Callable[[float], str]) -> None:
    today = days[-1] if days else date.min
    with table(title, ["Day", *(one.name for one in series)], "dense", numbers=len(series)):
        for n in range(len(days) - 1, -1, -1):
            if not any(one.values[n] for one in series):
                continue
            with el("tr"):
                with el("th", scope="row"):
                    el("time", day_name(days[n], today), datetime=days[n].isoformat())
                for one in series:
                    value = one.values[n]
                    to = one.to(days[n]) if one.to is not None and value else None
                    number("" if value is None else show(value), to)


def _key(series: Sequence[Series], show: Callable[[float], str]) -> None:
    """What the colours and patterns mean, and how much of each there is in all."""
    with el("ul", None, "key"):
        for one in series:
            with el("li"):
                swatch(one.colour, one.pattern)
                if one.whole is None:
                    el("span", one.name)
                else:
                    link(one.name, one.whole, "plain")
                el("span", show(sum(value for value in one.values if value is not None)), "muted")


def swatch(colour: str, pattern: int = 0) -> None:
    """A spot of a colour with its pattern."""
    el("span", None, f"swatch p{pattern % len(PATTERNS)}", aria_hidden="true").style(f"--tone:var(--{colour})")
