"""The figures in short: answered, fallen back, cost, wasted, tokens, durations."""

from __future__ import annotations

from flows.cli.figures import count
from flows.dashboard.asking import Question
from flows.dashboard.elements import el, link
from flows.dashboard.units import dollars, percent, seconds
from flows.history import Overview
from flows.history.facts import share


def show_tiles(question: Question, sums: Overview) -> None:
    """The figures; each leads to the runs that it counts."""
    ended = sums.answered + sums.failed
    per_answer = share(sums.cost_usd, sums.answered)
    lost = sums.failed_cost_usd
    lost_share = share(lost, sums.cost_usd or 0)
    with el("dl", None, "tiles"):
        _tile(
            "Answered",
            percent(sums.answered_share),
            f"{sums.answered:,} of {ended:,} runs" + (f", {sums.running:,} still run" if sums.running else ""),
            question.only(status=("answered",)).to("/runs"),
        )
        _tile("Failed", f"{sums.failed:,}", "runs without an answer", question.only(status=("failed",)).to("/runs"))
        _tile(
            "Answered by another model",
            percent(share(sums.hopped, sums.answered)),
            f"{sums.hopped:,} runs fell back",
            question.only(hopped=True).to("/runs"),
        )
        unpriced = f", {sums.unpriced:,} runs of unknown price" if sums.unpriced else ""
        _tile(
            "Cost",
            dollars(sums.cost_usd),
            f"{dollars(per_answer)} an answer{unpriced}",
            question.only(order="cost").to("/runs"),
        )
        _tile("Spent on failed attempts", dollars(lost), f"{percent(lost_share)} of the cost", "#models")
        _tile("Tokens", count(sums.tokens), f"{percent(sums.cache_share)} of input from the cache", "#models")
        _tile(
            "Duration, median",
            seconds(sums.p50),
            f"95 % within {seconds(sums.p95)}",
            question.only(order="time").to("/runs"),
        )
        _tile("First token, median", seconds(sums.ttft_p50), f"95 % within {seconds(sums.ttft_p95)}", "#durations")


def _tile(name: str, figure: str, more: str, to: str) -> None:
    with el("div", None, "tile"):
        el("dt", name)
        with el("dd"):
            link(figure, to, "figure")
            el("span", more, "muted small")
