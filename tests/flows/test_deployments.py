"""The deployment file: what it names exists, and what it passes is taken."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

DEPLOYMENTS: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[2] / "deployments" / "prefect.yaml").read_text(encoding="utf-8")
)["deployments"]


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda one: str(one["name"]))
def test_its_flow_exists_and_takes_its_parameters(deployment: dict[str, Any]) -> None:
    module, _, name = deployment["entrypoint"].rpartition(".")
    flow = getattr(import_module(module), name)
    if "parameters" in deployment:
        flow.validate_parameters(deployment["parameters"])
