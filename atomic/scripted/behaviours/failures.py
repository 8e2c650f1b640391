"""Failures of the provider, as the agent reports them."""

from __future__ import annotations

from atomic.scripted.agent import Agent, provider_error
from atomic.scripted.wire import complain

TRY_AGAIN_SECONDS = 20  # what a provider typically says when its limit is counted by the minute
OVERFLOW = provider_error(
    400,
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 99999 tokens. "
    "Please reduce the length of the messages.",
    "invalid_request_error",
    "context_length_exceeded",
)
RATE_LIMIT = "Rate limit reached for requests"
QUOTA = "You exceeded your current quota, please check your plan and billing details."


def rate_limit_text(message: str = RATE_LIMIT) -> str:
    """The error of a rate limit."""
    return provider_error(429, message, "rate_limit_error", "rate_limit_exceeded")


def rate_limit(agent: Agent, _: int) -> None:
    agent.begin()
    agent.fail_with_retries(rate_limit_text())
    agent.settle()


def rate_limit_retry_after(agent: Agent, seconds: int) -> None:
    agent.begin()
    agent.fail_with_retries(rate_limit_text(f"{RATE_LIMIT}. Please try again in {seconds}s."))
    agent.settle()


def rate_limit_once(agent: Agent, _: int) -> None:
    agent.begin()
    agent.fail_with_retries(rate_limit_text(), until=1)
    agent.say("Recovered.")
    agent.wire.emit("auto_retry_end", success=True, attempt=1)
    agent.end_run()
    agent.settle()


def quota(agent: Agent, seconds: int) -> None:
    when = f" Try again in {seconds}s." if seconds else ""
    _once(agent, provider_error(429, QUOTA + when, "insufficient_quota", "insufficient_quota"))


def auth(agent: Agent, _: int) -> None:
    _once(agent, provider_error(401, "Incorrect API key provided", "invalid_request_error", "invalid_api_key"))


def missing_key(agent: Agent, _: int) -> int:
    agent.header()
    complain(f"No API key found for {agent.provider}.\n\nUse /login to log into a provider via OAuth or API key.")
    return 1


def model_unavailable(agent: Agent, _: int) -> None:
    message = f"The model `{agent.model}` does not exist or you do not have access to it."
    _once(agent, provider_error(404, message, "invalid_request_error", "model_not_found"))


def unknown_provider(agent: Agent, _: int) -> int:
    complain(f'Error: Model "{agent.provider}/{agent.model}" not found. Use --list-models to see available models.')
    return 1


def unknown_model(agent: Agent, _: int) -> None:
    """What the real agent does with a model that it does not know: it warns and asks the provider all the same."""
    complain(f'Warning: Model "{agent.model}" not found for provider "{agent.provider}". Using custom model id.')
    _once(agent, provider_error(404, f"unknown model {agent.model}", "invalid_request_error", "model_not_found"))


def provider_unavailable(agent: Agent, _: int) -> None:
    agent.begin()
    agent.fail_with_retries(provider_error(503, "The model is currently overloaded", "overloaded_error"))
    agent.settle()


def network(agent: Agent, _: int) -> None:
    agent.begin()
    agent.fail_with_retries("Stream ended without finish_reason", partial="partial answer ")
    agent.settle()


def invalid_request(agent: Agent, _: int) -> None:
    message = "Invalid value for 'tools[0].function.name': string does not match pattern."
    _once(agent, provider_error(400, message, "invalid_request_error", "invalid_value"))


def refusal(agent: Agent, _: int) -> None:
    agent.begin()
    agent.fail("Provider finish_reason: content_filter", partial="I can ")
    agent.settle()


def aborted(agent: Agent, _: int) -> None:
    agent.begin()
    agent.fail("Request was aborted", partial="I was about ", stop="aborted")
    agent.settle()


def unknown(agent: Agent, _: int) -> None:
    _once(agent, "The gizmo is out of whack")


def _once(agent: Agent, error: str) -> None:
    agent.begin()
    agent.fail(error)
    agent.settle()
