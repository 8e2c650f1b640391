"""The form that takes the token and sets the cookie: a page of plain HTML, which needs no script."""

from __future__ import annotations

from html import escape
from urllib.parse import parse_qs, quote, urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from flows.dashboard.guard import COOKIE, LOGIN, cookie_value, fits
from flows.dashboard.static import style_sheet

LARGEST = 4096  # bytes of a form with one field
KEPT = 30 * 24 * 3600  # seconds for which a browser keeps the cookie

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Log in · atomic-flows</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="{style}"></head>
<body><main class="login"><h1>atomic-flows</h1>
<form method="post" action="{action}"><label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus{invalid}>
{message}<button type="submit">Log in</button></form></main></body></html>
"""


def login_router(token: str | None) -> APIRouter:
    """The routes of the form. Without a token it leads on at once."""
    router = APIRouter()

    @router.get(LOGIN)
    async def ask(request: Request) -> Response:
        target = local_path(request.query_params.get("next"))
        return RedirectResponse(target, 303) if token is None else _page(target)

    @router.post(LOGIN)
    async def take(request: Request) -> Response:
        target = local_path(request.query_params.get("next"))
        form = parse_qs((await _body(request)).decode("utf-8", "replace"))
        if token is None or not fits(form.get("token", [""])[0], token):
            return _page(target, wrong=True)
        response = RedirectResponse(target, 303)
        secure = request.url.scheme == "https"
        response.set_cookie(COOKIE, cookie_value(token), KEPT, httponly=True, samesite="strict", secure=secure)
        return response

    return router


def local_path(text: str | None) -> str:
    """The path that a login leads on to: one of ours, or the front page."""
    if not text or not text.startswith("/") or text.startswith(("//", "/\\")) or not text.isprintable():
        return "/"
    parts = urlsplit(text)
    return "/" if parts.scheme or parts.netloc or "\\" in text else text


async def _body(request: Request) -> bytes:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST:
            return b""
    return body


def _page(target: str, *, wrong: bool = False) -> HTMLResponse:
    message = '<p id="wrong" role="alert">That is not the token.</p>\n' if wrong else ""
    page = _PAGE.format(
        style=escape(style_sheet()),
        action=escape(f"{LOGIN}?next={quote(target, safe='')}"),
        invalid=' aria-invalid="true" aria-describedby="wrong"' if wrong else "",
        message=message,
    )
    return HTMLResponse(page, 401 if wrong else 200)
