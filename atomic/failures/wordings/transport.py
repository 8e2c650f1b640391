"""The way to the provider and back: the provider itself, the network, the form of the request."""

from __future__ import annotations

from atomic.failures.kinds import FailureKind
from atomic.failures.wordings.wording import Wording, codes, words

PROVIDER_UNAVAILABLE = Wording(
    FailureKind.PROVIDER_UNAVAILABLE,
    codes(
        "overloaded_error overloaded engine_overloaded_error service_unavailable serviceunavailable unavailable"
        " serviceunavailableexception internalserverexception internal_server_error modelnotreadyexception"
        " modelstreamerrorexception modelerrorexception bad_gateway gateway_timeout deadline_exceeded server_busy"
        " model_capacity_exhausted upstream_error upstream_request_failed server_is_overloaded"
        " subscription_sharing_usage_unavailable subscription_sharing_user_unavailable 1234 1312"
    ),
    words(
        r"overload",
        r"(?:over|at|no|insufficient|limited) capacity|capacity (?:exceeded|constraints|available)",
        r"(?:temporarily|currently)\b.{0,20}?\b(?:unavailable|not available|disabled)",
        r"\bservice\b.{0,30}?\bunavailable",
        r"servers?\b.{0,20}?\bbusy|high (?:demand|traffic|load)|heavy load|under maintenance|maintenance mode",
        r"internal (?:server )?(?:error|failure)|system error",
        r"server (?:had an |encountered an )?(?:unexpected )?error",
        r"error (?:occurred )?while processing your request|encountered an unexpected error|unexpected error during",
        r"bad gateway|gateway[ -]?time-?out|no healthy upstream",
        r"upstream (?:connect|request|error|provider|service|server)|forward upstream|retrying upstream",
        r"provider returned (?:an )?error|provider finish_reason: error",
        r"deadline[ _]exceeded|origin is unreachable",
        r"loading model|model is (?:still )?(?:loading|not ready|warming|starting)",
        r"(?:can|should|please) retry your request|try your request again",
        r"系统繁忙|服务繁忙|服务不可用|负载|网络错误，错误id",
    ),
    statuses=frozenset({424, 500, 502, 503, 504, *range(520, 531)}),
)

NETWORK = Wording(
    FailureKind.NETWORK,
    codes(
        "econnreset econnrefused econnaborted enotfound etimedout epipe eai_again ehostunreach enetunreach enetdown"
        " eproto eaddrnotavail err_http2_stream_cancel err_stream_premature_close upstream_stream_read_error"
        " apiconnectionerror apiconnectiontimeouterror websocket_connection_limit_reached"
    ),
    words(
        r"\be(?:connreset|connrefused|connaborted|notfound|timedout|pipe|ai_again|hostunreach|netunreach|netdown)\b",
        r"\bund_err_\w{1,40}|\berr_(?:http2|socket|stream|ssl|tls|network)\w{0,40}|\bcert_\w{1,40}|\beproto\b",
        r"fetch failed|failed to fetch|other side closed|broken pipe|cut short",
        r"socket (?:hang up|connection was closed|closed|error)",
        r"^(?:\w{1,20}: )?terminated\.?$|(?:connection|stream|socket|request) (?:was )?terminated",
        r"connections? (?:error|reset|refused|closed|lost|timed|timeout|aborted|failed|failure|dropped|interrupted"
        r"|was closed)",
        r"(?:unable|failed|could not|cannot) (?:to )?(?:connect|reach|resolve|establish)|getaddrinfo|\bdns\b",
        r"network (?:error|failure|issue|socket|connection|is unreachable|request failed)|unreachable",
        r"timed? ?-?out\b|reset before headers",
        r"stream (?:ended|closed|disconnected|was interrupted|interrupted|stalled|idle|read error|error"
        r"|has been cancel|failed)",
        r"ended (?:without|before)|premature|before completion",
        r"incomplete (?:chunk|read|json|response|stream|message)",
        r"unexpected(?:ly)? (?:end|eof|closed?)\b|\beof\b|goaway|http/?2 |websocket|no response",
        r"certificate|self[- ]signed|\bssl\b|\btls\b|request to \S{1,200} failed, reason:",
        r"\bsse\b|server-sent|streaming event|error reading (?:the )?(?:response|stream|body)",
        r"no response body|(?:has|with) no body",
        # What is left of a stream that was cut, in the words of V8 and JavaScriptCore
        r"(?:in|into|is not valid|parse|parsing) json\b|invalid (?:\w{1,12} ){0,3}json\b|after json\b",
        r"unterminated string|unexpected token|no number after minus|bad (?:control|escaped) character",
    ),
    statuses=frozenset({407, 408, 499}),
)

INVALID_REQUEST = Wording(
    FailureKind.INVALID_REQUEST,
    codes(
        "invalid_argument validationexception validation_error unsupported_parameter unsupported_value invalid_type"
        " invalid_value missing_required_parameter unknown_parameter bad_request badrequest unprocessable_entity"
        " invalid_parameter invalid_parameter_error invalid_image failed_precondition tool_use_failed 1210 1213 1214"
    ),
    words(
        r"bad request|unprocessable|validation error|malformed",
        r"invalid[ _](?:request|argument|param|value|type|input|schema|json|body|format|image|tool|function|role)",
        r"(?:unsupported|unknown|unrecognized|unexpected|extra) (?:\w{1,12} )?"
        r"(?:parameter|value|field|name|argument|role|input|key|property|content|type)",
        r"not support|unsupported|missing required|(?:is|are|field) required|not permitted|not allowed",
        r"must (?:be|have|contain|start|end|match|not|alternate)|roles must|cannot be modified",
        r"(?:could not|failed to|unable to|cannot) (?:parse|process|decode|read)",
        r"is too (?:large|long|small|short)|at most \d|max_(?:output_|completion_)?tokens",
        r"tool_(?:use|call|result)s?\b|expected\b.{0,80}?\b(?:got|but|found|received)",
    ),
    statuses=frozenset({400, 405, 406, 409, 411, 412, 415, 422}),
)
