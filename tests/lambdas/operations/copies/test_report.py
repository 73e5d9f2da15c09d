"""The report of copies, and who is told."""

import json
from typing import Any

import pytest

from lambdas.core.transfer.failure import Failure
from lambdas.operations.report import reporting
from lambdas.operations.teardown import tear_down
from tests.lambdas.cloud import Cloud
from tests.lambdas.copied import cloud as new_cloud
from tests.lambdas.copied import copied, run
from tests.lambdas.operations.copies.test_copying import LARGE


@pytest.fixture
def cloud() -> Cloud:
    return new_cloud()


def reported(cloud: Cloud, failure: Failure | None = None, *, verified: bool = True) -> dict[str, Any]:
    record = cloud.transfers.get("first")
    assert record is not None
    tear_down(cloud.world, record)
    record = cloud.transfers.get("first")
    assert record is not None
    report = reporting.write(cloud.world, record, failure, verified=verified)
    assert report is not None
    assert json.loads(cloud.objects.objects["transfers/first/report.json"]) == report.to_document()
    return report.to_document()


def test_a_report_says_what_was_copied_what_proved_it_and_what_it_cost(cloud: Cloud) -> None:
    cloud.buckets.put("x", "x", LARGE)
    cloud.buckets.put("y", "y", has_checksum=False)
    cloud.buckets.after["part", 3] = lambda: cloud.clock.sleep(8)
    transfer = copied(cloud)
    answer = run(cloud, transfer)
    found = reported(cloud, verified=answer["verified"])
    assert (found["status"], found["verified"], found["files"], found["bytes"]) == ("SUCCEEDED", False, 2, LARGE + 3)
    assert found["copies"]["proofs"] == {"CRC64NVME": 1, "none": 1}
    assert found["seconds"]["transfer"] == 8.0
    assert found["rateMBps"] == pytest.approx(LARGE / 8e6, rel=1e-3)
    requests = 16 + 1 + 1 + 1 + found["copies"]["requests"]["list"]
    own = requests * 5e-6 + 2 * 0.4e-6 + found["copies"]["transitions"] * 25e-6 + 8 * 0.0000166667
    assert found["cost"]["controlPlane"] == pytest.approx(own, rel=1e-3)
    assert found["cost"]["egress"] == pytest.approx((LARGE + 3) / 1e9 * 0.02, rel=1e-3)
    assert found["cost"]["total"] == pytest.approx(found["cost"]["controlPlane"] + found["cost"]["egress"])
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.closed
    assert [kind for kind, _ in cloud.events.put_events][-1] == "Transfer Finished"


def test_what_is_left_out_is_in_the_report_by_name(cloud: Cloud) -> None:
    cloud.buckets.put("x", "x")
    cloud.buckets.put("y", "y")
    cloud.buckets.before["head", 1] = lambda: cloud.buckets.here.pop("y")
    run(cloud, copied(cloud, onProblem="skip"))
    found = reported(cloud)
    assert (found["status"], found["verified"], found["files"]) == ("SUCCEEDED_WITH_SKIPS", False, 1)
    (first,) = found["skipped"]["first"]
    assert (first["path"], first["reason"], first["message"]) == ("y", "source-changed", "it is gone")


def test_the_report_of_a_transfer_that_failed_says_why(cloud: Cloud) -> None:
    cloud.buckets.put("x", "x")
    copied(cloud)
    found = reported(cloud, Failure(error="SurveyProblem", cause="no"))
    assert (found["status"], found["error"], found["files"]) == ("FAILED", "SurveyProblem", 0)


def test_the_page_of_a_report_can_be_opened(cloud: Cloud) -> None:
    cloud.buckets.put("x", "x")
    run(cloud, copied(cloud))
    reported(cloud)
    assert b"</html>" in cloud.objects.objects["transfers/first/report.html"]
