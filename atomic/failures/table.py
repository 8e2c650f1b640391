"""The wordings that mean each kind, in the order in which they are tried.

They are what providers, gateways, SDKs and runtimes really say (a test holds a sample of each, with where it comes
from). All patterns see lower-case text of bounded length, and no gap in them is unbounded, so hostile text costs no
more than any other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from atomic.failures.kinds import FailureKind


@dataclass(frozen=True, slots=True)
class Wording:
    """What means one kind. `unless` are the words that take a match of `words` back; `even_if` outranks those."""

    kind: FailureKind
    codes: frozenset[str]
    words: re.Pattern[str]
    strong_statuses: frozenset[int] = frozenset()  # as telling as words
    statuses: frozenset[int] = frozenset()  # when no words tell more
    unless: re.Pattern[str] | None = None
    even_if: re.Pattern[str] | None = None


def _codes(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _words(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives))


# What passes within a minute or so, whatever else the text calls it: Gemini and Cerebras call their limits by the
# minute a quota, Anthropic and Bedrock speak of tokens.
_SHORT_LIMIT = (
    r"per[ _-]?(?:minute|min|second|sec)(?![a-z])",
    r"perminute|persecond|\b[rt]pm\b",
    r"concurren(?:t|cy)",
)

_OVERFLOW = Wording(
    FailureKind.OVERFLOW,
    _codes(
        "context_length_exceeded context_window_exceeded model_context_window_exceeded contextwindowexceedederror"
        " request_too_large prompt_too_long input_too_long exceed_context_size_error tokens_limit_reached"
        " model_max_prompt_tokens_exceeded max_prompt_tokens_exceeded payload_too_large string_above_max_length 1261"
    ),
    _words(
        r"context[ _-]?(?:length|window|size|limit)\b.{0,60}?(?:exceed|too (?:long|large|small)|overflow|is full)",
        r"(?:exceed\w{0,3}|outside|beyond|(?:larger|longer|greater|more) than|over|ran out of \w{1,10} in)\b"
        r".{0,80}?\bcontext[ _-]?(?:length|window|size|limit)",
        r"max(?:imum)? context (?:length|size|window)|\bcontext overflow",
        r"(?:prompt|input|request|conversation|message|messages)(?: \w{1,6})? too (?:long|large)\b",
        r"prompt exceeds|max(?:imum)? (?:allowed )?(?:prompt|input) (?:length|size|tokens?)\b",
        r"(?:prompt|input) tokens?\b.{0,60}?\bexceed|token count\b.{0,80}?\bexceed",
        r"exceed\w{0,3}\b.{0,60}?\b(?:number of (?:input )?tokens|(?:input|prompt|model)(?:'s)? token limit|input limit)",
        r"token limit exceeded|number of tokens\b.{0,60}?\bexceed|tokens?\b.{0,40}?\bexceeds? the limit of \d",
        r"reduce the (?:length|size) of (?:the|your) (?:message|prompt|input|request)|shorten your (?:prompt|input|message)",
        r"range of input length should be|too large for model with|longer than the model'?s context",
        r"too many (?:input |prompt |total )?tokens\b",
        r"prompt has \d[\d,]{0,12} tokens|\bn_ctx\b|tokens to keep from the initial prompt",
        r"(?:request|payload|content|body)(?: entity| body)? too large|request exceeds the maximum size",
        # vLLM and OpenAI's Responses, when nothing is left for the output
        r"max_(?:completion_)?tokens must be at least 1, got -|max_output_tokens.{0,60}?integer below minimum",
        # Atomic's check of the context after tools have run
        r"post-tool context (?:remains over|compaction failed)",
    ),
    strong_statuses=frozenset({413}),
    unless=_words(
        r"\brate[ _-]?limit", r"too many requests", r"throttl", r"please wait", r"per[ _-]day", *_SHORT_LIMIT
    ),
    # A single request above the limit by the minute never passes, however long one waits: it has to be smaller.
    even_if=_words(r"request too large\b.{0,400}?\brequested\b"),
)

_QUOTA = Wording(
    FailureKind.QUOTA,
    _codes(
        "insufficient_quota quota_exceeded quota_exhausted usage_limit_reached usage_limit_exceeded usage_not_included"
        " insufficient_credits insufficient_balance insufficient_funds credit_balance_too_low out_of_credits"
        " payment_required billing_hard_limit_reached billing_not_active billing_error budget_exceeded key_limit_exceeded"
        " exceeded_current_quota_error spend_limit_reached token_quota_exceeded request_quota_exceeded arrearage"
        " servicequotaexceededexception gousagelimiterror freeusagelimiterror creditserror exceededbudget"
        " subscription_sharing_usage_limit_exceeded subscription_sharing_workplace_individual_usage_limit_exceeded"
        " 1113 1304 1308 1309 1310 2056"
    ),
    _words(
        r"(?:exceed\w{0,3}|exhausted|insufficient|out of|over|reached|used up|no)\b.{0,40}?(?<!check )\bquotas?\b",
        r"\bquotas?\b.{0,40}?\b(?:exceeded|exhausted|reached|used up|depleted|will reset|insufficient)",
        r"insufficient.{0,20}?(?:credit|balance|fund)|(?:credit|account) balance\b.{0,30}?(?:low|insufficient|exhausted|negative)",
        r"balance is (?:not enough|insufficient|too low)|(?:out of|no|any|more|all available|enough) credits?\b",
        r"credits? (?:limit|exhausted|depleted|required|ran out|have run out|are used up)|only afford|purchased credits",
        r"billing (?:hard |soft )?limit|billing (?:details|account|issue|is|to be|has|not)|payment (?:is )?(?:required|method)",
        r"usage[ _]limits?\b|(?:hit|reached|exceeded) your (?:\w{1,12} ){0,4}(?:limit|allowance|cap)\b|limits? exhausted",
        r"(?:session|weekly|monthly|daily|hourly|hour|opus|plan|subscription) (?:usage |call |request |token |message )?"
        r"(?:limit|quota|cap|allowance)s?\b",
        r"spend(?:ing)? (?:limit|cap)|out of budget|budget (?:has been |is |was )?exceeded|key limit exceeded",
        r"premium (?:model |request )(?:allowance|quota|limit)|extra usage|usage allowance|in good standing|overdue",
        r"suspended.{0,80}?(?:balance|billing|recharge|spending|invoice)|top ?up your|recharge (?:your|the) account",
        r"(?:trial|package|plan|subscription)\b.{0,20}?\b(?:has )?(?:expired|ended)|no active subscription",
        r"余额不足|欠费|额度|充值|用量上限|使用上限",
        r"(?:per[ _-]?day|perday|per[ _-]?(?:week|month)|\b[rt]pd\b)",
    ),
    strong_statuses=frozenset({402}),
    unless=_words(*_SHORT_LIMIT),
    # A message of Gemini's may list several limits: while one by the day is used up, waiting a minute does not help.
    even_if=_words(r"per[ _-]?day|perday|\b[rt]pd\b|daily|weekly|monthly"),
)

_RATE_LIMIT = Wording(
    FailureKind.RATE_LIMIT,
    _codes(
        "rate_limit_exceeded rate_limit_error rate_limited rate_limit rate_limit_reached rate_limit_reached_error"
        " ratelimitreached ratelimiterror too_many_requests toomanyrequests throttlingexception throttling"
        " toomanyrequestsexception resource_exhausted resourceexhausted slow_down limit_requests limit_burst_rate"
        " concurrency_limit_exceeded request_limit_exceeded 1302 1303 1305"
    ),
    _words(
        r"\brate[ _-]?limit",
        r"\brate (?:has been )?exceeded|exceeded the rate|rate increased too quickly",
        r"too many (?:concurrent |simultaneous |parallel )?(?:requests|connections)",
        r"throttl|slow down|resource (?:has been )?exhausted|too frequent|high frequency",
        r"(?:requests|tokens|quota|limit|calls)\b.{0,80}?per[ _-]?(?:minute|min|second|sec)(?![a-z])",
        r"per[ _-]?(?:minute|min|second|sec)\b.{0,20}?(?:limit|quota)|perminute|persecond|\b[rt]pm\b",
        r"concurren(?:t|cy)\b.{0,60}?(?:limit|request|exceed|reached|high)|(?:limit|high|maximum)\b.{0,40}?concurren",
        r"too many tokens, please wait",
        r"速率限制|请求过于频繁|并发|限流|频率",
    ),
    strong_statuses=frozenset({429}),
)

_AUTH = Wording(
    FailureKind.AUTH,
    _codes(
        "invalid_api_key authentication_error permission_error permission_denied unauthorized unauthenticated"
        " invalid_authentication_error authenticationerror permissiondenied access_denied accessdeniedexception"
        " unrecognizedclientexception expiredtokenexception expiredtoken invalidsignatureexception incompletesignature"
        " missingauthenticationtokenexception credentialsprovidererror token_expired token_invalidated token_revoked"
        " invalid_grant invalid_token api_key_invalid account_deactivated unsupported_country_region_territory"
    ),
    _words(
        r"(?:invalid|incorrect|wrong|missing|bad|expired|malformed|disabled|revoked|no|unknown|illegal)\b.{0,12}?\bapi[ _-]?keys?\b",
        r"\bapi[ _-]?key\b.{0,60}?\b(?:invalid|not valid|incorrect|expired|missing|required|not found|revoked|disabled|leaked"
        r"|not set|not provided|not authorized|does not have)",
        r"\bunauthori[sz]ed\b|\bunauthenticated\b|\bnot authori[sz]ed\b|\bforbidden\b|\baccess denied\b",
        r"authentication (?:fail|error|required|parameter|token|credential)|failed to authenticate|no (?:\w{1,10} )?auth credentials",
        r"(?:invalid|expired|missing|no)\b.{0,20}?\b(?:bearer|access|auth|authentication|authorization|security)? ?"
        r"(?:token|credentials?|x-api-key)s?\b(?! in json)",
        r"(?:oauth|access|refresh|auth|authentication|bearer|security|session|id) ?token\b.{0,60}?\b(?:expired|invalid|revoked|missing)",
        r"token (?:is|has|was) (?:expired|revoked|invalid)|invalid_grant|failed to refresh",
        r"credentials?\b.{0,40}?\b(?:not found|missing|expired|invalid|could not be loaded|only authorized)",
        r"could not (?:load|resolve|validate|find|get)\b.{0,30}?\b(?:credential|authentication)|signature we calculated",
        r"not logged in|(?:please|must) (?:re-?)?(?:log ?in|sign in|authenticate)|log ?in again|use /login",
        r"permissions?\b.{0,120}?\bdenied|(?:does not|doesn't|do not|don't) have (?:the )?(?:\w{1,12} )?permissions?",
        r"(?:organization|account|user|key)\b.{0,30}?\b(?:has been |is |was )(?:disabled|deactivated|banned|suspended|terminated)",
        r"(?:country|region|territory|location)\b.{0,40}?\bnot supported|身份验证|鉴权|无效的令牌",
    ),
    statuses=frozenset({401, 403}),
    # The key is good, but not for this model: another model of the same provider may do.
    unless=_words(r"access to (?:the |this |that )?(?:\w{1,12} )?model|model_not_found|access to it\b"),
)

_REFUSAL = Wording(
    FailureKind.REFUSAL,
    _codes(
        "content_filter content_filtered content_policy_violation content_blocked safety recitation prohibited_content"
        " blocklist spii image_safety refusal sensitive responsibleaipolicyviolation data_inspection_failed moderation"
        " guardrail_intervened invalid_prompt cyber_policy_violation policy_violation 1026 1027 1301"
    ),
    _words(
        r"content[ _-]?(?:filter|policy|polic|moderation|management|safety)",
        r"(?:finish|stop|block)[ _-]?reason\W{0,4}(?:safety|recitation|prohibited|blocklist|spii|refusal|sensitive|image_safety)",
        r"(?:blocked|stopped|filtered|flagged|rejected|declined|refused)\b.{0,60}?"
        r"\b(?:safety|policy|policies|moderation|harmful|unsafe|prohibited|guardrail|violat)",
        r"violat\w{0,6}\b.{0,80}?\b(?:policy|policies|guidelines|terms)|usage polic(?:y|ies)|safety (?:system|filter|policy|reasons)",
        r"(?:model|provider|assistant|claude) (?:has )?(?:refused|declined)|refus(?:ed|es) to (?:answer|respond|complete|comply)",
        r"(?:inappropriate|prohibited|sensitive|unsafe|harmful|copyrighted) (?:content|material|words?|information)",
        r"(?:prompt|input|response|output|request) (?:was |has been |is )?(?:blocked|flagged)|guardrail",
        r"prohibited_content|\brecitation\b|敏感|违规|不安全",
    ),
    statuses=frozenset({451}),
)

_MODEL = Wording(
    FailureKind.MODEL_UNAVAILABLE,
    _codes(
        "model_not_found model_not_available model_not_supported model_not_allowed unsupported_model invalid_model"
        " model_deprecated model_decommissioned model_access_denied deploymentnotfound not_found_error modelerror"
        " resourcenotfoundexception not_found 1211 1311"
    ),
    _words(
        r"\bmodels?\b.{0,160}?(?:\bnot found|\bdoes(?: not|n't) exist|\bnot exist|\bis not (?:a )?(?:valid|available|supported"
        r"|accessible|enabled|allowed)|\bnot (?:supported|available) (?:for|in|on|by|with your)|\bno longer (?:available|supported)"
        r"|deprecated|decommissioned|\bretired|discontinued|\bend of life|\b(?:is|has been|was) (?:removed|disabled|shut ?down|sunset))",
        r"(?:unknown|invalid|unsupported|unrecognized|no such|nonexistent|missing) model\b(?! (?:parameter|output|response))",
        r"model (?:identifier|id|name|code)\b.{0,40}?\binvalid|not a valid model|model not exist",
        r"no (?:endpoints?|allowed providers|available \w{1,12}|deployments?)\b.{0,60}?(?:\bmodel|found|available|support)",
        r"not found for (?:provider|api version)|deployment\b.{0,60}?(?:does not exist|not found)",
        r"(?:not|n't) have access to (?:the |this |that )?(?:\w{1,12} )?model|access to the model\b|does not include access",
        r"(?:on-demand throughput|inference profile)\b.{0,60}?(?:isn'?t|not) supported|with on-demand throughput",
        r"no models? loaded|failed to load model|try pulling it|model requires more (?:system )?memory|模型不存在|无可用渠道",
    ),
    statuses=frozenset({404, 410}),
    unless=_words(r"(?:temporarily|currently) (?:not available|unavailable|disabled)"),
)

_PROVIDER = Wording(
    FailureKind.PROVIDER_UNAVAILABLE,
    _codes(
        "overloaded_error overloaded engine_overloaded_error service_unavailable serviceunavailable unavailable"
        " serviceunavailableexception internalserverexception internal_server_error modelnotreadyexception"
        " modelstreamerrorexception modelerrorexception bad_gateway gateway_timeout deadline_exceeded server_busy"
        " model_capacity_exhausted upstream_error upstream_request_failed server_is_overloaded 1234 1312"
    ),
    _words(
        r"overload|(?:over|at|no|insufficient|limited) capacity|capacity (?:exceeded|constraints|available)",
        r"(?:temporarily|currently)\b.{0,20}?\b(?:unavailable|not available|disabled)|\bservice\b.{0,30}?\bunavailable",
        r"servers?\b.{0,20}?\bbusy|high (?:demand|traffic|load)|heavy load|under maintenance|maintenance mode",
        r"internal (?:server )?(?:error|failure)|server (?:had an |encountered an )?(?:unexpected )?error|system error",
        r"error (?:occurred )?while processing your request|encountered an unexpected error|unexpected error during",
        r"bad gateway|gateway[ -]?time-?out|no healthy upstream|upstream (?:connect|request|error|provider|service|server)",
        r"provider returned (?:an )?error|provider finish_reason: error|deadline[ _]exceeded|origin is unreachable",
        r"loading model|model is (?:still )?(?:loading|not ready|warming|starting)|(?:can|should|please) retry your request",
        r"系统繁忙|服务繁忙|服务不可用|负载|网络错误，错误id",
    ),
    statuses=frozenset({424, 500, 502, 503, 504, *range(520, 531)}),
)

_NETWORK = Wording(
    FailureKind.NETWORK,
    _codes(
        "econnreset econnrefused econnaborted enotfound etimedout epipe eai_again ehostunreach enetunreach enetdown"
        " eproto eaddrnotavail err_http2_stream_cancel err_stream_premature_close upstream_stream_read_error"
        " apiconnectionerror apiconnectiontimeouterror websocket_connection_limit_reached"
    ),
    _words(
        r"\be(?:connreset|connrefused|connaborted|notfound|timedout|pipe|ai_again|hostunreach|netunreach|netdown|proto)\b",
        r"\bund_err_\w{1,40}|\berr_(?:http2|socket|stream|ssl|tls|network|tls_cert)\w{0,40}|\bcert_\w{1,40}",
        r"fetch failed|failed to fetch|socket (?:hang up|connection was closed|closed|error)|other side closed|broken pipe",
        r"^(?:\w{1,20}: )?terminated\.?$|(?:connection|stream|socket|request) (?:was )?terminated",
        r"connections? (?:error|reset|refused|closed|lost|timed|timeout|aborted|failed|failure|dropped|interrupted|was closed)",
        r"(?:unable|failed|could not|cannot) (?:to )?(?:connect|reach|resolve|establish)|getaddrinfo|\bdns\b",
        r"network (?:error|failure|issue|socket|connection|is unreachable|request failed)|unreachable|reset before headers",
        r"time[d-]? ?out\b|stream (?:ended|closed|disconnected|was interrupted|interrupted|stalled|idle|read error|error)",
        r"ended (?:without|before)|premature|before completion|incomplete (?:chunk|read|json|response|stream|message)",
        r"cut short|unexpected(?:ly)? (?:end|eof|closed?) |unexpected end\b|\beof\b|goaway|http/?2 |websocket",
        r"certificate|self[- ]signed|\bssl\b|\btls\b|request to \S{1,200} failed, reason:",
        # What is left of a cut stream, in the words of V8 and JavaScriptCore
        r"(?:in|is not valid|invalid|parse|parsing) json\b|json parse error|unterminated string|json at position"
        r"|unexpected token|no number after minus|bad (?:control|escaped) character|after json\b",
    ),
    statuses=frozenset({407, 408, 499}),
)

_INVALID = Wording(
    FailureKind.INVALID_REQUEST,
    _codes(
        "invalid_argument validationexception validation_error unsupported_parameter unsupported_value invalid_type"
        " invalid_value missing_required_parameter unknown_parameter bad_request badrequest unprocessable_entity"
        " invalid_parameter invalid_parameter_error invalid_image failed_precondition tool_use_failed 1210 1213 1214"
    ),
    _words(
        r"bad request|invalid[ _](?:request|argument|param|value|type|input|schema|json|body|format|image|tool|function|role|message)",
        r"(?:unsupported|unknown|unrecognized|unexpected|extra) (?:\w{1,12} )?(?:parameter|value|field|name|argument|role|input|key"
        r"|property|content|type)",
        r"not support|unsupported|missing required|(?:is|are|field) required|must (?:be|have|contain|start|end|match|not|alternate)",
        r"not permitted|not allowed|malformed|(?:could not|failed to|unable to|cannot) (?:parse|process|decode|read)",
        r"unprocessable|validation error|is too (?:large|long|small|short)|at most \d|max_(?:output_|completion_)?tokens",
        r"tool_(?:use|call|result)s?\b|roles must|cannot be modified|expected\b.{0,80}?\b(?:got|but|found|received)",
    ),
    statuses=frozenset({400, 405, 406, 409, 411, 412, 415, 422}),
)

ORDER: tuple[Wording, ...] = (
    _OVERFLOW,
    _QUOTA,
    _RATE_LIMIT,
    _AUTH,
    _REFUSAL,
    _MODEL,
    _PROVIDER,
    _NETWORK,
    _INVALID,
)

# Classes of error that say little: a status number beside them says more.
GENERIC = {
    "server_error": FailureKind.PROVIDER_UNAVAILABLE,
    "api_error": FailureKind.PROVIDER_UNAVAILABLE,
    "internal": FailureKind.PROVIDER_UNAVAILABLE,
    "internal_error": FailureKind.PROVIDER_UNAVAILABLE,
    "invalid_request_error": FailureKind.INVALID_REQUEST,
}
