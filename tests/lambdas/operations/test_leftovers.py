"""What a transfer leaves in a bucket waits while a run may go on with it; then it goes, and nobody else's does."""

from typing import Any

import pytest

from lambdas.core.errors import MissingPermission, Throttled
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.seats.retirement import RetiredSeat
from lambdas.core.transfer.record_format import FORMAT_VERSION
from lambdas.handlers.reactions.sweep_uploads import sweep_uploads
from lambdas.operations.teardown import tear_down
from lambdas.runtime.handler import BusEvent
from tests.lambdas.buckets import ALLOWED, to_bucket
from tests.lambdas.builders import ARN, plan
from tests.lambdas.builders import delivered as all_arrived
from tests.lambdas.cloud import Cloud
from tests.lambdas.copied import cloud as copying_cloud
from tests.lambdas.copied import copied
from tests.lambdas.memory.buckets import SESSIONS

MIB = 1 << 20
DAY = 86_400.0
DAILY = BusEvent.from_document({"detail-type": "Scheduled Event", "detail": {}})
OTHERS = (
    f"{SESSIONS}receiver-first-2",
    f"{SESSIONS}sweep-first",
    SESSIONS.replace("cpt-buckets", "other-buckets") + "receiver-first",
    SESSIONS.replace("000000000000", "111111111111") + "receiver-first",
    "arn:aws:iam::000000000000:user/receiver-first",
    "canonical-id-of-an-account",
    "",
)


def scene(*, format_version: int = FORMAT_VERSION, **changes: Any) -> Cloud:
    """A machine's transfer into a bucket, two of whose uploads are not complete: of one nobody heard the id."""
    cloud = Cloud(buckets=ALLOWED)
    accepted = to_bucket(**changes).model_copy(update={"format_version": format_version})
    assert cloud.transfers.create(accepted)
    cloud.transfers.change(of(cloud).transfer, transfer_life.note(plan=plan()))
    cloud.buckets.begun("out/a", f"{SESSIONS}receiver-first", [8 * MIB, 3 * MIB])
    cloud.buckets.begun("out/b", f"{SESSIONS}receiver-first", [])
    for by in OTHERS:
        cloud.buckets.begun("out/a", by, [MIB])
    cloud.leftovers.notes |= {".cpt-partial-first/r0/1-0", ".cpt-partial-first-2/r0/1-0", "first"}
    return cloud


def of(cloud: Cloud, name: str = "first") -> TransferRecord:
    record = cloud.transfers.get(name)
    assert record is not None
    return record


def ended(cloud: Cloud, name: str = "first") -> dict[str, int]:
    """Taken down and reported as failed."""
    done = tear_down(cloud.world, of(cloud, name))
    cloud.transfers.change(of(cloud, name).transfer, transfer_life.close("FAILED"))
    return done


def delivered(cloud: Cloud) -> None:
    cloud.transfers.change(of(cloud).transfer, transfer_life.finish(all_arrived()))


def left(cloud: Cloud) -> set[str]:
    """Who has begun what is still there."""
    return {one.by for one in cloud.buckets.open.values()}


def ours(cloud: Cloud) -> int:
    return sum(one.by == f"{SESSIONS}receiver-first" for one in cloud.buckets.open.values())


def test_what_waits_for_another_run_is_counted_in_bytes_and_dollars() -> None:
    cloud = scene()
    assert ended(cloud)["abortedUploads"] == 0
    assert ours(cloud) == 2
    found = of(cloud).unfinished
    assert found is not None
    assert (found.uploads, found.bytes) == (2, 11 * MIB)
    assert found.usd_per_month == pytest.approx(11 * MIB / 1e9 * 0.023)
    assert found.until == cloud.clock.now() + cloud.world.env.chunk_retention_seconds


def test_it_stays_until_no_run_can_go_on_with_it_and_then_goes_with_the_notes_and_nobody_elses() -> None:
    cloud = scene()
    ended(cloud)
    cloud.clock.sleep(cloud.world.env.chunk_retention_seconds - DAY)
    assert sweep_uploads(DAILY, cloud.world) == {"due": 0, "removed": {}}
    assert ours(cloud) == 2
    cloud.clock.sleep(2 * DAY)
    assert sweep_uploads(DAILY, cloud.world) == {"due": 1, "removed": {"first": {"uploads": 2, "notes": 1}}}
    assert left(cloud) == set(OTHERS)
    assert cloud.leftovers.notes == {".cpt-partial-first-2/r0/1-0", "first"}
    assert sweep_uploads(DAILY, cloud.world) == {"due": 0, "removed": {}}


def test_a_session_that_removes_reaches_the_transfers_prefix_and_notes_alone() -> None:
    cloud = scene()
    ended(cloud)
    ((role, name, policy, _),) = cloud.sessions.asked
    assert (role, name) == ("arn:aws:iam::000000000000:role/cpt-buckets", "sweep-first")
    reached = {one["Resource"] for one in policy["Statement"]}
    bucket = "arn:aws:s3:::my-data"
    assert reached == {f"{bucket}/out/*", f"{bucket}/out/.cpt-partial-first/*", bucket}


def test_what_a_transfer_that_succeeded_does_not_need_goes_at_once_and_once_more_when_its_sessions_have_ended() -> None:
    cloud = scene()
    delivered(cloud)
    assert tear_down(cloud.world, of(cloud))["abortedUploads"] == 2
    cloud.transfers.change(of(cloud).transfer, transfer_life.close("SUCCEEDED"))
    assert left(cloud) == set(OTHERS)
    cloud.buckets.begun("out/late", f"{SESSIONS}receiver-first", [])
    cloud.clock.sleep(DAY)
    assert sweep_uploads(DAILY, cloud.world)["removed"] == {"first": {"uploads": 1, "notes": 0}}


def test_a_transfer_that_has_lost_a_machine_is_looked_at_once_more_when_its_sessions_have_ended() -> None:
    cloud = Cloud(buckets=ALLOWED)
    assert cloud.transfers.create(to_bucket())
    lost = RetiredSeat(seat_id="r1", instance_id="i-00000001", epoch=1, is_gone=False, at=0.0, why="it is frozen")
    cloud.transfers.change(of(cloud).transfer, transfer_life.note_retired(of(cloud), [lost]))
    delivered(cloud)
    tear_down(cloud.world, of(cloud))
    assert len(cloud.objects.keys("unfinished/")) == 1


def test_a_transfer_that_left_nothing_is_not_looked_at_again() -> None:
    cloud = Cloud(buckets=ALLOWED)
    assert cloud.transfers.create(to_bucket())
    delivered(cloud)
    tear_down(cloud.world, of(cloud))
    assert cloud.objects.keys("unfinished/") == []


def test_who_takes_a_transfer_down_once_more_throws_away_what_waits() -> None:
    cloud = scene()
    ended(cloud)
    assert tear_down(cloud.world, of(cloud))["abortedUploads"] == 2
    assert left(cloud) == set(OTHERS)
    assert cloud.leftovers.notes == {".cpt-partial-first-2/r0/1-0", "first"}


def test_a_transfer_that_runs_again_keeps_what_is_there() -> None:
    cloud = scene()
    ended(cloud)
    again = to_bucket(arn=ARN.replace("first", "again")).model_copy(update={"run": 2})
    assert cloud.transfers.resume(again)
    cloud.clock.sleep(cloud.world.env.chunk_retention_seconds + DAY)
    assert sweep_uploads(DAILY, cloud.world) == {"due": 1, "removed": {}}
    assert ours(cloud) == 2


def test_a_transfer_that_failed_again_is_waited_for_anew() -> None:
    cloud = scene()
    ended(cloud)
    later = cloud.clock.now() + 100 * DAY
    unfinished = of(cloud).unfinished
    assert unfinished is not None
    cloud.transfers.change(
        of(cloud).transfer, transfer_life.note(unfinished=unfinished.model_copy(update={"until": later}))
    )
    cloud.clock.sleep(cloud.world.env.chunk_retention_seconds + DAY)
    assert sweep_uploads(DAILY, cloud.world) == {"due": 1, "removed": {}}
    assert ours(cloud) == 2


def test_what_no_run_can_go_on_with_goes_at_once() -> None:
    cloud = Cloud(buckets=ALLOWED)
    assert cloud.transfers.create(to_bucket())
    cloud.buckets.begun("out/.cpt-partial-survey", f"{SESSIONS}receiver-first", [])
    assert ended(cloud)["abortedUploads"] == 1, "its survey was not heard, and it has no plan"


def test_of_a_record_of_another_format_it_is_not_known_and_it_waits() -> None:
    cloud = scene(format_version=FORMAT_VERSION - 1)
    assert ended(cloud)["abortedUploads"] == 0
    assert ours(cloud) == 2
    assert len(cloud.objects.keys("unfinished/")) == 1


@pytest.mark.parametrize("refusal", [MissingPermission("s3:ListBucketMultipartUploads"), Throttled("S3 is slow")])
def test_a_bucket_that_cannot_be_looked_at_fails_no_teardown_and_is_looked_at_the_next_day(refusal: Exception) -> None:
    cloud = scene()
    cloud.leftovers.refusal = refusal
    assert ended(cloud)["abortedUploads"] == 0
    with pytest.raises(type(refusal)):
        sweep_uploads(DAILY, cloud.world)
    cloud.leftovers.refusal = None
    cloud.clock.sleep(DAY)
    assert sweep_uploads(DAILY, cloud.world)["removed"] == {"first": {"uploads": 2, "notes": 1}}


def test_a_bucket_that_stays_closed_to_us_is_given_up_after_a_month() -> None:
    cloud = scene()
    cloud.leftovers.refusal = MissingPermission("s3:ListBucketMultipartUploads")
    ended(cloud)
    cloud.clock.sleep(29 * DAY)
    with pytest.raises(MissingPermission):
        sweep_uploads(DAILY, cloud.world)
    cloud.clock.sleep(3 * DAY)
    assert sweep_uploads(DAILY, cloud.world) == {"due": 1, "removed": {}}
    assert cloud.objects.keys("unfinished/") == []


def test_a_dry_run_begins_nothing_and_is_not_looked_at() -> None:
    cloud = scene(dryRun=True)
    tear_down(cloud.world, of(cloud))
    assert cloud.sessions.asked == []


def test_a_reminder_of_a_transfer_that_nobody_knows_any_more_goes() -> None:
    cloud = Cloud(buckets=ALLOWED)
    cloud.objects.put("unfinished/1970-01-01/unknown", b"")
    assert sweep_uploads(DAILY, cloud.world) == {"due": 1, "removed": {}}
    assert cloud.objects.keys("unfinished/") == []


def test_copies_are_swept_by_the_session_that_began_them_unless_another_run_goes_on_with_them() -> None:
    cloud = copying_cloud()
    copied(cloud)
    cloud.buckets.begun("x", f"{SESSIONS}copies-first", [MIB])
    cloud.buckets.begun("x", f"{SESSIONS}copies-second", [MIB])
    ended(cloud)
    cloud.clock.sleep(cloud.world.env.chunk_retention_seconds + DAY)
    copied(cloud, ARN.replace("first", "again"))
    assert sweep_uploads(DAILY, cloud.world) == {"due": 1, "removed": {}}
    ended(cloud, "again")
    assert sweep_uploads(DAILY, cloud.world) == {"due": 1, "removed": {"first": {"uploads": 1, "notes": 0}}}
    assert left(cloud) == {f"{SESSIONS}copies-second"}
