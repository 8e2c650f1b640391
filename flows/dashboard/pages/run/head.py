"""The head of a run's page, and its facts."""

from __future__ import annotations

import time

from atomic.record import RunRecord
from atomic.text import Masker
from flows.cli.figures import count, duration, money, several
from flows.dashboard.elements import away, el, link, moment, pill
from flows.dashboard.outcomes import family_of, words
from flows.dashboard.records import RunFound
from flows.dashboard.text import OWN_MODEL


def trail(run: RunFound, *further: tuple[str, str]) -> None:
    """Where one is: runs, this run, and what is below it."""
    places = (("Runs", "/runs"), (run.run_id, f"/runs/{run.run_id}"), *further)
    with el("nav", None, "trail", aria_label="Where this is"):
        for name, path in places[:-1]:
            link(name, path)
            el("span", "/", aria_hidden="true")
        el("span", places[-1][0], aria_current="page")


def name_of(run: RunFound, masker: Masker) -> str:
    """The run's name, else its id."""
    return masker(run.record.name) if run.record and run.record.name else f"Run {run.run_id}"


def show_head(run: RunFound, masker: Masker) -> None:
    """What it came to, in a line, and why, in a sentence."""
    record = run.record
    if record is None:
        with el("div", None, "verdict"):
            pill(family_of("failed", None), "record damaged")
    else:
        _outcome(run, record, masker)
    for problem in run.problems:
        el("p", masker(problem), "warning")
    for warning in record.warnings if record else ():
        el("p", masker(warning), "warning")


def _outcome(run: RunFound, record: RunRecord, masker: Masker) -> None:
    with el("div", None, "verdict"):
        pill(family_of(record.status, record.kind), words(record.status, record.kind))
        if record.status == "answered":
            el("span", f"by {masker(record.answered_by or OWN_MODEL)}", "by")
        seconds = (record.ended_at or time.time()) - record.created_at
        figures = [several(len(run.attempts), "attempt"), duration(seconds)]
        if record.ended:  # until then nothing is summed up
            figures += [f"{count(record.usage.tokens)} tokens", money(record.cost_usd)]
        el("span", " · ".join(figures), "muted")
    if sentence := story(run, record):
        el("p", masker(sentence), "story")


def state(run: RunFound) -> str:
    """How it stands, in a few words for who hears the page: said anew when they change."""
    if run.record is None:
        return "record damaged"
    said = words(run.record.status, run.record.kind)
    return f"{said}, attempt {len(run.attempts)}" if run.live else said


def story(run: RunFound, record: RunRecord) -> str:
    """Why the run came to what it did, in one sentence; empty for one that went straight through."""
    if record.status == "failed":
        return record.message
    failed = [f"{one.model or OWN_MODEL} {_failed(one.kind)}" for one in run.attempts if one.status == "failed"]
    if not failed:
        return ""
    then = "is being asked now" if record.status == "running" else "answered"
    last = run.attempts[-1].model or OWN_MODEL
    return (
        f"{', '.join(failed)}; then {last} {then}." if run.attempts[-1].status != "failed" else f"{', '.join(failed)}."
    )


def _failed(kind: str | None) -> str:
    return f"failed with {(kind or 'unknown').replace('_', ' ')}"


def show_facts(run: RunFound, masker: Masker, prefect: str | None) -> None:
    """What else is known: where it ran, where its files are, what belongs to it."""
    record = run.record
    with el("section", None, "facts", aria_labelledby="facts"):
        el("h2", "Facts", id="facts")
        with el("dl"):
            _fact("Run", run.run_id, mono=True)
            if record is not None:
                _known(record, masker, prefect)
            _fact("Record", masker(str(run.place)), mono=True)
            _fact("In a terminal", f"atomic-flows explain {run.run_id}", mono=True)


def _known(record: RunRecord, masker: Masker, prefect: str | None) -> None:
    el("dt", "When")
    with el("dd"):
        moment(record.created_at)
        if record.ended_at is not None:
            el("span", " – ")
            moment(record.ended_at)
    for name, value in (
        ("Tags", ", ".join(record.tags)),
        ("Batch", " · ".join(filter(None, (record.batch, record.edition, record.custom_id)))),
        ("Key", record.key or ""),
        ("Folder", record.cwd),
        ("By", f"{record.owner.user} on {record.owner.host}" if record.owner else ""),
        ("Versions", ", ".join(f"{name} {version}" for name, version in record.versions.items())),
    ):
        if value:
            _fact(name, masker(value), mono=name == "Folder")
    if record.flow_run_id:
        el("dt", "Flow run")
        with el("dd", None, "mono"):
            if prefect is None:
                el("span", record.flow_run_id)
            else:
                away(record.flow_run_id, f"{prefect}/runs/flow-run/{_plain(record.flow_run_id)}")


def _fact(name: str, value: str, *, mono: bool = False) -> None:
    el("dt", name)
    el("dd", value, "mono" if mono else "")


def _plain(text: str) -> str:
    """An id as it may stand in an address."""
    return "".join(sign for sign in text if sign.isalnum() or sign == "-")
