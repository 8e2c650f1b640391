"""What providers really say, and the kind it means. The comments name where each wording comes from."""

# ruff: noqa: E501 -- wordings stay whole, as they were said

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atomic.failures import MEANINGS, FailureKind, classify, is_wrapper, read_retry_at
from atomic.failures.parts import LONGEST_HEAD, LONGEST_TAIL

OVERFLOW = [
    # OpenAI chat completions, and what pi's clients make of it
    "400 This model's maximum context length is 8192 tokens. However, your messages resulted in 99999 tokens. Please reduce the length of the messages.",
    '400: {"message":"This model\'s maximum context length is 8192 tokens.","type":"invalid_request_error","code":"context_length_exceeded","param":null}',
    "Your input exceeds the context window of this model. Please adjust your input and try again.",  # OpenAI Responses
    'Codex error: {"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Your input exceeds the context window"}}',
    "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.",  # Codex
    "prompt is too long: 213462 tokens > 200000 maximum",  # Anthropic
    '400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"},"request_id":"req_011CSV"}',
    '413 {"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}',  # Anthropic
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again",  # Anthropic
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",  # Gemini
    '{"error":{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed 1048576.","status":"INVALID_ARGUMENT"}}',  # Gemini
    "ValidationException: Input is too long for requested model.",  # AWS Bedrock
    "The model returned the following errors: prompt is too long: 208000 tokens > 200000 maximum",  # AWS Bedrock
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",  # xAI
    "Please reduce the length of the messages or completion.",  # Groq
    "This endpoint's maximum context length is 128000 tokens. However, you requested about 150000 tokens (140000 of text input, 10000 in the output).",  # OpenRouter
    "The input (150000 tokens) is longer than the model's context length (131072 tokens).",  # Together, SGLang
    "the request exceeds the available context size, try increasing it",  # llama.cpp
    '400 {"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (8192 tokens)","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}',
    "The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length",  # LM Studio
    "prompt token count of 150000 exceeds the limit of 128000",  # GitHub Copilot
    'github-copilot API error (413): {"message":"failed to parse request","code":""}',  # GitHub Copilot
    '400 {"error":{"message":"prompt token count of 168463 exceeds the limit of 168000","code":"model_max_prompt_tokens_exceeded"}}',
    "invalid params, context window exceeds limit (2013)",  # MiniMax
    "Invalid request: Your request exceeded model token limit: 262144 (requested: 290000)",  # Kimi
    "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length",  # Mistral
    '{"error":{"code":"1261","message":"Prompt exceeds max length"}}',  # z.ai
    "Provider finish_reason: model_context_window_exceeded",  # z.ai through pi
    "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",  # Qwen/DashScope
    "prompt too long; exceeded max context length by 4 tokens",  # Ollama
    "Requested token count exceeds the model's maximum context length of 131072 tokens.",  # SGLang
    "Input length (265330) exceeds model's maximum context length (262144).",  # vLLM
    "max_tokens must be at least 1, got -1843.",  # vLLM, when the prompt alone is too long
    "litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: OpenAIException",  # LiteLLM
    "413 Request Entity Too Large",  # nginx in front of anything
    "413 status code (no body)",  # Cerebras
    "Input length 300000 exceeds the maximum allowed input length of 262144 tokens.",  # OpenRouter/Poolside
    # Atomic's own check after tools have run
    "Post-tool context remains over the provider hard input limit after compaction (210000 > 200000 tokens); the next provider request was not sent.",
    "Post-tool context compaction failed before the next provider request: no compactable transcript entries were available",
    "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 1 instead.",  # OpenAI Responses, context full
    # A single request above the limit by the minute: it never passes, so it has to be smaller
    "429 Request too large for gpt-4o in organization org-AbC on tokens per min (TPM): Limit 30000, Requested 45000. The input or output tokens must be reduced in order to run successfully.",
    '413 {"error":{"message":"Request too large for model `llama-3.3-70b-versatile` in organization `org_01` service tier `on_demand` on tokens per minute (TPM): Limit 12000, Requested 17000, please reduce your message size and try again. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing","type":"tokens","code":"rate_limit_exceeded"}}',
]

QUOTA = [
    '429: {"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota","param":null}',  # OpenAI
    "429 You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs",
    "Billing hard limit has been reached",  # OpenAI
    "Your account is not active, please check your billing details on our website.",  # OpenAI
    "You have hit your ChatGPT usage limit (plus plan). Try again in ~153 min.",  # pi on Codex
    'Codex error: {"type":"error","error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus","resets_at":1777936568,"resets_in_seconds":13872},"status_code":429}',  # pi issue 4172
    '{"error":{"type":"usage_not_included","message":"To use Codex with your ChatGPT plan, upgrade to Plus"}}',  # Codex
    "Claude AI usage limit reached|1760000400",  # claude-code issue 9046
    "You've hit your limit · resets 1:30am (Asia/Dhaka)",  # claude-code issue 54698
    "5-hour limit reached ∙ resets 3pm",  # Claude
    "Weekly limit reached ∙ resets Oct 9 at 5pm",  # Claude
    '400 {"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}',  # Anthropic
    '400 {"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2025-12-01 at 00:00 UTC."}}',  # Anthropic
    '400 {"error":{"type":"invalid_request_error","message":"You\'re out of extra usage. Add more at claude.ai/settings/usage and keep going."}}',  # Anthropic, third-party use
    '429 {"type":"error","error":{"type":"rate_limit_error","message":"Extra usage is required for long context requests."}}',  # Anthropic
    # Gemini: a day's share, called a quota
    '429 {"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},{"retryDelay":"17s"}]}}',
    "You have exhausted your capacity on this model. Your quota will reset after 2h31m10s.",  # Gemini code assist
    "402 Insufficient Balance",  # DeepSeek
    '402 {"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}',  # DeepSeek
    "402 This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 1234. To increase, visit https://openrouter.ai/settings/credits",  # OpenRouter
    "402 Prompt tokens limit exceeded: 69120 > 36608. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account",  # OpenRouter, continue issue 10962
    "429 Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day",  # OpenRouter
    "403 Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys",  # OpenRouter
    "Rate limit reached for model `llama-3.3-70b` in organization `org_01` service tier `on_demand` on tokens per day (TPD): Limit 100000, Used 99000, Requested 3000. Please try again in 28m48s.",  # Groq
    "Tokens per day limit exceeded - too many tokens processed.",  # Cerebras
    "429 Your team has either used all available credits or reached its monthly spending limit.",  # xAI
    "Your newly created team doesn't have any credits or licenses yet.",  # xAI
    "Account my-account is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices.",  # Fireworks
    "Credit limit exceeded, please navigate to https://api.together.xyz/settings/billing to upgrade",  # Together
    '429 {"error":{"code":"1113","message":"Insufficient balance or no resource package. Please recharge."}}',  # z.ai
    "429 Usage limit reached for 5 hour. Your limit will reset at 2026-06-02 19:05:44",  # z.ai through pi
    '{"error":{"code":"1308","message":"已达到 5 小时的使用上限。您的限额将在 2026-08-25 07:41:44 重置。"}}',  # z.ai, dirge issue 818
    '{"error":{"code":"1310","message":"Weekly/Monthly Limit Exhausted. Your limit will reset at 2026-08-14T00:00:00Z"}}',  # z.ai
    '429 {"error":{"message":"Your account org-1 is suspended due to insufficient balance, please recharge your account or check your plan and billing details","type":"exceeded_current_quota_error"}}',  # Moonshot
    "usage limit exceeded, 5-hour usage limit (2056)",  # MiniMax
    "Access denied, please make sure your account is in good standing.",  # Qwen/DashScope, arrears
    '402 {"message":"You have no quota","code":"quota_exceeded"}',  # GitHub Copilot
    "You have exceeded your premium request allowance.",  # GitHub Copilot
    "You've exhausted your premium model quota. Please enable additional paid premium requests",  # GitHub Copilot
    "Budget has been exceeded! Current cost: 10.01, Max budget: 10.0",  # LiteLLM
    '429 {"type":"error","error":{"type":"GoUsageLimitError","message":"Monthly usage limit reached. Enable usage from your available balance."}}',  # OpenCode Zen
    '401 {"type":"error","error":{"type":"CreditsError","message":"Insufficient balance. Manage your billing here: https://opencode.ai/billing"}}',  # OpenCode Zen
    "ThrottlingException: Too many tokens per day, please wait before trying again.",  # AWS Bedrock
    "ServiceQuotaExceededException: Your request exceeds the service quota for your account.",  # AWS Bedrock
    "402 status code (no body)",
]

RATE_LIMIT = [
    '429: {"message":"Rate limit reached for requests","type":"rate_limit_error","code":"rate_limit_exceeded","param":null}',
    "429 Rate limit reached for requests",
    "Rate limit reached for gpt-4o in organization org-AbC on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s. Visit https://platform.openai.com/account/rate-limits to learn more.",  # OpenAI
    "429 status code (no body)",
    '429 {"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your account\'s rate limit. Please try again later."},"request_id":"req_011CV2"}',  # Anthropic
    '429 {"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization\'s rate limit of 30,000 input tokens per minute. Please reduce the prompt length or the maximum tokens requested, or try again later."}}',  # Anthropic
    "Number of request tokens has exceeded your per-minute rate limit",  # Anthropic
    "ThrottlingException: Too many tokens, please wait before trying again.",  # AWS Bedrock
    "Throttling error: Too many requests, please wait before trying again.",  # AWS Bedrock through pi
    "TooManyRequestsException: Too many requests",  # AWS
    "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-06-01 have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 6 seconds.",  # Azure
    '{"error":{"code":429,"message":"Resource exhausted. Please try again later. Please refer to https://cloud.google.com/vertex-ai/error-code-429","status":"RESOURCE_EXHAUSTED"}}',  # Vertex
    "Resource has been exhausted (e.g. check quota).",  # Gemini
    "429 Quota exceeded for aiplatform.googleapis.com/generate_content_requests_per_minute_per_project_per_base_model with base model: gemini-2.5-pro.",  # Vertex
    '429 {"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateContentInputTokensPerModelPerMinute-FreeTier"}]}]}}',  # Gemini
    "Cloud Code Assist API error (429): You have exhausted your capacity on this model. Your quota will reset after 12s.",  # Gemini code assist
    "Status 429: Requests rate limit exceeded",  # Mistral
    "Requests per minute limit exceeded - too many requests sent.",  # Cerebras
    '{"message":"Tokens per minute limit exceeded - too many tokens processed.","type":"too_many_tokens_error","code":"token_quota_exceeded"}',  # Cerebras
    "429 Rate limit exceeded: free-models-per-min.",  # OpenRouter
    '429 {"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"deepseek/deepseek-r1:free is temporarily rate-limited upstream. Please retry shortly","provider_name":"Chutes"}}}',  # OpenRouter
    '429 {"error":{"code":"1302","message":"High concurrency usage of this API, please reduce concurrency or contact customer service to increase limits"}}',  # z.ai, ccs issue 402
    '{"error":{"code":"1313","message":"Your account\'s current usage pattern does not comply with the Fair Usage Policy, and your request frequency has been limited."}}',  # z.ai
    '429 {"error":{"message":"Your account reached max request limit, max organization concurrency: 3","type":"rate_limit_reached_error"}}',  # Moonshot
    "Requests rate limit exceeded, please try again later. (Throttling.RateQuota)",  # Qwen/DashScope
    "AI_RetryError: Failed after 3 attempts. Last error: Too Many Requests",  # opencode issue 430
    "Too many concurrent requests for this model",
    "[GoogleGenerativeAI Error]: Error fetching from https://generativelanguage.googleapis.com/v1beta: [429 Too Many Requests] ",
    "API Error: Request rejected (429) · Rate limited. Please try again later.",  # claude-code issue 69023
    "Request failed with status code 429",  # axios
    "HTTP 429",
]

AUTH = [
    '401: {"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key","param":null}',  # OpenAI
    "401 Incorrect API key provided: sk-proj-****. You can find your API key at https://platform.openai.com/account/api-keys.",
    '401 {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}',  # Anthropic
    '401 {"type":"error","error":{"type":"authentication_error","message":"OAuth token has expired. Please obtain a new token or refresh your existing token."}}',
    '400 {"type":"error","error":{"type":"invalid_request_error","message":"This credential is only authorized for use with Claude Code and cannot be used for other API requests."}}',
    "This organization has been disabled.",  # Anthropic
    '403 {"type":"error","error":{"type":"permission_error","message":"Your API key does not have permission to use the specified resource"}}',
    '{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}',  # Gemini
    "Could not load the default credentials. Browse to https://cloud.google.com/docs/authentication/getting-started for more information.",  # Vertex
    "Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/projects/p'",  # Vertex
    "UnrecognizedClientException: The security token included in the request is invalid.",  # AWS
    "ExpiredTokenException: The security token included in the request is expired",  # AWS
    "CredentialsProviderError: Could not load credentials from any providers",  # AWS
    "Access denied due to invalid subscription key or wrong API endpoint.",  # Azure
    "Authentication Fails, Your api key: ****abcd is invalid",  # DeepSeek
    "401 No auth credentials found",  # OpenRouter
    "401 User not found.",  # OpenRouter
    '401 {"error":{"message":"Invalid Authentication","type":"invalid_authentication_error"}}',  # Moonshot
    "No API key found for openai.\n\nUse /login to log into a provider via OAuth or API key.",  # Atomic, pi
    "No API key for provider: anthropic",  # pi
    "Failed to refresh OAuth token for anthropic",  # pi
    "Anthropic token refresh request failed. url=https://console.anthropic.com; details=fetch failed",  # pi
    "Your authentication token has been invalidated. Please try signing in again.",  # ChatGPT
    "401 Unauthorized",
    "401 status code (no body)",
    "403 Forbidden",
    "Country, region, or territory not supported",  # OpenAI
    "User location is not supported for the API use.",  # Gemini
]

REFUSAL = [
    "Provider finish_reason: content_filter",  # Atomic, pi
    "Provider finish_reason: SAFETY",
    "content_filter",
    "SAFETY",
    "RECITATION",
    "PROHIBITED_CONTENT",
    "refusal",
    '400 {"error":{"code":"content_filter","message":"The response was filtered due to the prompt triggering Azure OpenAI\'s content management policy.","innererror":{"code":"ResponsibleAIPolicyViolation"}}}',  # Azure
    '400 {"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt.","code":"invalid_prompt"}}',  # OpenAI
    "API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy",  # Anthropic
    "Output blocked by content filtering policy",  # Anthropic
    "The model refused to complete the request",  # pi
    "Input data may contain inappropriate content.",  # Qwen/DashScope
    '{"error":{"code":"1301","message":"System detected potentially unsafe or sensitive content in input or generation."}}',  # z.ai
    "403 The request was flagged: input requires moderation",  # OpenRouter
    "Candidate was blocked due to SAFETY",  # Gemini
    "The model's response was blocked by a guardrail (guardrail_intervened)",  # AWS Bedrock
    "input new_sensitive (1026): sensitive content",  # MiniMax
]

MODEL_UNAVAILABLE = [
    '404: {"message":"unknown model nosuch","type":"server_error","code":null,"param":null}',  # recorded
    '404 {"message":"The model does not exist","type":"invalid_request_error","code":"model_not_found"}',
    "404 The model `gpt-9` does not exist or you do not have access to it.",  # OpenAI
    '403 {"error":{"message":"Project `proj_1` does not have access to model `gpt-5`","type":"invalid_request_error","code":"model_not_found"}}',  # OpenAI
    '404 {"type":"error","error":{"type":"not_found_error","message":"model: claude-nope"}}',  # Anthropic
    "models/gemini-nope is not found for API version v1beta, or is not supported for generateContent.",  # Gemini
    "Publisher Model `projects/p/locations/us/publishers/google/models/gemini-x` was not found or your project does not have access to it.",  # Vertex
    "ValidationException: The provided model identifier is invalid.",  # AWS Bedrock
    "AccessDeniedException: You don't have access to the model with the specified model ID.",  # AWS Bedrock
    "Invocation of model ID anthropic.claude-x with on-demand throughput isn’t supported. Retry your request with the ID of an inference profile that contains this model.",  # AWS Bedrock
    "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment (DeploymentNotFound)",  # Azure
    "400 deepseek/nope is not a valid model ID",  # OpenRouter
    "404 No endpoints found for meta-llama/nope:free.",  # OpenRouter
    "404 No endpoints found that support tool use.",  # OpenRouter
    "The model `mixtral-8x7b-32768` has been decommissioned and is no longer supported. Please refer to https://console.groq.com/docs/deprecations",  # Groq
    "The model gpt-4-32k has been deprecated, learn more here",  # OpenAI
    'model "llama9" not found, try pulling it first',  # Ollama
    'Model "nosuch" not found for provider "fake".',  # Atomic, pi
    "Invalid model: mistral-nope",  # Mistral
    '{"error":{"code":"1211","message":"Unknown Model, please check the model code."}}',  # z.ai
    "The requested model is not supported.",  # GitHub Copilot
    '400 {"error":{"message":"The requested model is not supported.","code":"model_not_supported"}}',  # GitHub Copilot
    "The 'gpt-5-codex' model is not supported when using Codex with a ChatGPT account.",  # Codex
    "Model Not Exist",  # DeepSeek
    "No models loaded. Please load a model in the developer page",  # LM Studio
    '401 {"type":"error","error":{"type":"ModelError","message":"Model xyz not supported for format openai"}}',  # OpenCode Zen
    "404 page not found",
    "404 status code (no body)",
]

PROVIDER_UNAVAILABLE = [
    '500: {"message":"The server had an error processing your request","type":"server_error","code":null,"param":null}',  # OpenAI
    '503: {"message":"The model is currently overloaded","type":"overloaded_error","code":null,"param":null}',
    "529 overloaded_error",
    '529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',  # Anthropic
    '{"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"},"request_id":null}',
    '500 {"type":"error","error":{"type":"api_error","message":"Internal server error"}}',  # Anthropic
    "That model is currently overloaded with other requests. You can retry your request",  # OpenAI
    "An error occurred while processing your request. You can retry your request, or contact us through our help center",
    '{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}',  # Gemini
    "503 The service is currently unavailable.",  # Gemini
    "ServiceUnavailableException: Bedrock is unable to process your request.",  # AWS
    "ModelNotReadyException: Model is not ready for inference.",  # AWS
    "The system encountered an unexpected error during processing. Try your request again.",  # AWS
    "502 Bad Gateway",
    "504 Gateway Time-out",
    "503 no healthy upstream",
    "upstream connect error or disconnect/reset before headers. reset reason: connection timeout",  # Envoy
    "503 Loading model",  # llama.cpp
    "Error code: 520",
    "Provider returned error",  # OpenRouter
    "Provider finish_reason: error",  # OpenRouter through pi
    "The server is currently busy, please try again later",
    "Selected model is at capacity. Please try a different model.",  # Codex
    "We're currently experiencing high demand, which may cause temporary errors.",  # Codex
    "503 Service Unavailable",
    "500 status code (no body)",
    '{"error":{"message":"The engine is currently overloaded, please try again later","type":"engine_overloaded_error"}}',  # Moonshot
]

NETWORK = [
    "Connection error.",  # openai SDK
    "Connection error.: connect ECONNREFUSED 127.0.0.1:11434",  # pi, with its cause
    "Request timed out.",  # openai SDK
    "fetch failed",
    "TypeError: fetch failed: getaddrinfo ENOTFOUND api.openai.com",
    "read ECONNRESET",
    "connect ETIMEDOUT 1.2.3.4:443",
    "getaddrinfo EAI_AGAIN api.anthropic.com",
    "socket hang up",
    "terminated",
    "other side closed",
    "UND_ERR_SOCKET",
    "Headers Timeout Error (UND_ERR_HEADERS_TIMEOUT)",
    "Client network socket disconnected before secure TLS connection was established",
    "unable to verify the first certificate",
    "self-signed certificate in certificate chain",
    "CERT_HAS_EXPIRED",
    "Stream ended without finish_reason",  # recorded
    "Anthropic stream ended before message_stop",  # pi
    "stream disconnected before completion: stream closed before response.completed",  # Codex
    "Premature close",
    "Error reading response: malformed server-sent event JSON.",  # recorded, pi 1.6.0
    "Could not parse Anthropic SSE event message_delta: Unexpected end; data={; raw={",  # pi
    "Invalid Codex SSE JSON: {",  # pi
    "Mistral response has no body",  # pi
    "terminated: Response does not match the HTTP/1.1 protocol (Invalid EOF state)",  # recorded, pi 1.6.0
    "JSON Parse error: Unterminated string",  # recorded, Bun
    "Unterminated string in JSON at position 45",  # recorded, Node
    "Unexpected end of JSON input",
    "Expected ',' or '}' after property value in JSON at position 123",
    "Unexpected token '<', \"<!DOCTYPE \"... is not valid JSON",
    'Could not parse message into JSON: {"id":"x","choices":[{"delta":{"content":"bro',
    "The socket connection was closed unexpectedly. For more information, pass `verbose: true` in the second argument to fetch()",  # Bun
    "Unable to connect. Is the computer able to access the url?",  # Bun
    "WebSocket closed 1006",
    "http2 request did not get a response",  # AWS through pi
    "peer closed connection without sending complete message body (incomplete chunked read)",
    "408 Request Timeout",
    "write EPIPE",
]

INVALID_REQUEST = [
    '400: {"message":"Unsupported parameter: \'max_tokens\' is not supported with this model. Use \'max_completion_tokens\' instead.","type":"invalid_request_error","code":"unsupported_parameter"}',
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.",
    "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4",
    '400 {"type":"error","error":{"type":"invalid_request_error","message":"messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01"}}',
    'messages: roles must alternate between "user" and "assistant"',
    "400 Bad Request",
    "422 Unprocessable Entity",
    "Invalid value for 'temperature': must be between 0 and 2",
    '{"error":{"code":400,"message":"Request contains an invalid argument.","status":"INVALID_ARGUMENT"}}',
    "ValidationException: messages.1.content is empty",
    "messages.1.content.0.type: Expected 'thinking' or 'redacted_thinking', but found 'text'",
    "Failed to call a function. Please adjust your prompt. (tool_use_failed)",
    "400 status code (no body)",
]

UNKNOWN = ["", "Something unheard of", "the quick brown fox", "{}", "null", "Oops", "\x00\ud800"]

WORDINGS = {
    FailureKind.OVERFLOW: OVERFLOW,
    FailureKind.QUOTA: QUOTA,
    FailureKind.RATE_LIMIT: RATE_LIMIT,
    FailureKind.AUTH: AUTH,
    FailureKind.REFUSAL: REFUSAL,
    FailureKind.MODEL_UNAVAILABLE: MODEL_UNAVAILABLE,
    FailureKind.PROVIDER_UNAVAILABLE: PROVIDER_UNAVAILABLE,
    FailureKind.NETWORK: NETWORK,
    FailureKind.INVALID_REQUEST: INVALID_REQUEST,
    FailureKind.UNKNOWN: UNKNOWN,
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in WORDINGS.items() for text in texts])
def test_a_real_wording_has_its_kind(kind: FailureKind, text: str) -> None:
    assert classify(text) is kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        # numbers that only look like a status
        ("Something failed after 429 tokens (request req_401500429)", FailureKind.UNKNOWN),
        ("500 tokens were generated, then nothing", FailureKind.UNKNOWN),
        ("id: chatcmpl-429abc503", FailureKind.UNKNOWN),
        ("it took 1.503 s", FailureKind.UNKNOWN),
        ("read 1308 of 1310 items", FailureKind.UNKNOWN),
        # words inside words
        ("cannot generate limited output", FailureKind.UNKNOWN),
        ("iterate limits", FailureKind.UNKNOWN),
        # an error that quotes what the user wrote
        (
            'Invalid value: "please handle the rate limit exceeded error" is not of type object',
            FailureKind.INVALID_REQUEST,
        ),
        (
            '400: {"message":"Invalid type for messages[0].content","code":"invalid_type","input":"You exceeded your current quota"}',
            FailureKind.INVALID_REQUEST,
        ),
        # a model may be called anything
        ('404: {"message":"unknown model rate-limit-7b","code":null}', FailureKind.MODEL_UNAVAILABLE),
        ("The model `throttle/overload-2` does not exist", FailureKind.MODEL_UNAVAILABLE),
        # an upsell is no empty account
        (
            "429 Rate limit reached for model `x` on requests per minute (RPM): Limit 30, Used 30. Upgrade at https://console.groq.com/settings/billing",
            FailureKind.RATE_LIMIT,
        ),
        # output limits are no overflow
        ("max_tokens must be at most 8192", FailureKind.INVALID_REQUEST),
        # a wrapper around the cause
        ('Context overflow recovery failed: Summarization failed: 429: {"message":"slow"}', FailureKind.OVERFLOW),
        ("Retry failed after 3 attempts: 401 Incorrect API key provided", FailureKind.AUTH),
    ],
)
def test_what_only_looks_like_a_sign_is_none(text: str, kind: FailureKind) -> None:
    assert classify(text) is kind


def test_an_error_wrapped_in_json_strings_is_read_to_its_core() -> None:
    core = json.dumps({"error": {"type": "overloaded_error", "message": "Overloaded"}})
    wrapped = json.dumps({"error": {"message": core, "code": None}})
    twice = "Error: " + json.dumps({"error": {"message": "Provider returned something", "metadata": {"raw": wrapped}}})
    assert classify(twice) is FailureKind.PROVIDER_UNAVAILABLE


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (429, FailureKind.RATE_LIMIT),
        ("insufficient_quota", FailureKind.QUOTA),
        (401, FailureKind.AUTH),
        ("ECONNRESET", FailureKind.NETWORK),
        ("UND_ERR_BODY_TIMEOUT", FailureKind.NETWORK),
        ("503", FailureKind.PROVIDER_UNAVAILABLE),
        (10**400, FailureKind.UNKNOWN),
    ],
)
def test_a_code_beside_a_text_that_says_nothing_counts(code: str | int, kind: FailureKind) -> None:
    assert classify("it failed", code=code) is kind


def test_every_kind_has_a_meaning_for_people() -> None:
    assert set(MEANINGS) == set(FailureKind)
    assert all(meaning and meaning == meaning.strip() for meaning in MEANINGS.values())


def test_wrappers_name_no_cause() -> None:
    assert is_wrapper("terminated")
    assert is_wrapper("Connection error.")
    assert is_wrapper("exited before completing")
    assert not is_wrapper("429 Rate limit reached")


@settings(deadline=None)
@given(st.text(max_size=300) | st.sampled_from([text for texts in WORDINGS.values() for text in texts]))
def test_classifying_never_fails(text: str) -> None:
    assert classify(text) in FailureKind
    assert classify("[" * 3000 + text) in FailureKind
    read_retry_at(text, 1.8e9)


@settings(deadline=None)
@given(
    st.sampled_from(["model ", "exceed ", "a_", "{", '{"message":', '"', "[(4", "try again in 1m", "reset ", "1 s "])
)
def test_a_hostile_text_of_megabytes_is_clipped(piece: str) -> None:
    text = piece * (2_000_000 // len(piece))
    assert classify(text) is classify(text[:LONGEST_HEAD] + " … " + text[-LONGEST_TAIL:])
    read_retry_at(text, 1.8e9)


NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC).timestamp()
HOUR = 3600.0
DAY = 24 * HOUR


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please try again in 20s.", 20),
        ("Please try again in 1m30.5s.", 90.5),
        ("Please try again in 450ms.", 0.45),
        ("Try again in ~153 min.", 153 * 60),
        ("Retry-After: 3", 3),
        ("retry-after-ms: 1500", 1.5),
        ('{"retry_after": 12.5}', 12.5),
        ("Please retry after 30 seconds.", 30),
        ("retry after 7", 7),
        ('"retryDelay":"17s"', 17),
        ('"retryDelay": "0.5s"', 0.5),
        ("Please retry in 27.07s.", 27.07),
        ("Your quota will reset after 2h31m10s.", 2 * HOUR + 31 * 60 + 10),
        ("resets in 2 hours 5 minutes", 2 * HOUR + 300),
        ("resets in 3 days, 4 hours and 5 minutes", 3 * DAY + 4 * HOUR + 300),
        (f'{{"resets_at":{NOW + 500:.0f},"resets_in_seconds":60}}', 500),
        (f'{{"resets_at":{(NOW + 500) * 1000:.0f}}}', 500),
        ('{"resets_in_seconds":9180}', 9180),
        (f"Claude AI usage limit reached|{NOW + HOUR:.0f}", HOUR),
        ("Your limit will reset at 2026-12-01T15:00:00Z", 3 * HOUR),
        ("Your limit will reset at 2026-12-01T15:00:00+02:00", HOUR),
        ("429 Usage limit reached for 5 hour. Your limit will reset at 2026-12-01 15:05:44", 3 * HOUR + 344),
        ("您的限额将在 2026-12-01 15:00:00 重置。", 3 * HOUR),
        ("You will regain access on 2026-12-02 at 00:00 UTC.", 12 * HOUR),
        ("Retry-After: Tue, 01 Dec 2026 12:01:00 GMT", 60),
        ("You've hit your limit · resets 3pm (UTC)", 3 * HOUR),
        ("You've hit your limit · resets 1:30am (Asia/Dhaka)", 7.5 * HOUR),
        ("resets at 00:00 UTC", 12 * HOUR),
        ("resets 12pm (UTC)", 24 * HOUR),
    ],
)
def test_the_time_to_try_again_is_read(text: str, seconds: float) -> None:
    assert read_retry_at(text, NOW) == pytest.approx(NOW + seconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Please try again later.",
        "retry after 3 attempts",
        "try again in 0s",
        "Your limit will reset at 2020-01-01T00:00:00Z",  # in the past
        "Claude AI usage limit reached|1749924000",  # in the past
        '{"resets_at":99999999999}',  # absurdly far
        "try again in 90000 hours",
        "reset at 2026-13-45 99:99:99",
        "resets 3pm (Nowhere/Land)",
        "resets 3pm",  # of whose clock?
        "Limit 30000, Requested 45000",
        "try again in 999999999999 weeks",
    ],
)
def test_a_text_without_a_usable_time_gives_none(text: str) -> None:
    assert read_retry_at(text, NOW) is None
