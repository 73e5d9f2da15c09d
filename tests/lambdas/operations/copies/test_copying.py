"""Units: what is lost, killed, replaced, or done twice."""

from collections.abc import Callable
from threading import Event
from typing import Any, NoReturn

import pytest

from lambdas.core.copies.outcome import UploadGone
from lambdas.core.copies.parts import GIB, MIB
from lambdas.core.errors import FilesSkipped, Throttled, TransferFenced
from lambdas.core.record import transfer_life
from tests.lambdas.cloud import Cloud
from tests.lambdas.copied import cloud as new_cloud
from tests.lambdas.copied import copied, copy_round, copy_unit, next_round, results, run, summary

LARGE = 2 * GIB
PARTS = 16


@pytest.fixture
def cloud() -> Cloud:
    return new_cloud()


def raising(error: BaseException) -> Callable[[], NoReturn]:
    def act() -> NoReturn:
        raise error

    return act


class Killed(BaseException):
    """The function is no more: nothing of it runs, not even what is to run at its end."""


def test_objects_arrive_with_what_proves_them(cloud: Cloud) -> None:
    for key in ("x", "y/z", "ä\n"):
        cloud.buckets.put(key, f"content of {key}")
    cloud.buckets.put("large", "large", LARGE)
    transfer = copied(cloud)
    assert run(cloud, transfer) == {"verified": True, "files": 4}
    assert {key: one.content for key, one in cloud.buckets.placed.items()} == {
        key: one.content for key, one in cloud.buckets.here.items()
    }
    found = summary(cloud, transfer)
    assert (found.objects, found.bytes, found.proofs) == (4, LARGE + 9, {"CRC64NVME": 4})
    assert found.requests == {"head": 4, "copy": 3, "begin": 1, "part": PARTS, "complete": 1, "list": 2}
    assert cloud.buckets.open == {}


def test_a_small_object_takes_a_look_and_a_copy(cloud: Cloud) -> None:
    for number in range(1_000):
        cloud.buckets.put(f"{number:04}", "small")
    transfer = copied(cloud)
    run(cloud, transfer)
    assert summary(cloud, transfer).requests == {"head": 1_000, "copy": 1_000, "list": 4}


def test_what_has_no_checksum_is_copied_and_not_called_verified(cloud: Cloud) -> None:
    cloud.buckets.put("old", "old", has_checksum=False)
    transfer = copied(cloud)
    assert run(cloud, transfer) == {"verified": False, "files": 1}
    assert summary(cloud, transfer).in_words == (
        "1 copied by S3, not verified: no checksum of the whole object at the source"
    )


def test_an_object_that_was_replaced_before_it_is_copied_is_named(cloud: Cloud) -> None:
    cloud.buckets.put("x", "old")
    cloud.buckets.put("y", "y")
    transfer = copied(cloud, onProblem="skip")
    found = next_round(cloud, transfer)
    cloud.buckets.put("x", "new")
    copy_round(cloud, transfer, found)
    assert "x" not in cloud.buckets.placed
    assert results(cloud, transfer)["x"].reason == "source-changed"
    assert results(cloud, transfer)["y"].there is not None


@pytest.mark.parametrize(("size", "kind", "at"), [(3, "copy", 1), (LARGE, "part", 7), (LARGE, "part", PARTS)])
def test_an_object_that_is_replaced_while_it_is_copied_is_named_and_nothing_is_left(
    cloud: Cloud, size: int, kind: str, at: int
) -> None:
    cloud.buckets.put("x", "old", size)
    cloud.buckets.before[kind, at] = lambda: cloud.buckets.put("x", "new", size)
    transfer = copied(cloud)
    with pytest.raises(FilesSkipped, match=r"x \(source-changed: it was replaced"):
        run(cloud, transfer)
    assert cloud.buckets.placed == {}
    assert cloud.buckets.open == {}
    assert [key for key in cloud.objects.objects if "/uploads/" in key] == []


def test_no_object_is_ever_made_of_two_versions(cloud: Cloud) -> None:
    """A part after the other: whenever the source changes, the destination has all of one version, or nothing."""
    for at in range(1, PARTS + 1):
        cloud = new_cloud()
        buckets = cloud.buckets
        buckets.put("x", "old", LARGE)
        buckets.after["part", at] = lambda buckets=buckets: buckets.put("x", "new", LARGE)  # type: ignore[misc]
        transfer = copied(cloud, onProblem="skip")
        run(cloud, transfer)
        assert {one.content for one in buckets.placed.values()} <= {"old", "new"}


@pytest.mark.parametrize(
    ("kind", "at"),
    [("head", 1), ("begin", 1), ("part", 1), ("part", 9), ("complete", 1), ("copy", 1)],
)
@pytest.mark.parametrize("answered", [False, True], ids=["not done", "answer lost"])
def test_a_function_that_is_killed_at_any_request_is_followed_by_one_that_ends_it(
    cloud: Cloud, kind: str, at: int, *, answered: bool
) -> None:
    cloud.buckets.put("x", "x", LARGE)
    cloud.buckets.put("y", "y")
    transfer = copied(cloud)
    found = next_round(cloud, transfer)
    around = cloud.buckets.after if answered else cloud.buckets.before
    around[kind, at] = raising(Killed())
    with pytest.raises(Killed):
        copy_unit(cloud.world, transfer, found)
    parts_before = cloud.buckets.count["part"]
    assert run(cloud, transfer) == {"verified": True, "files": 2}
    assert {key: one.content for key, one in cloud.buckets.placed.items()} == {"x": "x", "y": "y"}
    assert cloud.buckets.open == {}
    if kind == "part" and at == 9:
        assert cloud.buckets.count["part"] - parts_before < PARTS


def test_an_upload_of_somebody_else_is_left_alone(cloud: Cloud) -> None:
    cloud.buckets.put("x", "x", LARGE)
    transfer = copied(cloud)
    found = next_round(cloud, transfer)
    cloud.buckets.after["begin", 1] = raising(Killed())
    with pytest.raises(Killed):
        copy_unit(cloud.world, transfer, found)
    (ours,) = cloud.buckets.open
    cloud.buckets.open["foreign"] = type(cloud.buckets.open[ours])("x", cloud.clock.now(), "arn:user/somebody")
    run(cloud, transfer)
    assert list(cloud.buckets.open) == ["foreign"]


@pytest.mark.parametrize(("size", "kind"), [(3, "copy"), (LARGE, "complete")])
def test_an_answer_that_is_lost_after_the_copy_is_settled_by_a_look(cloud: Cloud, size: int, kind: str) -> None:
    """The client tries again: S3 then says that the condition does not hold, or that there is no such upload."""
    cloud.buckets.put("x", "x", size)
    buckets = cloud.buckets
    lost = buckets.copy if kind == "copy" else buckets.complete

    def twice(*asked: Any) -> Any:
        lost(*asked)
        return lost(*asked)

    setattr(buckets, kind, twice)
    transfer = copied(cloud, overwrite="never")
    assert run(cloud, transfer) == {"verified": True, "files": 1}


def test_an_upload_that_somebody_aborts_is_begun_again(cloud: Cloud) -> None:
    cloud.buckets.put("x", "x", LARGE)
    cloud.buckets.before["part", 5] = lambda: cloud.buckets.open.clear()
    transfer = copied(cloud)
    assert run(cloud, transfer) == {"verified": True, "files": 1}
    assert cloud.buckets.count["begin"] == 2


def test_an_upload_that_never_lasts_is_given_up_by_name(cloud: Cloud) -> None:
    cloud.buckets.put("x", "x", LARGE)
    for at in range(1, 200):
        cloud.buckets.before["part", at] = raising(UploadGone("NoSuchUpload"))
    transfer = copied(cloud)
    with pytest.raises(FilesSkipped, match="aborted again and again"):
        run(cloud, transfer)
    assert cloud.buckets.count["begin"] == 3


@pytest.mark.parametrize("overwrite", ["never", "if-newer"])
@pytest.mark.parametrize("size", [3, LARGE])
def test_what_somebody_writes_after_the_listing_is_not_overwritten(cloud: Cloud, overwrite: str, size: int) -> None:
    cloud.buckets.put("x", "ours", size)
    transfer = copied(cloud, overwrite=overwrite, onProblem="skip")
    found = next_round(cloud, transfer)
    cloud.buckets.put_there("x", "theirs", size)
    copy_round(cloud, transfer, found)
    assert cloud.buckets.placed["x"].content == "theirs"
    assert results(cloud, transfer)["x"].reason == "destination-conflict"
    assert cloud.buckets.open == {}


def test_what_was_newer_and_is_replaced_meanwhile_is_not_overwritten(cloud: Cloud) -> None:
    cloud.buckets.put_there("x", "older")
    cloud.clock.sleep(10)
    cloud.buckets.put("x", "ours!", 5)
    transfer = copied(cloud, overwrite="if-newer", onProblem="skip")
    found = next_round(cloud, transfer)
    assert found.units == 1
    cloud.buckets.put_there("x", "theirs")
    copy_round(cloud, transfer, found)
    assert cloud.buckets.placed["x"].content == "theirs"


def test_slow_down_that_outlasts_the_client_ends_the_function_and_not_the_transfer(cloud: Cloud) -> None:
    for key in "abc":
        cloud.buckets.put(key, key)
    cloud.buckets.before["copy", 2] = raising(Throttled("SlowDown"))
    transfer = copied(cloud)
    found = next_round(cloud, transfer)
    with pytest.raises(Throttled):
        copy_unit(cloud.world, transfer, found)
    assert run(cloud, transfer) == {"verified": True, "files": 3}


def test_a_function_whose_time_is_over_leaves_the_rest_to_the_next(cloud: Cloud) -> None:
    cloud.buckets.put("x", "x", LARGE)
    for number in range(100):
        cloud.buckets.put(f"y{number:03}", "y")
    transfer = copied(cloud)
    found = next_round(cloud, transfer)
    is_over = Event()
    for number in range(1, 101):
        # Else all of them may end before the third part does.
        cloud.buckets.after["copy", number] = is_over.wait

    def end() -> None:
        cloud.clock.sleep(700)
        is_over.set()

    cloud.buckets.after["part", 3] = end
    assert not copy_unit(cloud.world, transfer, found)
    assert len(cloud.buckets.placed) < 101
    before = cloud.buckets.count["copy"]
    assert copy_unit(cloud.world, transfer, found)
    assert cloud.buckets.count["copy"] == 100
    assert before < 100
    assert cloud.buckets.count["part"] == PARTS
    assert run(cloud, transfer) == {"verified": True, "files": 101}
    assert summary(cloud, transfer).requests["part"] == PARTS


def test_nothing_is_begun_once_the_transfer_is_fenced(cloud: Cloud) -> None:
    cloud.buckets.put("x", "x")
    transfer = copied(cloud)
    found = next_round(cloud, transfer)
    cloud.transfers.change(transfer, transfer_life.FENCE)
    with pytest.raises(TransferFenced):
        copy_unit(cloud.world, transfer, found)
    assert cloud.buckets.placed == {}


def test_the_chunk_size_of_a_request_is_that_of_the_parts(cloud: Cloud) -> None:
    cloud.buckets.put("x", "x", 20 * MIB)
    transfer = copied(cloud, chunkSizeMiB=8)
    assert run(cloud, transfer) == {"verified": True, "files": 1}
    assert cloud.buckets.count["part"] == 3


def test_what_is_under_way_when_another_object_fails_is_not_copied_again(cloud: Cloud) -> None:
    for number in range(20):
        cloud.buckets.put(f"{number:02}", "x", has_checksum=False)
    cloud.buckets.before["head", 3] = raising(Throttled("SlowDown"))
    transfer = copied(cloud, overwrite="never")
    found = next_round(cloud, transfer)
    with pytest.raises(Throttled):
        copy_unit(cloud.world, transfer, found)
    assert run(cloud, transfer) == {"verified": False, "files": 20}
    assert cloud.buckets.count["copy"] == 20
