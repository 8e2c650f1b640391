"""Access: the credential, what is allowed to be asked, the model."""

from __future__ import annotations

from atomic.failures.kinds import FailureKind
from atomic.failures.wordings.wording import Wording, codes, words

AUTH = Wording(
    FailureKind.AUTH,
    codes(
        "invalid_api_key authentication_error permission_error permission_denied unauthorized unauthenticated"
        " invalid_authentication_error authenticationerror permissiondenied access_denied accessdeniedexception"
        " unrecognizedclientexception expiredtokenexception expiredtoken invalidsignatureexception"
        " incompletesignature missingauthenticationtokenexception credentialsprovidererror token_expired"
        " token_invalidated token_revoked invalid_grant invalid_token api_key_invalid account_deactivated"
        " unsupported_country_region_territory"
    ),
    words(
        r"(?:invalid|incorrect|wrong|missing|bad|expired|malformed|disabled|revoked|no|unknown|illegal)\b"
        r".{0,12}?\bapi[ _-]?keys?\b",
        r"\bapi[ _-]?key\b.{0,60}?\b(?:invalid|not valid|incorrect|expired|missing|required|not found|revoked|disabled"
        r"|leaked|not set|not provided|not authorized|does not have)",
        r"\bunauthori[sz]ed\b|\bunauthenticated\b|\bnot authori[sz]ed\b|\bforbidden\b|\baccess denied\b",
        r"authentication (?:fail|error|required|parameter|token|credential)|failed to authenticate",
        r"no (?:\w{1,10} )?auth credentials",
        r"(?:invalid|expired|missing)\b.{0,20}?\b(?:bearer|access|auth|authentication|authorization|security)"
        r" (?:token|credentials?)",
        r"(?:invalid|expired|missing|no) (?:token|credentials?|x-api-key)\b(?! in)",
        r"(?:oauth|access|refresh|auth|authentication|bearer|security|session|id) ?token\b"
        r".{0,60}?\b(?:expired|invalid|invalidated|revoked|missing)",
        r"token (?:is|has|was) (?:expired|revoked|invalid)|invalid_grant|failed to refresh",
        r"token (?:refresh|exchange)(?: request)? (?:failed|aborted|unauthorized|rejected)|session expired",
        r"credentials?\b.{0,40}?\b(?:not found|missing|expired|invalid|could not be loaded|only authorized)",
        r"could not (?:load|resolve|validate|find|get)\b.{0,30}?\b(?:credential|authentication)",
        r"signature we calculated|not logged in|log ?in again|use /login",
        r"(?:please|must) (?:re-?)?(?:log ?in|sign in|authenticate)",
        r"permissions?\b.{0,120}?\bdenied|(?:not|n't) have (?:the )?(?:\w{1,12} )?permissions?",
        r"(?:organization|account|user|key)\b.{0,30}?\b(?:has been|is|was) (?:disabled|deactivated|banned|suspended)",
        r"(?:country|region|territory|location)\b.{0,40}?\bnot supported",
        r"身份验证|鉴权|无效的令牌",
    ),
    statuses=frozenset({401, 403}),
    # The key is good, but not for this model: another model of the same provider may do.
    unless=words(r"access to (?:the |this |that )?(?:\w{1,12} )?model", r"model_not_found", r"access to it\b"),
)

REFUSAL = Wording(
    FailureKind.REFUSAL,
    codes(
        "content_filter content_filtered content_policy_violation content_blocked safety recitation prohibited_content"
        " blocklist spii image_safety refusal sensitive responsibleaipolicyviolation data_inspection_failed moderation"
        " guardrail_intervened invalid_prompt cyber_policy_violation policy_violation 1026 1027 1301"
    ),
    words(
        r"content[ _-]?(?:filter|policy|policies|moderation|management|safety)",
        r"(?:finish|stop|block)[ _-]?reason\W{0,4}"
        r"(?:safety|recitation|prohibited|blocklist|spii|refusal|sensitive|image_safety)",
        r"(?:blocked|stopped|filtered|flagged|rejected|declined|refused)\b.{0,60}?"
        r"\b(?:safety|policy|policies|moderation|harmful|unsafe|prohibited|guardrail|violat)",
        r"violat\w{0,6}\b.{0,80}?\b(?:policy|policies|guidelines|terms)",
        r"usage polic(?:y|ies)|safety (?:system|filter|policy|reasons)",
        r"(?:model|provider|assistant|claude) (?:has )?(?:refused|declined)",
        r"refus(?:ed|es) to (?:answer|respond|complete|comply)",
        r"(?:inappropriate|prohibited|sensitive|unsafe|harmful|copyrighted) (?:content|material|words?|information)",
        r"(?:prompt|input|response|output|request) (?:was |has been |is )?(?:blocked|flagged)|guardrail",
        r"prohibited_content|\brecitation\b",
        r"敏感|违规|不安全",
    ),
    statuses=frozenset({451}),
)

MODEL_UNAVAILABLE = Wording(
    FailureKind.MODEL_UNAVAILABLE,
    codes(
        "model_not_found model_not_available model_not_supported model_not_allowed unsupported_model invalid_model"
        " model_deprecated model_decommissioned model_access_denied deploymentnotfound not_found_error modelerror"
        " resourcenotfoundexception not_found 1211 1311"
    ),
    words(
        r"\bmodels?\b.{0,160}?(?:\bnot found|\bdoes(?: not|n't) exist|\bnot exist|deprecated|decommissioned|\bretired"
        r"|discontinued|\bend of life|\bno longer (?:available|supported)"
        r"|\bis not (?:a )?(?:valid|available|supported|accessible|enabled|allowed)"
        r"|\bnot (?:supported|available) (?:for|in|on|by|with your)"
        r"|\b(?:is|has been|was) (?:removed|disabled|shut ?down|sunset))",
        r"(?:unknown|invalid|unsupported|unrecognized|no such|nonexistent) model\b(?! (?:parameter|output|response))",
        r"model (?:identifier|id|name|code)\b.{0,40}?\binvalid|not a valid model|model not exist",
        r"no (?:endpoints?|allowed providers|available \w{1,12}|deployments?)\b"
        r".{0,60}?(?:\bmodel|found|available|support)",
        r"not found for (?:provider|api version)|deployment\b.{0,60}?(?:does not exist|not found)",
        r"(?:not|n't) have access to (?:the |this |that )?(?:\w{1,12} )?model|access to the model\b",
        r"does not include access",
        r"(?:on-demand throughput|inference profile)\b.{0,60}?(?:isn'?t|not) supported|with on-demand throughput",
        r"no models? loaded|failed to load model|try pulling it|model requires more (?:system )?memory",
        r"模型不存在|无可用渠道",
    ),
    statuses=frozenset({404, 410}),
    unless=words(r"(?:temporarily|currently) (?:not available|unavailable|disabled)"),
)
