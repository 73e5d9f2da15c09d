import json
from typing import Any

import pytest

from lambdas.core.errors import NoSuchTransfer, TransferRunning
from lambdas.handlers.calls.teardown_request import TeardownRequest, teardown_request
from tests.lambdas.builders import ARN
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import spawned


def ask(cloud: Cloud, **more: Any) -> dict[str, Any]:
    return teardown_request(TeardownRequest.from_document({"transferId": "first", **more}), cloud.world)


def test_transfer_that_runs_is_left_alone_unless_it_may_be_stopped() -> None:
    cloud = spawned(2)
    with pytest.raises(TransferRunning, match="'first' still runs"):
        ask(cloud)
    assert len(cloud.alive()) == 4
    found = ask(cloud, stop=True)
    assert (found["execution"], found["terminated"]) == ("stopped", 4)
    assert cloud.executions.statuses[ARN] == "ABORTED"
    assert cloud.alive() == []


@pytest.mark.parametrize("status", ["FAILED", None])
def test_transfer_whose_execution_is_over_or_gone_is_taken_down_and_reported(status: str | None) -> None:
    cloud = spawned(1)
    cloud.executions.statuses[ARN] = status
    found = ask(cloud)
    assert (found["execution"], found["terminated"]) == (status or "unknown", 2)
    assert cloud.alive() == []
    assert json.loads(cloud.objects.objects["transfers/first/report.json"])["error"] == "ExecutionGone"
    assert cloud.transfers.active() == []


def test_twice_is_as_good_as_once_and_the_report_stays() -> None:
    cloud = spawned(1)
    cloud.executions.statuses[ARN] = "FAILED"
    ask(cloud)
    written = cloud.objects.objects["transfers/first/report.json"]
    cloud.clock.time += 60
    assert ask(cloud)["terminated"] == 0
    assert cloud.objects.objects["transfers/first/report.json"] == written


def test_report_of_what_was_stopped_and_only_then_taken_down_says_why() -> None:
    cloud = spawned(1)
    cloud.executions.stop(ARN, "Cancelled", "wrong disk")
    ask(cloud)
    report = json.loads(cloud.objects.objects["transfers/first/report.json"])
    assert report["cause"] == "the execution is ABORTED (Cancelled): wrong disk; taken down"


def test_name_that_nobody_has_is_refused() -> None:
    with pytest.raises(NoSuchTransfer, match=r"\$\.transferId: there is no transfer 'first'"):
        ask(Cloud())
