"""Copies of what a list of keys names: nothing else is looked at, and what was copied is known by its checksums."""

import pytest

from lambdas.core.copies.outcome import NotCopied
from lambdas.core.ends.key_list import KeyEntry, list_key, written
from lambdas.core.errors import FilesSkipped
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.copies.notebook import Notebook
from lambdas.operations.copies.surveying import survey
from lambdas.operations.teardown import tear_down
from tests.lambdas.builders import ARN, WEST
from tests.lambdas.cloud import Cloud
from tests.lambdas.copied import cloud as new_cloud
from tests.lambdas.copied import copied, run, summary

AGAIN, THIRD = ARN.replace("first", "again"), ARN.replace("first", "third")


@pytest.fixture
def cloud() -> Cloud:
    return new_cloud()


def by_list(cloud: Cloud, keys: list[str], arn: str = ARN) -> AcceptedTransfer:
    """A surveyed transfer of these keys."""
    body = written(KeyEntry(key=f"a/{key}") for key in keys)
    cloud.objects.put(list_key(body), body)
    source = {"kind": "bucket", "bucket": "from", "prefix": "a/", "region": WEST, "keys": {"manifest": list_key(body)}}
    transfer = copied(cloud, arn, source=source)
    survey(cloud.world, transfer)
    cloud.buckets.count.clear()
    return transfer


def test_what_the_list_does_not_name_is_neither_listed_nor_copied(cloud: Cloud) -> None:
    for key in ("x/1", "x/2", "y", "z"):
        cloud.buckets.put(key, key)
    cloud.clock.sleep(5)
    run(cloud, by_list(cloud, ["x/2", "z"]))
    assert sorted(cloud.buckets.placed) == ["x/2", "z"]
    assert "list" not in cloud.buckets.count


def test_a_key_that_is_gone_is_named_and_the_others_are_copied(cloud: Cloud) -> None:
    cloud.buckets.put("y", "y")
    cloud.clock.sleep(5)
    transfer = by_list(cloud, ["x", "y", "z"])
    assert run(cloud, transfer) == {"verified": True, "files": 1}
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.unselected is not None
    assert record.unselected.counts == {"gone": 2}


def test_an_object_that_cannot_be_looked_at_is_left_out_by_name(cloud: Cloud) -> None:
    cloud.buckets.put("x", "x")
    cloud.buckets.put("y", "y")
    transfer = by_list(cloud, ["x", "y"])

    def denied() -> None:
        raise NotCopied("source-unreadable", "403: Forbidden")

    cloud.buckets.before["head", 1] = denied
    with pytest.raises(FilesSkipped, match=r"1 entry was left out"):
        run(cloud, transfer)
    left = list(Notebook(cloud.world, transfer).left())
    assert len(left) == 1
    assert b"403: Forbidden" in left[0]
    assert len(cloud.buckets.placed) == 1


def test_a_list_that_comes_again_copies_nothing(cloud: Cloud) -> None:
    cloud.buckets.put("x", "x")
    cloud.clock.sleep(5)
    run(cloud, by_list(cloud, ["x"]))
    run(cloud, by_list(cloud, ["x"], AGAIN))
    assert cloud.buckets.count["copy"] == 0
    assert "list" not in cloud.buckets.count


def test_an_object_that_was_replaced_while_it_was_copied_is_copied_when_it_comes(cloud: Cloud) -> None:
    """As long as before, and older than the copy: sizes and times would call it the same."""
    cloud.buckets.put("x", "old")
    cloud.clock.sleep(1)
    cloud.buckets.after["copy", 1] = lambda: cloud.buckets.put("x", "new")
    run(cloud, by_list(cloud, ["x"]))
    cloud.buckets.placed["x"].modified = cloud.clock.now() + 60
    cloud.clock.sleep(100)
    run(cloud, by_list(cloud, ["x"], AGAIN))
    assert cloud.buckets.placed["x"].content == "new"


def test_without_checksums_what_came_is_copied_again(cloud: Cloud) -> None:
    cloud.buckets.put("x", "x", has_checksum=False)
    run(cloud, by_list(cloud, ["x"]))
    cloud.buckets.placed["x"].has_checksum = False
    run(cloud, by_list(cloud, ["x"], AGAIN))
    assert cloud.buckets.count["copy"] == 1


def test_a_run_by_a_list_does_not_hide_what_a_run_of_all_has_noted(cloud: Cloud) -> None:
    for key in ("x", "y"):
        cloud.buckets.put(key, key)
    cloud.clock.sleep(5)
    run(cloud, copied(cloud))
    run(cloud, by_list(cloud, ["x"], AGAIN))
    # By size and time alone it would pass for the same.
    cloud.buckets.placed["y"].etag, cloud.buckets.placed["y"].content = '"foreign"', "foreign"
    run(cloud, copied(cloud, THIRD))
    assert cloud.buckets.placed["y"].content == "y"


def test_rounds_go_on_behind_the_last_key_of_the_list(cloud: Cloud) -> None:
    keys = [f"{number:05}" for number in range(2_500)]
    for key in keys:
        cloud.buckets.put(key, key)
    cloud.clock.sleep(5)
    transfer = by_list(cloud, keys[::2])
    run(cloud, transfer)
    # A round of 1 000 requests, and what is left.
    assert Notebook(cloud.world, transfer).position(2) is not None
    assert sorted(cloud.buckets.placed) == keys[::2]
    assert summary(cloud, transfer).objects == len(keys[::2])
    record = cloud.transfers.get("first")
    assert record is not None
    tear_down(cloud.world, record)
    assert not cloud.objects.keys(Notebook(cloud.world, transfer).list_of_keys)
