"""The outermost layer: lets in what the guard allows, and tells browsers how strictly to take our pages."""

from __future__ import annotations

import secrets
from urllib.parse import quote

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flows.dashboard.guard import LOGIN, REASONS, STATIC, Decision, Rules, Visit, decide

# Vue compiles its templates in the browser, which is what 'unsafe-eval' is for: no inline script runs without the
# nonce of its page, none comes from elsewhere. Quasar sets styles of single elements.
_POLICY = (
    "default-src 'self'; script-src 'self' 'nonce-{nonce}' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with none at all, our own form would come without its origin
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_LIBRARY = "/_nicegui/"  # scripts and styles of NiceGUI's, of a version each
_DROPPED = {b"x-forwarded-prefix"}  # NiceGUI puts it into its pages


class Doors:
    """ASGI middleware around everything."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self.app = app
        self.rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request in, or answer it here."""
        kind = scope["type"]
        if kind not in {"http", "websocket"}:
            await self.app(scope, receive, send)
            return
        scope["headers"] = [(name, value) for name, value in scope["headers"] if name not in _DROPPED]
        decision = decide(Visit.of(kind, scope.get("method", "GET"), scope["path"], scope["headers"]), self.rules)
        out = _Strict(send, scope["path"]) if kind == "http" else send
        if decision is Decision.ALLOW:
            await self.app(scope, receive, out)
        elif kind == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": REASONS[decision][1]})
        else:
            await _refusal(decision, scope)(scope, receive, out)


class _Strict:
    """Adds our headers to a response. A page is held until it is whole, and its own scripts get their nonce: whatever
    else a page holds is data in which no tag is left."""

    def __init__(self, send: Send, path: str) -> None:
        self.send = send
        self.keep = path.startswith((_LIBRARY, STATIC))
        self.nonce = secrets.token_urlsafe(16)
        self.start: Message | None = None
        self.body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(_HEADERS)
            headers["Content-Security-Policy"] = _POLICY.format(nonce=self.nonce)
            if not self.keep:
                headers["Cache-Control"] = "no-store"
            if headers.get("content-type", "").startswith("text/html"):
                self.start = message
                return
        elif message["type"] == "http.response.body" and self.start is not None:
            self.body += message.get("body", b"")
            if message.get("more_body", False):
                return
            page = self.body.replace(b"<script", b'<script nonce="%s"' % self.nonce.encode())
            MutableHeaders(scope=self.start)["Content-Length"] = str(len(page))
            await self.send(self.start)
            message = {"type": "http.response.body", "body": page}
            self.start = None
        await self.send(message)


def _refusal(decision: Decision, scope: Scope) -> Response:
    status, reason = REASONS[decision]
    wants_page = any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])
    if decision is Decision.LOGIN and scope["method"] == "GET" and wants_page:
        query = f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else ""
        return RedirectResponse(f"{LOGIN}?next={quote(scope['path'] + query, safe='')}", 303)
    return PlainTextResponse(reason + "\n", status)
