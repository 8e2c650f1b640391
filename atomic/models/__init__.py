"""Models: their references `provider/id:level`, windows and prices."""

from __future__ import annotations

from atomic.models.catalog import ModelCatalog, ModelEntry, Price
from atomic.models.ref import LEVELS, ModelRef

__all__ = ["LEVELS", "ModelCatalog", "ModelEntry", "ModelRef", "Price"]
