import json
from types import SimpleNamespace
from typing import Any

import pytest

from lambdas.core.errors import InvalidRequest
from lambdas.core.intake.starts import MAX_REQUEST_BYTES, PageStart
from lambdas.handlers.reactions.start_from_schedule import handler, start_from_page, start_from_schedule
from lambdas.runtime.handler import BusEvent
from tests.lambdas.builders import request
from tests.lambdas.cloud import Cloud


def due(cloud: Cloud, document: Any, time: str = "2026-11-21T02:00:00Z", **more: str) -> dict[str, Any]:
    detail = {"schedule": "nightly", "scheduledTime": time, "request": document, **more}
    return start_from_schedule(
        BusEvent.from_document({"detail-type": "Scheduled Start", "detail": detail}), cloud.world
    )


def test_request_of_the_schedule_is_started_under_its_name_and_time() -> None:
    cloud = Cloud()
    answer = due(cloud, request())
    assert answer["origin"] == "schedule/nightly"
    assert answer["transferId"].startswith("nightly-2026-11-21T02-00-00Z-")
    assert cloud.executions.started == {answer["transferId"]: request()}


def test_run_that_comes_twice_starts_once_and_the_next_one_again() -> None:
    cloud = Cloud()
    due(cloud, request())
    due(cloud, request())
    assert len(cloud.executions.started) == 1
    due(cloud, request(), "2026-11-22T02:00:00Z")
    assert len(cloud.executions.started) == 2


def test_one_that_was_added_and_one_of_the_settings_of_the_same_name_both_start() -> None:
    cloud = Cloud()
    due(cloud, request())
    answer = due(cloud, request(), group="cpt-starts")
    assert answer["origin"] == "schedule/cpt-starts/nightly"
    assert answer["transferId"].startswith("nightly-2026-11-21T02-00-00Z-")
    assert len(cloud.executions.started) == 2


def test_request_that_cannot_work_is_told_by_event() -> None:
    cloud = Cloud()
    assert due(cloud, {})["error"] == "InvalidRequest"
    [(kind, detail)] = cloud.events.put_events
    assert (kind, detail["origin"]) == ("Request Refused", "schedule/nightly")
    assert cloud.executions.started == {}


TOKEN = "0123456789abcdef"


def clicked(cloud: Cloud, text: str | None, token: str = TOKEN) -> dict[str, Any]:
    return start_from_page(PageStart(token=token, request=text), cloud.world)


def test_click_starts_the_text_of_the_form_once_for_a_page_and_a_text() -> None:
    cloud, text = Cloud(), json.dumps(request(name="nightly"))
    answer = clicked(cloud, text)
    assert answer["transferId"] == "nightly"
    execution = answer["executionArn"].rsplit(":", 1)[-1]
    assert execution.startswith("nightly-")
    assert cloud.executions.started == {execution: request(name="nightly")}
    assert clicked(cloud, text) == answer
    assert len(cloud.executions.started) == 1
    clicked(cloud, text, "fedcba9876543210")
    clicked(cloud, json.dumps(request()))
    assert len(cloud.executions.started) == 3


def test_click_without_a_name_is_known_by_its_execution() -> None:
    answer = clicked(Cloud(), json.dumps(request()))
    assert answer["executionArn"].endswith(f":{answer['transferId']}")
    assert answer["transferId"].startswith("from-the-page-")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, r"\$: the text is empty; paste a transfer request"),
        ("{", r"\$: the text is not JSON in UTF-8 \(.*line 1 column 2.*\); write a transfer request"),
        ("[" * 200_000, r"\$: the text is not JSON in UTF-8 .*; write a transfer request"),
        ('"\ud800"', r"\$: .*; write a JSON object"),
        ("3", r"\$: 3 .*write a JSON object"),
        (" " * (MAX_REQUEST_BYTES + 1), f"\\$: the text has {MAX_REQUEST_BYTES + 1} bytes"),
        (json.dumps(request(chunkSizeMiB="4")), r"\$\.chunkSizeMiB: \"4\" .*; write MiB, a power of two"),
    ],
)
def test_click_with_what_cannot_work_says_field_value_and_what_would_be_right(text: str | None, told: str) -> None:
    cloud = Cloud()
    with pytest.raises(InvalidRequest, match=told):
        clicked(cloud, text)
    assert (cloud.executions.started, cloud.events.put_events) == ({}, [])


def test_click_is_answered_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = Cloud()
    monkeypatch.setattr("lambdas.runtime.handler.world", lambda **_: cloud.world)
    context: Any = SimpleNamespace(
        function_name="start",
        memory_limit_in_mb=512,
        invoked_function_arn="arn",
        aws_request_id="1",
        get_remaining_time_in_millis=lambda: 1000,
    )

    def told(text: str) -> str:
        event = {"token": TOKEN, "widgetContext": {"theme": "dark", "forms": {"all": {"request": text}}}}
        return str(handler(event, context))

    assert "&#39;nightly&#39; is started, as execution &#39;nightly-" in told(json.dumps(request(name="nightly")))
    assert "InvalidRequest: $: 123 is not valid; write a JSON object" in told(" 123 ")
    assert "$: the text is empty" in told("")
    assert len(cloud.executions.started) == 1
