"""Keeps away: a torn last line, to which the next append glues itself: two records are lost, or the whole file."""

from __future__ import annotations

from atomic.failures import FailureKind
from atomic.framing import read_records
from tests.agents import Place, closing, message, opening
from tests.pathology.stage import lines, plays


async def test_the_tail_is_reported_and_what_is_before_it_counts(place: Place) -> None:
    whole, torn = lines(*opening()), lines(message("cut off"))[:-30]
    record = await place.run(plays(place, whole + torn, "kill -9 $$"))
    assert record.kind is FailureKind.CRASHED
    assert record.verdict is not None
    assert record.verdict.torn == len(torn)
    assert record.verdict.records == 3
    assert place.stream(record) == whole + torn


async def test_a_record_glued_to_a_torn_one_is_found(place: Place) -> None:
    update = lines({"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "delta": "cut off"}})
    stream = lines(*opening()) + update[:-20] + lines(message("found"), *closing())
    record = await place.run(plays(place, stream))
    assert record.verdict is not None
    assert record.verdict.answer == "found"
    types = [found.type for found in read_records(place.path(record) / "stream.jsonl")]
    assert types[-3:] == ["message_end", "agent_end", "agent_settled"]


async def test_an_attempt_never_appends_to_the_torn_file_of_another(place: Place) -> None:
    torn = plays(place, lines(*opening())[:-5])
    first, second = [await place.run(torn) for _ in range(2)]
    assert place.stream(first) == place.stream(second)
