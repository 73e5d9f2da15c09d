"""Requests with buckets at both ends: accepted without a machine, held apart by the destination's prefix."""

from typing import Any

import pytest

from lambdas.core.errors import DestinationBusy, InvalidRequest, NoSuchTransfer
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.handlers.calls.estimate_request import EstimateRequest, estimate_request
from lambdas.handlers.states.tear_down import TearDownInput, tear_down
from lambdas.handlers.states.validate_request import ValidateInput, validate_request
from lambdas.operations import sweeping
from tests.lambdas.builders import IRELAND, WEST
from tests.lambdas.cloud import Cloud
from tests.lambdas.copied import bucket_request
from tests.lambdas.copied import cloud as new_cloud
from tests.lambdas.copied import run as run_copies


def validate(cloud: Cloud, name: str = "first", execution: str | None = None, **changes: Any) -> AcceptedTransfer:
    arn = f"arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:{execution or name}"
    event = {"request": bucket_request(name=name, **changes), "executionArn": arn, "executionName": name}
    return validate_request(ValidateInput.from_document({**event, "startedAt": "1970-01-01T00:16:40.5Z"}), cloud.world)


def torn_down(cloud: Cloud, transfer: AcceptedTransfer) -> None:
    event = {"transfer": transfer.to_document(), "executionArn": transfer.execution_arn}
    tear_down(TearDownInput.from_document(event), cloud.world)


def test_a_transfer_between_buckets_has_no_seat_and_no_relay() -> None:
    cloud = new_cloud()
    transfer = validate(cloud)
    assert (transfer.senders, transfer.receivers, transfer.seats) == ([], [], ())
    assert AcceptedTransfer.from_document(transfer.to_document()) == transfer
    assert transfer.errand.copies


@pytest.mark.parametrize(
    "changes",
    [
        {"source": {"kind": "bucket", "bucket": "from", "prefix": "a/", "region": IRELAND}},
        {"source": {"kind": "bucket", "bucket": "others", "region": WEST}},
        {"destination": {"kind": "bucket", "bucket": "from", "prefix": "b/", "region": WEST}},
    ],
)
def test_what_the_settings_do_not_allow_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        validate(new_cloud(), **changes)


def test_two_transfers_into_prefixes_that_overlap_are_kept_apart_until_the_first_is_over() -> None:
    cloud = new_cloud()
    first = validate(cloud)
    below = {"kind": "bucket", "bucket": "into", "prefix": "b/c/", "region": IRELAND}
    beside = {"kind": "bucket", "bucket": "into", "prefix": "bb/", "region": IRELAND}
    with pytest.raises(DestinationBusy):
        validate(cloud, "second", destination=below)
    validate(cloud, "third", destination=beside)
    torn_down(cloud, first)
    validate(cloud, "fourth", destination=below)


def test_a_transfer_that_was_aborted_is_taken_down_reported_and_resumed_under_its_name() -> None:
    cloud = new_cloud()
    cloud.buckets.put("x", "x")
    first = validate(cloud)
    record = cloud.transfers.get("first")
    assert record is not None
    sweeping.end(cloud.world, record, "ABORTED")
    ended = cloud.transfers.get("first")
    assert ended is not None
    assert (ended.status, ended.closed) == ("FAILED", True)
    second = validate(cloud, execution="later", resume=True)
    assert (second.run, second.plan_id == first.plan_id) == (2, False)
    assert run_copies(cloud, second) == {"verified": True, "files": 1}
    with pytest.raises(NoSuchTransfer):
        validate(cloud, "unknown", resume=True)


def test_an_estimate_has_no_rows_of_relays_and_says_what_the_copies_take() -> None:
    asked = {"request": bucket_request(), "sizeBytes": 10**9, "files": 1_000_000}
    with pytest.raises(InvalidRequest, match=r"1,000,000 objects, 1 GB, take \$5.42 and .* a dry run"):
        estimate_request(EstimateRequest.from_document(asked), new_cloud().world)
