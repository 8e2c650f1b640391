"""What Prefect's pages are given: the facts, and nothing hostile, secret or long."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from atomic.record import AttemptRecord
from atomic.runner import RunResult
from atomic.text import Masker
from atomic.verdict import Status, Verdict
from flows.markdown import cell, code
from tests.flows.prefect_server import Place, artifacts_of

HOSTILE = st.text(
    alphabet=st.one_of(st.sampled_from("`\\|<>![]()*_#\n\r\t &;:/@w."), st.characters()), max_size=80
) | st.sampled_from(
    [
        "![x](https://example.invalid/p.png?leak)",
        "[click](javascript:alert(1))",
        "<img src=x onerror=alert(1)>",
        "https://example.invalid www.example.invalid a@example.invalid",
        "``` \n# heading",
        "`` ` ``` ![x](y) ````",
        "| a | ![x](y) |",
        "\\` ![x](y)",
    ]
)


@given(HOSTILE)
def test_a_code_span_holds_whatever_is_put_into_it(text: str) -> None:
    parsed = MarkdownIt("gfm-like", {"linkify": False}).parse(f"- **Message**: {code(text)}")
    kinds = {child.type for token in parsed for child in token.children or ()}

    assert kinds <= {"text", "strong_open", "strong_close", "code_inline"}
    assert sum(token.type == "list_item_open" for token in parsed) == 1


@given(HOSTILE)
def test_a_cell_means_nothing_in_markdown(text: str) -> None:
    shown = cell(text)

    assert not re.search(r"[\[\]<>`|*\n]|://|www\.|@", shown)


async def test_attempts_and_runs_have_their_artifacts(place: Place) -> None:
    from flows import run_prompt

    result = await run_prompt(
        "hello", models=["scripted/overflow", "other/ok"], agent="scripted", name="Nightly Triage"
    )

    found = await artifacts_of(flow_run_id=result.flow_run_id or "")
    first, second = sorted((str(one.data) for one in found if one.task_run_id), key=lambda text: text.splitlines()[0])
    for attempt, text in enumerate((first, second), start=1):
        record = place.store.open(result.run_id).attempt(attempt).read()
        assert record.stream is not None
        for fact in (record.model, record.stream.sha256, f"{record.stream.bytes:,} bytes", f"attempt-{attempt}"):
            assert str(fact) in text
    assert "failed, overflow" in first
    assert "compaction_end" in first
    assert "answered" in second
    (table,) = (one for one in found if not one.task_run_id)
    assert table.key == "run-nightly-triage"
    assert [(row["model"], row["kind"]) for row in json.loads(str(table.data))] == [
        ("scripted/overflow", "overflow"),
        ("other/ok", ""),
    ]


async def test_hostile_texts_of_a_provider_stay_texts(place: Place) -> None:
    from flows import run_prompt

    result = await run_prompt("hello", models=["scripted/hostile-error"], agent="scripted", check=False)

    for artifact in await artifacts_of(flow_run_id=result.flow_run_id or ""):
        if artifact.type == "markdown":
            parsed = MarkdownIt("gfm-like", {"linkify": False}).parse(str(artifact.data))
            kinds = {child.type for token in parsed for child in token.children or ()}
            assert not kinds & {"image", "link_open", "html_inline"}
            assert "html_block" not in {token.type for token in parsed}
        else:
            assert "<" not in str(artifact.data)


def test_what_is_shown_of_a_text_is_short_and_without_secrets() -> None:
    from atomic.record import AttemptRecord
    from atomic.verdict.facts import Evidence, Status, Verdict
    from flows.artifacts import attempt_markdown

    verdict = Verdict(
        status=Status.FAILED,
        message="key sk-hush-hush " + "x" * 100_000,
        evidence=tuple(Evidence(event="message_end", line=n, offset=n, text="sk-hush-hush" * 999) for n in range(50)),
        warnings=("y" * 100_000,) * 50,
    )
    shown = attempt_markdown(AttemptRecord(run_id="r", n=1, verdict=verdict), "/records", Masker(["sk-hush-hush"]))

    assert len(shown) < 10_000
    assert "sk-hush" not in shown


def test_attempts_and_runs_lead_to_the_dashboard_where_there_is_one() -> None:
    from flows.artifacts import attempt_markdown, run_markdown

    record = AttemptRecord(run_id="20260101-000000-aaaaaaaa", n=2, verdict=Verdict(status=Status.FAILED))
    shown = attempt_markdown(record, "/records", Masker(), "https://flows.example.org")
    assert "](<https://flows.example.org/runs/20260101-000000-aaaaaaaa/2>)" in shown
    assert "Open in the dashboard" not in attempt_markdown(record, "/records", Masker())
    result = RunResult(run_id="20260101-000000-aaaaaaaa", status=Status.ANSWERED, record="/records", seconds=1)
    assert "](<http://127.0.0.1:4280/runs/20260101-000000-aaaaaaaa>)" in run_markdown(
        result, Masker(), "http://127.0.0.1:4280"
    )
