import json

from lambdas.handlers.reactions.sweep_execution import sweep_execution
from lambdas.runtime.handler import BusEvent
from tests.lambdas.builders import ARN
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import spawned


def stopped(status: str = "ABORTED") -> BusEvent:
    detail = {"executionArn": ARN, "status": status}
    return BusEvent.from_document({"detail-type": "Step Functions Execution Status Change", "detail": detail})


def test_stopped_execution_leaves_nothing_and_a_report() -> None:
    cloud = spawned(2)
    assert sweep_execution(stopped("TIMED_OUT"), cloud.world)["terminated"] == 4
    assert cloud.alive() == []
    report = json.loads(cloud.objects.objects["transfers/first/report.json"])
    assert (report["status"], report["error"]) == ("FAILED", "ExecutionTimedOut")
    assert cloud.transfers.active() == []


def test_report_says_why_the_execution_was_stopped_and_what_it_was_to_move() -> None:
    cloud = spawned(1)
    cloud.executions.stop(ARN, "Cancelled", "wrong directory ünï")
    sweep_execution(stopped(), cloud.world)
    report = json.loads(cloud.objects.objects["transfers/first/report.json"])
    assert (report["error"], report["cause"]) == (
        "ExecutionAborted",
        "the execution ended as ABORTED (Cancelled): wrong directory ünï",
    )
    record = cloud.transfers.get("first")
    assert record is not None
    assert report["request"] == record.transfer.request.to_document()
    page = cloud.objects.objects["transfers/first/report.html"].decode()
    assert "wrong directory ünï" in page
    assert "/data/set" in page
    assert "/restore" in page


def test_the_events_own_words_are_enough_where_step_functions_has_forgotten_the_execution() -> None:
    cloud = spawned(1)
    cloud.executions.statuses[ARN] = None
    event = stopped()
    event.detail.update(error="Cancelled", cause="no longer needed")
    sweep_execution(event, cloud.world)
    report = json.loads(cloud.objects.objects["transfers/first/report.json"])
    assert report["cause"] == "the execution ended as ABORTED (Cancelled): no longer needed"


def test_execution_that_cleaned_up_itself_needs_nothing() -> None:
    cloud = spawned(1)
    sweep_execution(stopped(), cloud.world)
    assert sweep_execution(stopped(), cloud.world) == {"swept": False}


def test_unknown_execution_needs_nothing() -> None:
    assert sweep_execution(stopped(), Cloud().world) == {"swept": False}
