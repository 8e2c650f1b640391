"""The providers that the agent knows by itself: where they are, how they take a key, which variables hold it.

Names, addresses and variables are those of pi 1.6.0 (its package pi-ai, `providers/*.js` and `env-api-keys.js`) and of
pi 0.73.1 where it differs; the models are the defaults of both (`model-resolver.js`). Local servers (Ollama, LM
Studio, vLLM) are not among them: the agent knows those only by its models.json, and so do we.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

# How a key is sent: as `Authorization: Bearer`, or in the header of Anthropic's or of Google's API.
Style = Literal["bearer", "anthropic", "google"]

# What the agent calls an API in its models.json → how it is asked for its models.
STYLES: Mapping[str, Style] = MappingProxyType(
    {
        "openai-completions": "bearer",
        "openai-responses": "bearer",
        "mistral-conversations": "bearer",
        "anthropic-messages": "anthropic",
        "google-generative-ai": "google",
    }
)
# Where a list of models is, below the base URL as the agent writes it. The biggest page is asked for: a model that is
# not on the first page would count as missing.
LISTS: Mapping[str, str] = MappingProxyType(
    {
        "openai-completions": "/models",
        "openai-responses": "/models",
        "mistral-conversations": "/v1/models",
        "anthropic-messages": "/v1/models?limit=1000",
        "google-generative-ai": "/models?pageSize=1000",
    }
)
ANTHROPIC_VERSION = "2023-06-01"  # of its API: the only one there is


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider. ``base_url`` is None where a list of models cannot be had for a key alone (`why`)."""

    name: str
    base_url: str | None
    api: str = "openai-completions"
    variables: tuple[str, ...] = ()  # of API keys, the first that is set counts
    logins: tuple[str, ...] = ()  # of what a login gives; it cannot be asked with
    models_path: str | None = None  # where it is not the one of LISTS
    open_list: bool = False  # the list is there for everybody: it says nothing about a key
    models: tuple[str, ...] = ()  # the agent's own defaults, the newest release's first
    why: str = field(default="", kw_only=True)


def _named(name: str) -> str:
    return f"{name.upper().replace('-', '_')}_API_KEY"


def _plain(name: str, base_url: str, *models: str, **more: object) -> Provider:
    """A provider whose variable is called after it."""
    told: dict[str, object] = {"variables": (_named(name),), **more}
    return Provider(name, base_url, models=models, **told)  # type: ignore[arg-type]


_CLOUD = "its credentials are those of a cloud account"
_ACCOUNT = "its address depends on the account"
_LOGIN = "it is reached by a login, not by a key"

_ALL = (
    Provider(
        "anthropic",
        "https://api.anthropic.com",
        "anthropic-messages",
        ("ANTHROPIC_API_KEY",),
        ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_FEDERATION_RULE_ID"),
        models=("claude-opus-5-5", "claude-opus-4-7"),
    ),
    _plain("openai", "https://api.openai.com/v1", "gpt-6.2-sol", "gpt-5.4"),
    Provider(
        "google",
        "https://generativelanguage.googleapis.com/v1beta",
        "google-generative-ai",
        ("GEMINI_API_KEY",),
        models=("gemini-4-argon", "gemini-3.1-pro-preview"),
    ),
    _plain("mistral", "https://api.mistral.ai", "devstral-medium-latest", api="mistral-conversations"),
    _plain("groq", "https://api.groq.com/openai/v1", "openai/gpt-oss-120b"),
    _plain("xai", "https://api.x.ai/v1", "grok-4.7", "grok-4.20-0309-reasoning"),
    _plain("deepseek", "https://api.deepseek.com", "deepseek-v4-pro"),
    # /models is there for everybody, /models/user only for a key.
    _plain(
        "openrouter",
        "https://openrouter.ai/api/v1",
        "moonshotai/kimi-k2.7-code",
        "moonshotai/kimi-k2.6",
        models_path="/models/user",
    ),
    _plain("together", "https://api.together.ai/v1", "moonshotai/Kimi-K3"),
    _plain(
        "fireworks",
        "https://api.fireworks.ai/inference/v1",
        "accounts/fireworks/models/kimi-k3",
        "accounts/fireworks/models/kimi-k2p6",
    ),
    _plain("cerebras", "https://api.cerebras.ai/v1", "gpt-oss-120b", "zai-glm-4.7"),
    _plain("zai", "https://api.z.ai/api/coding/paas/v4", "glm-5.3", "glm-5.1"),
    _plain("zai-coding-cn", "https://open.bigmodel.cn/api/coding/paas/v4", "glm-5.3"),
    _plain("moonshotai", "https://api.moonshot.ai/v1", "kimi-k2.7-code", "kimi-k2.6", variables=("MOONSHOT_API_KEY",)),
    _plain(
        "moonshotai-cn", "https://api.moonshot.cn/v1", "kimi-k2.7-code", "kimi-k2.6", variables=("MOONSHOT_API_KEY",)
    ),
    _plain("minimax", "https://api.minimax.io/anthropic", "MiniMax-M3", "MiniMax-M2.7", api="anthropic-messages"),
    _plain("minimax-cn", "https://api.minimaxi.com/anthropic", "MiniMax-M3", "MiniMax-M2.7", api="anthropic-messages"),
    _plain("kimi-coding", "https://api.kimi.com/coding/v1", "kimi-for-coding", variables=("KIMI_API_KEY",)),
    _plain("xiaomi", "https://api.xiaomimimo.com/v1", "mimo-v2.6-pro", "mimo-v2.5-pro"),
    _plain("baseten", "https://inference.baseten.co/v1", "zai-org/GLM-5.3"),
    _plain("nvidia", "https://integrate.api.nvidia.com/v1", "nvidia/nemotron-3.5-super-vl-120b-a12b", open_list=True),
    _plain(
        "huggingface",
        "https://router.huggingface.co/v1",
        "moonshotai/Kimi-K2.7-Code",
        "moonshotai/Kimi-K2.6",
        variables=("HF_TOKEN",),
        open_list=True,
    ),
    Provider("vercel-ai-gateway", "https://ai-gateway.vercel.sh/v1", variables=("AI_GATEWAY_API_KEY",), open_list=True),
    Provider("opencode", None, variables=("OPENCODE_API_KEY",), why="it has several addresses"),
    Provider("opencode-go", None, variables=("OPENCODE_API_KEY",), why="it has several addresses"),
    Provider("github-copilot", None, logins=("COPILOT_GITHUB_TOKEN",), why=_LOGIN),
    Provider("openai-codex", None, why=_LOGIN),
    Provider("amazon-bedrock", None, why=_CLOUD),
    Provider("google-vertex", None, why=_CLOUD),
    Provider("azure", None, variables=("AZURE_OPENAI_API_KEY",), why=_ACCOUNT),
    Provider("azure-openai-responses", None, variables=("AZURE_OPENAI_API_KEY",), why=_ACCOUNT),
    Provider("cloudflare-ai-gateway", None, variables=("CLOUDFLARE_API_KEY",), why=_ACCOUNT),
    Provider("cloudflare-workers-ai", None, variables=("CLOUDFLARE_API_KEY",), why=_ACCOUNT),
)
PROVIDERS: Mapping[str, Provider] = MappingProxyType({provider.name: provider for provider in _ALL})
