"""What a batch reads: items from JSONL, CSV, YAML, text, OpenAI's batch lines, and templates with rows.

An item is ``custom_id`` (or ``id``), ``prompt`` or ``prompt_file``, and where it says more than the batch ``policy``,
``models``, ``cwd``, ``workspace``, ``tags``, ``metadata``. Relative paths are relative to the input's folder. An item
without an id is named by its place: ``line-3`` in JSONL and text, ``row-3`` in CSV, ``item-3`` in YAML. Such names move
when something is put before them; who adds to the front or the middle of an input gives ids.
"""

from __future__ import annotations

from flows.inputs.checking import SHOWN, Checked, Choice, check
from flows.inputs.facts import Item, Problem
from flows.inputs.forecast import Forecast, Share, forecast
from flows.inputs.reading import read_items
from flows.inputs.source import FORMATS, Fingerprint, take_fingerprint

__all__ = [
    "FORMATS",
    "SHOWN",
    "Checked",
    "Choice",
    "Fingerprint",
    "Forecast",
    "Item",
    "Problem",
    "Share",
    "check",
    "forecast",
    "read_items",
    "take_fingerprint",
]
