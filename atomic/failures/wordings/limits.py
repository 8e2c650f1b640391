"""Limits: of the context, of the plan, of the rate."""

from __future__ import annotations

from atomic.failures.kinds import FailureKind
from atomic.failures.wordings.wording import LONG_LIMITS, SHORT_LIMITS, Wording, codes, words

OVERFLOW = Wording(
    FailureKind.OVERFLOW,
    codes(
        "context_length_exceeded context_window_exceeded model_context_window_exceeded contextwindowexceedederror"
        " request_too_large prompt_too_long input_too_long exceed_context_size_error tokens_limit_reached"
        " model_max_prompt_tokens_exceeded max_prompt_tokens_exceeded payload_too_large string_above_max_length 1261"
    ),
    words(
        r"context[ _-]?(?:length|window|size|limit)\b.{0,60}?(?:exceed|too (?:long|large|small)|overflow|is full)",
        r"(?:exceed\w{0,3}|outside|beyond|(?:larger|longer|greater|more) than|over|ran out of \w{1,10} in)\b"
        r".{0,80}?\bcontext[ _-]?(?:length|window|size|limit)",
        r"max(?:imum)? context (?:length|size|window)",
        r"\bcontext overflow",
        r"(?:prompt|input|request|conversation|messages?)(?: \w{1,6})? too (?:long|large)\b",
        r"prompt exceeds",
        r"max(?:imum)? (?:allowed )?(?:prompt|input) (?:length|size|tokens?)\b",
        r"(?:prompt|input) tokens?\b.{0,60}?\bexceed",
        r"token count\b.{0,80}?\bexceed",
        r"exceed\w{0,3}\b.{0,60}?\bnumber of (?:input )?tokens",
        r"exceed\w{0,3}\b.{0,60}?\b(?:input|prompt|model)(?:'s)? token limit",
        r"token limit exceeded",
        r"number of tokens\b.{0,60}?\bexceed",
        r"tokens?\b.{0,40}?\bexceeds? the limit of \d",
        r"reduce the (?:length|size) of (?:the|your) (?:messages?|prompt|input|request)",
        r"shorten your (?:prompt|input|messages?)",
        r"range of input length should be",
        r"too large for model with",
        r"longer than the model'?s context",
        r"too many (?:input |prompt |total )?tokens\b",
        r"prompt has \d[\d,]{0,12} tokens",
        r"\bn_ctx\b",
        r"tokens to keep from the initial prompt",
        r"(?:request|payload|content|body)(?: entity| body)? too large",
        r"request exceeds the maximum size",
        # vLLM and OpenAI's Responses, when the input leaves nothing for the output
        r"max_(?:completion_)?tokens must be at least 1, got -",
        r"max_output_tokens.{0,60}?integer below minimum",
        # Atomic's own check of the context after tools have run
        r"post-tool context (?:remains over|compaction failed)",
    ),
    strong_statuses=frozenset({413}),
    unless=words(
        r"\brate[ _-]?limit",
        r"too many requests",
        r"throttl",
        r"please wait",
        r"to increase, visit",  # OpenRouter: the balance, not the window, bounds the prompt
        *SHORT_LIMITS,
        *LONG_LIMITS,
    ),
    # A single request above the limit by the minute never passes, however long one waits: it has to be smaller.
    even_if=words(r"request too large\b.{0,400}?\brequested\b"),
)

QUOTA = Wording(
    FailureKind.QUOTA,
    codes(
        "insufficient_quota quota_exceeded quota_exhausted usage_limit_reached usage_limit_exceeded usage_not_included"
        " insufficient_credits insufficient_balance insufficient_funds credit_balance_too_low out_of_credits"
        " payment_required billing_hard_limit_reached billing_not_active billing_error budget_exceeded"
        " key_limit_exceeded exceeded_current_quota_error spend_limit_reached token_quota_exceeded"
        " request_quota_exceeded arrearage servicequotaexceededexception gousagelimiterror freeusagelimiterror"
        " creditserror exceededbudget subscription_sharing_usage_limit_exceeded"
        " subscription_sharing_workplace_individual_usage_limit_exceeded 1113 1304 1308 1309 1310 1316 2056"
    ),
    words(
        r"(?:exceed\w{0,3}|exhausted|insufficient|out of|over|reached|used up|no)\b.{0,40}?(?<!check )\bquotas?\b",
        r"\bquotas?\b.{0,40}?\b(?:exceeded|exhausted|reached|used up|depleted|will reset|insufficient)",
        r"insufficient.{0,20}?(?:credit|balance|fund)",
        r"(?:credit|account) balance\b.{0,30}?(?:low|insufficient|exhausted|negative)",
        r"balance is (?:not enough|insufficient|too low)",
        r"(?:out of|no|any|more|all available|enough) credits?\b",
        r"credits? (?:limit|exhausted|depleted|required|ran out|have run out|are used up)",
        r"only afford|purchased credits|to increase, visit",
        r"billing (?:hard |soft )?limit",
        r"billing (?:details|account|issue|is|to be|has|not)",
        r"payment (?:is )?(?:required|method)",
        r"usage[ _]limits?\b",
        r"(?:hit|reached|exceeded) your (?:\w{1,12} ){0,4}(?:limit|allowance|cap)\b",
        r"limits? exhausted",
        r"(?:session|weekly|monthly|daily|hourly|hour|opus|plan|subscription) "
        r"(?:usage |call |request |token |message )?(?:limit|quota|cap|allowance)s?\b",
        r"spend(?:ing)? (?:limit|cap)",
        r"out of budget|budget (?:has been |is |was )?exceeded|key limit exceeded",
        r"premium (?:model |request )(?:allowance|quota|limit)|out of premium requests",
        r"extra usage|usage allowance|in good standing|overdue",
        r"suspended.{0,80}?(?:balance|billing|recharge|spending|invoice)",
        r"top ?up your|recharge (?:your|the) account",
        r"(?:trial|package|plan|subscription)\b.{0,20}?\b(?:has )?(?:expired|ended)|no active subscription",
        r"余额不足|欠费|额度|充值|用量上限|使用上限",
        *LONG_LIMITS[:-1],
    ),
    strong_statuses=frozenset({402}),
    unless=words(*SHORT_LIMITS),
    # One text may list several limits: while one by the day is used up, waiting a minute does not help.
    even_if=words(*LONG_LIMITS),
)

RATE_LIMIT = Wording(
    FailureKind.RATE_LIMIT,
    codes(
        "rate_limit_exceeded rate_limit_error rate_limited rate_limit rate_limit_reached rate_limit_reached_error"
        " ratelimitreached ratelimiterror too_many_requests toomanyrequests throttlingexception throttling"
        " toomanyrequestsexception resource_exhausted resourceexhausted slow_down limit_requests limit_burst_rate"
        " concurrency_limit_exceeded request_limit_exceeded 1302 1303 1305 1313"
    ),
    words(
        r"\brate[ _-]?limit",
        r"\brate (?:has been )?exceeded|exceeded the rate|rate increased too quickly",
        r"too many (?:concurrent |simultaneous |parallel )?(?:requests|connections)",
        r"throttl|slow down|too frequent|high frequency|request frequency",
        r"resource (?:has been )?exhausted",
        r"(?:requests|tokens|quota|limit|calls)\b.{0,80}?per[ _-]?(?:minute|min|second|sec)(?![a-z])",
        r"per[ _-]?(?:minute|min|second|sec)\b.{0,20}?(?:limit|quota)",
        r"perminute|persecond|\b[rt]pm\b",
        r"quota will reset (?:after|in) \d",
        r"concurren(?:t|cy)\b.{0,60}?(?:limit|request|exceed|reached)",
        r"(?:limit|high|maximum)\b.{0,40}?concurren",
        r"too many tokens, please wait",
        r"速率限制|请求过于频繁|并发|限流|频率",
    ),
    strong_statuses=frozenset({429}),
)
