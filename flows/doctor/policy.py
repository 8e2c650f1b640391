"""The policy: is there one by that name, and can its budget be kept."""

from __future__ import annotations

from atomic.agent import Agent
from atomic.errors import UsageError
from atomic.policy import FallbackPolicy
from atomic.runner import catalog_for, check_budget
from atomic.settings import Settings
from flows.doctor.findings import Finding, fail, ok

ABOUT = "policy"
OWN_MODEL = "the agent's own default model"


def check_policy(policy: FallbackPolicy | UsageError, agent: Agent, settings: Settings) -> list[Finding]:
    """What a run would be refused for before anything is spent. ``policy`` is the error where none could be chosen."""
    try:
        if isinstance(policy, UsageError):
            raise policy
        check_budget(policy, catalog_for(agent, settings).price_known)
    except UsageError as error:
        return [fail(ABOUT, error.message, error.hint)]
    return [ok(ABOUT, " → ".join(map(str, policy.models)) or OWN_MODEL)]
