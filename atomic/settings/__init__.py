"""Settings: from the user's file, the project's, ``--config`` and the environment to one frozen object.

Later ones win, key by key: the user's own file, the project's file (or the one given by ``--config`` in its place),
``ATOMIC_FLOWS_…`` variables. What a command line says comes on top and is the command line's business.
"""

from __future__ import annotations

from atomic.settings.facts import AgentSettings, PrefectSettings, RecordSettings, Settings, WorkspaceMode
from atomic.settings.layers import Layer, read_file
from atomic.settings.load import load_settings
from atomic.settings.places import FILE_NAME, find_home, find_project_file
from atomic.settings.schema import settings_schema
from atomic.settings.trust import Claim, claims_of, is_trusted, trust_file

__all__ = [
    "FILE_NAME",
    "AgentSettings",
    "Claim",
    "Layer",
    "PrefectSettings",
    "RecordSettings",
    "Settings",
    "WorkspaceMode",
    "claims_of",
    "find_home",
    "find_project_file",
    "is_trusted",
    "load_settings",
    "read_file",
    "settings_schema",
    "trust_file",
]
