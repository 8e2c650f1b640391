"""A hundred thousand items take no more memory than a thousand, but for their ids."""

from __future__ import annotations

import csv
import json
import tracemalloc
from collections import deque
from pathlib import Path

import pytest

from flows.inputs import check, read_items

MANY, FEW = 100_000, 1000
PER_ID = 256  # bytes that the check may keep for each item: a digest, a number, their places in a table


def write(path: Path, count: int) -> Path:
    rows = ((f"item-{n}", f"What is {n} plus {n}? {'Think. ' * 20}") for n in range(count))
    with path.open("w", newline="") as file:
        if path.suffix == ".jsonl":
            file.writelines(json.dumps({"id": name, "prompt": prompt}) + "\n" for name, prompt in rows)
        elif path.suffix == ".csv":
            csv.writer(file).writerows([("id", "prompt"), *rows])
        else:
            file.writelines(f"- id: {name}\n  prompt: {json.dumps(prompt)}\n" for name, prompt in rows)
    return path


def peak_of_reading(path: Path) -> int:
    tracemalloc.start()
    deque(read_items(path), maxlen=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "yaml"])
def test_reading_holds_a_few_rows_at_a_time(tmp_path: Path, suffix: str) -> None:
    small, large = write(tmp_path / f"few.{suffix}", FEW), write(tmp_path / f"many.{suffix}", 20 * FEW)
    few, many = peak_of_reading(small), peak_of_reading(large)
    assert many - few < (large.stat().st_size - small.stat().st_size) / 10


def test_checking_keeps_but_the_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "many.jsonl", MANY)
    tracemalloc.start()
    found = check(path, known_policies=(), base_cwd=tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.count == MANY
    assert peak < MANY * PER_ID
    assert peak < path.stat().st_size
