"""Following files that grow, many in one event loop."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from atomic.framing import Follower, Framer, Record, Ticker

UPDATE = b'{"type":"message_update","assistantMessageEvent":{"type":"text_delta","delta":"hi"}}\n'


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    path = tmp_path / "stream.jsonl"
    path.touch()
    return path


def append(path: Path, text: bytes) -> None:
    with path.open("ab") as file:
        file.write(text)


def test_what_has_grown_since_is_read(stream: Path) -> None:
    with Follower(stream, Framer()) as follower:
        assert follower.poll() == []
        append(stream, b'{"type":"agent_start"}\n{"type":"turn_')
        assert [record.type for record in follower.poll()] == ["agent_start"]
        assert follower.poll() == []
        append(stream, b'start"}\n')
        assert [record.type for record in follower.poll()] == ["turn_start"]
        append(stream, b'{"type":"agent_settled"}')
        assert follower.poll() == []
        assert [record.type for record in follower.end()] == ["agent_settled"]


def test_a_file_that_somebody_emptied_is_read_from_its_beginning(stream: Path) -> None:
    with Follower(stream, Framer()) as follower:
        append(stream, b'{"type":"agent_start"}\n')
        assert [record.type for record in follower.poll()] == ["agent_start"]
        stream.write_bytes(b"")
        assert follower.poll() == []
        append(stream, b'{"type":"turn_start"}\n')
        assert [record.type for record in follower.poll()] == ["turn_start"]


def test_one_poll_reads_a_bounded_piece_and_says_that_there_is_more(stream: Path) -> None:
    append(stream, UPDATE * 20_000 + b'{"type":"agent_settled"}\n')
    records: list[Record] = []
    polls = 0
    with Follower(stream, Framer()) as follower:
        while not polls or follower.more:
            before = follower.framer.stats.bytes
            records += follower.poll()
            polls += 1
            assert follower.framer.stats.bytes - before < 1_000_000
    assert polls > 2
    assert [record.type for record in records] == ["agent_settled"]
    assert follower.framer.stats.updates == 20_000


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def test_file_is_let_go(stream: Path) -> None:
    before = open_files()
    follower = Follower(stream, Framer())
    follower.close()
    with Follower(stream, Framer()):
        pass
    assert open_files() == before


async def test_all_who_wait_wake_at_the_same_tick() -> None:
    first, second = (asyncio.ensure_future(Ticker.current().wait()) for _ in range(2))
    await first
    await asyncio.sleep(0)
    assert second.done()


async def test_nothing_is_left_of_the_ticker_when_the_last_one_has_gone() -> None:
    loop = asyncio.get_running_loop()
    timers = getattr(loop, "_scheduled")  # noqa: B009 - asyncio's own list of timers
    waiting = [asyncio.ensure_future(Ticker.current().wait()) for _ in range(3)]
    await asyncio.sleep(0)
    assert len([timer for timer in timers if not timer.cancelled()]) == 1
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert [timer for timer in timers if not timer.cancelled()] == []
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_one_who_is_cancelled_does_not_stop_the_others() -> None:
    first = asyncio.ensure_future(Ticker.current().wait())
    second = asyncio.ensure_future(Ticker.current().wait())
    await asyncio.sleep(0)
    first.cancel()
    await second
    await Ticker.current().wait()
    assert first.cancelled()


def test_each_loop_has_its_own_ticker() -> None:
    async def ticker() -> Ticker:
        await Ticker.current().wait()
        assert Ticker.current() is Ticker.current()
        return Ticker.current()

    assert asyncio.run(ticker()) is not asyncio.run(ticker())
