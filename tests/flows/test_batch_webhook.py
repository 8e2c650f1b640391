"""Telling of a batch's end: signed, tried again where that may help, and never the batch's own failure."""

from __future__ import annotations

import hashlib
import hmac
import json

import httpx
import pytest

from atomic.settings.facts import WebhookSettings
from flows.batch import BatchResult, Ending
from flows.batch.webhook import SIGNATURE, TRIES, send, wanted
from tests.flows.batches import Batch, batch  # noqa: F401 - a fixture

SETTINGS = WebhookSettings(url="http://hooks.test/end?token=hidden", secret="s3cret-key")
RESULT = BatchResult(batch="nightly", edition="monday", ending=Ending.FINISHED, total=2, answered=2)


class Receiver:
    """Answers with these status codes, one after another, or raises."""

    def __init__(self, *answers: int | Exception) -> None:
        self.requests: list[httpx.Request] = []
        self.pauses: list[float] = []
        self._answers = list(answers)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._answers[min(len(self.requests), len(self._answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer)

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    async def told(self, settings: WebhookSettings = SETTINGS) -> str | None:
        return await send(settings, RESULT, transport=httpx.MockTransport(self), sleep=self.sleep)


async def test_what_is_sent_can_be_verified() -> None:
    receiver = Receiver(204)
    assert await receiver.told() is None
    (request,) = receiver.requests
    expected = hmac.new(b"s3cret-key", request.content, hashlib.sha256).hexdigest()
    assert request.headers[SIGNATURE] == f"sha256={expected}"
    sent = json.loads(request.content)
    assert (sent["event"], sent["batch"], sent["answered"], sent["exit_code"]) == ("batch.ended", "nightly", 2, 0)


async def test_without_a_secret_nothing_is_signed() -> None:
    receiver = Receiver(200)
    await receiver.told(WebhookSettings(url="http://hooks.test"))
    assert SIGNATURE not in receiver.requests[0].headers


@pytest.mark.parametrize("first", [500, 429, httpx.ConnectError("no route"), httpx.ReadTimeout("late")])
async def test_what_may_pass_is_tried_again(first: int | Exception) -> None:
    receiver = Receiver(first, first, 200)
    assert await receiver.told() is None
    assert len(receiver.requests) == 3
    assert receiver.pauses == sorted(receiver.pauses)
    assert len({request.content for request in receiver.requests}) == 1


async def test_what_will_not_pass_is_not() -> None:
    receiver = Receiver(404)
    said = await receiver.told()
    assert said is not None
    assert "404" in said
    assert len(receiver.requests) == 1


async def test_a_dead_receiver_is_given_up_and_its_address_kept_private() -> None:
    receiver = Receiver(httpx.ConnectError("http://hooks.test/end?token=hidden"))
    said = await receiver.told()
    assert said is not None
    assert "hidden" not in said
    assert len(receiver.requests) == TRIES


async def test_a_url_that_is_none_is_no_error_either() -> None:
    assert "cannot be used" in str(await send(WebhookSettings(url="nowhere://[:"), RESULT))


@pytest.mark.parametrize(
    ("when", "failed", "is_wanted"), [("end", 0, True), ("failure", 0, False), ("failure", 1, True)]
)
def test_who_wants_only_failures_hears_only_of_those(when: str, failed: int, is_wanted: bool) -> None:
    settings = WebhookSettings.model_validate({"url": "http://hooks.test", "when": when})
    assert wanted(settings, RESULT.model_copy(update={"failed": failed})) is is_wanted
    assert not wanted(WebhookSettings(), RESULT)


async def test_a_batch_whose_receiver_is_dead_ends_as_it_would(
    batch: Batch,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ATOMIC_FLOWS_WEBHOOK__URL", "http://127.0.0.1:9/end")
    monkeypatch.setattr("flows.batch.webhook.FIRST_PAUSE", 0)
    batch.write([("a", "x/ok")])
    result = await batch.run()
    assert result.exit_code == 0
    assert any("webhook" in warning for warning in result.warnings)
