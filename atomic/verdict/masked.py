"""A verdict that may be shown and kept beside the record: without the secrets that its texts happen to hold."""

from __future__ import annotations

from atomic.text import Masker
from atomic.verdict.facts import CheckReport, Verdict


def masked(verdict: Verdict, masker: Masker) -> Verdict:
    """The same verdict. In its answer and in names only what looks like a key is masked: both are data."""
    answer, by, named = verdict.answer, verdict.answered_by, verdict.response_model
    return verdict.model_copy(
        update={
            "message": masker(verdict.message),
            "answer": None if answer is None else masker.data(answer),
            "answered_by": None if by is None else masker.data(by),
            "response_model": None if named is None else masker.data(named),
            "evidence": tuple(one.model_copy(update={"text": masker(one.text)}) for one in verdict.evidence),
            "unknown_types": tuple(map(masker.data, verdict.unknown_types)),
            "warnings": tuple(map(masker, verdict.warnings)),
            "check": None if verdict.check is None else _masked_report(verdict.check, masker),
        }
    )


def _masked_report(report: CheckReport, masker: Masker) -> CheckReport:
    return report.model_copy(update={"message": masker(report.message), "output": masker.data(report.output)})
