from typing import Any

from lambdas.handlers.reactions.start_from_schedule import start_from_schedule
from lambdas.runtime.handler import BusEvent
from tests.lambdas.builders import request
from tests.lambdas.cloud import Cloud


def due(cloud: Cloud, document: Any, time: str = "2026-11-21T02:00:00Z") -> dict[str, Any]:
    detail = {"schedule": "nightly", "scheduledTime": time, "request": document}
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


def test_request_that_cannot_work_is_told_by_event() -> None:
    cloud = Cloud()
    assert due(cloud, {})["error"] == "InvalidRequest"
    [(kind, detail)] = cloud.events.put_events
    assert (kind, detail["origin"]) == ("Request Refused", "schedule/nightly")
    assert cloud.executions.started == {}
