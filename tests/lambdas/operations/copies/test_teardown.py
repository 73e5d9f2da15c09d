"""Uploads that are left: kept while a run may go on with them, and gone afterwards."""

from typing import NoReturn

import pytest

from lambdas.core.record import transfer_life
from lambdas.operations.teardown import tear_down
from tests.lambdas.builders import ARN
from tests.lambdas.cloud import Cloud
from tests.lambdas.copied import cloud as new_cloud
from tests.lambdas.copied import copied, copy_unit, next_round, run
from tests.lambdas.operations.copies.test_copying import LARGE, PARTS, Killed

AGAIN = ARN.replace("first", "again")


def killed() -> NoReturn:
    raise Killed


def taken_down(cloud: Cloud, name: str = "first") -> dict[str, int]:
    record = cloud.transfers.get(name)
    assert record is not None
    return tear_down(cloud.world, record)


@pytest.fixture
def cloud() -> Cloud:
    """One large object, of whose upload a killed function has left some parts."""
    cloud = new_cloud()
    cloud.buckets.put("x", "x", LARGE)
    cloud.buckets.before["part", 9] = killed
    transfer = copied(cloud)
    with pytest.raises(Killed):
        copy_unit(cloud.world, transfer, next_round(cloud, transfer))
    return cloud


def test_an_upload_stays_after_a_run_that_failed_and_the_next_one_goes_on_with_it(cloud: Cloud) -> None:
    assert taken_down(cloud)["abortedUploads"] == 0
    assert len(cloud.buckets.open) == 1
    before = cloud.buckets.count["part"]
    transfer = copied(cloud, AGAIN)
    assert run(cloud, transfer) == {"verified": True, "files": 1}
    assert cloud.buckets.count["part"] - before < PARTS
    assert cloud.buckets.count["begin"] == 1
    assert taken_down(cloud, "again")["abortedUploads"] == 0
    assert cloud.buckets.open == {}


def test_an_upload_that_a_successful_run_does_not_need_is_aborted_at_once(cloud: Cloud) -> None:
    taken_down(cloud)
    del cloud.buckets.here["x"]
    run(cloud, copied(cloud, AGAIN))
    assert taken_down(cloud, "again")["abortedUploads"] == 1
    assert cloud.buckets.open == {}


@pytest.mark.parametrize("at", ["before its note has the id", "after"])
def test_who_takes_a_transfer_down_once_more_discards_its_uploads(
    cloud: Cloud, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if at != "after":
        key = next(key for key in cloud.objects.objects if "/uploads/" in key)
        without_id = cloud.objects.objects[key].replace(b'"upload-1"', b"null")
        monkeypatch.setitem(cloud.objects.objects, key, without_id)
    taken_down(cloud)
    record = cloud.transfers.get("first")
    assert record is not None
    cloud.transfers.change(record.transfer, transfer_life.close("FAILED"))
    assert taken_down(cloud)["abortedUploads"] == 1
    assert cloud.buckets.open == {}
    assert [key for key in cloud.objects.objects if "/uploads/" in key] == []


def test_nothing_of_a_run_is_left_but_what_the_next_one_reads(cloud: Cloud) -> None:
    transfer = copied(cloud, AGAIN)
    run(cloud, transfer)
    taken_down(cloud, "again")
    own = [key.split("/")[3] for key in cloud.objects.objects if transfer.plan_id in key]
    assert set(own) == {"done", "sums", "position"}
    assert [key for key in cloud.objects.objects if "/uploads/" in key] == []
