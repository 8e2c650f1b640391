"""Every recorded stream gets the verdict that is right for it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from atomic.framing import open_stream
from atomic.verdict import Verdict, explanation, read_verdict

RECORDINGS = Path(__file__).parent.parent / "recordings"
MANIFESTS = (RECORDINGS / "manifest.json", RECORDINGS / "own" / "manifest.json")
ENTRIES = [
    pytest.param(manifest.parent, entry, id=f"{entry['client']}-{entry['case']}")
    for manifest in MANIFESTS
    for entry in json.loads(manifest.read_text(encoding="utf-8"))
]


def verdict_of(folder: Path, entry: dict[str, Any]) -> Verdict:
    return read_verdict(folder / entry["stream"], exit_code=entry["expect"]["exit_code"], stderr=entry["stderr"])


@pytest.mark.parametrize(("folder", "entry"), ENTRIES)
def test_a_recorded_stream_gets_its_verdict(folder: Path, entry: dict[str, Any]) -> None:
    expect = dict(entry["expect"])
    said = explanation(verdict_of(folder, entry))
    answer = said["answer"]
    assert (len(answer) if answer is not None else None) == expect.pop("answer_chars")
    digest = hashlib.sha256(answer.encode("utf-8", "surrogatepass")).hexdigest() if answer is not None else None
    assert digest == expect.pop("answer_sha256")
    expect.pop("note", None)
    assert {key: said[key] for key in expect} == expect


@pytest.mark.parametrize(("folder", "entry"), ENTRIES)
def test_every_verdict_shows_the_record_that_decided(folder: Path, entry: dict[str, Any]) -> None:
    verdict = verdict_of(folder, entry)
    with open_stream(folder / entry["stream"]) as stream:
        content = stream.read()
    lines = content.split(b"\n")
    for evidence in verdict.evidence:
        if evidence.event == "stderr":
            assert evidence.text in entry["stderr"]
            continue
        line = lines[evidence.line - 1]
        assert json.loads(line)["type"] == evidence.event
        assert content[evidence.offset :].startswith(line)
    assert verdict.evidence or not (content or entry["stderr"])
