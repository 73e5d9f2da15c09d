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


def test_execution_that_cleaned_up_itself_needs_nothing() -> None:
    cloud = spawned(1)
    sweep_execution(stopped(), cloud.world)
    assert sweep_execution(stopped(), cloud.world) == {"swept": False}


def test_unknown_execution_needs_nothing() -> None:
    assert sweep_execution(stopped(), Cloud().world) == {"swept": False}
