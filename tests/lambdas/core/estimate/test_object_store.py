"""The estimate of a transfer with a bucket: S3's published rates, its requests and what leaves a region."""

import pytest

from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.object_store import requests, stored_usd_per_day
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.estimate.estimation import estimate_for
from tests.lambdas.buckets import ALLOWED, from_bucket, from_many_to_bucket, to_bucket
from tests.lambdas.builders import survey
from tests.lambdas.cloud import Cloud

MIB, GB = 1 << 20, 10**9


def found(accepted: AcceptedTransfer, size: int, files: int) -> Estimate:
    cloud = Cloud(buckets=ALLOWED)
    cloud.transfers.create(accepted)
    return estimate_for(accepted, size, cloud.world, survey(1, size=size, files=files))


def test_inside_a_region_there_is_one_row_without_relays_and_s3_has_a_published_rate() -> None:
    estimate = found(from_bucket(), 10 * GB, 3)
    assert [row.pairs for row in estimate.rows] == [0]
    store = estimate.figures.store
    assert store is not None
    assert (store.value, store.origin, store.note) == (1360.0, "published", "S3: 16 requests at once at 85 MB/s")
    assert estimate.figures.source == store


def test_each_relay_brings_requests_of_its_own() -> None:
    """What S3 moves in all is that of every way there may be: it holds each way down, and not their sum."""
    store = found(to_bucket(), 10 * GB, 3).figures.store
    assert store is not None
    assert (store.value, store.origin) == (9 * 1360.0, "published")
    assert store.note == "S3: 16 requests at once by the machine and through each of 8 relays at 85 MB/s"


def test_each_of_several_machines_has_s3_for_itself_and_reads_what_is_noted_of_uploads() -> None:
    accepted = from_many_to_bucket(3)
    relays = accepted.request.relays.model_copy(update={"pairs": 0})
    accepted = accepted.model_copy(update={"request": accepted.request.model_copy(update={"relays": relays})})
    store = found(accepted, 10 * GB, 3).figures.store
    assert store is not None
    # Three machines, and the 8 relays that the deployment allows.
    assert (store.value, store.note) == (
        11 * 1360.0,
        "S3: 16 requests at once by each of 3 machines and through each of 8 relays at 85 MB/s",
    )
    assert requests(160 * MIB, 1, 64 * MIB, 3, is_read=False).words == "6 writes, 2 listings and 3 reads of S3"
    assert requests(160 * MIB, 1, 64 * MIB, 3, is_read=True).words == "0 writes, 2 listings and 4 reads of S3"


def test_what_leaves_a_region_and_what_s3_is_asked_for_is_paid() -> None:
    near = found(from_bucket(relays={"pairs": 0}), 10 * GB, 3)
    far = found(to_bucket(relays={"pairs": 0}), 10 * GB, 3)
    assert near.figures.egress.value == 0.0, "bucket and machine are in Ireland"
    assert far.figures.egress.value == 0.02, "Oregon to Ireland"
    assert far.chosen.cost_usd - near.chosen.cost_usd > 0.2
    for one in (near, far):
        assert one.figures.requests is not None
        assert one.chosen.cost_usd > one.figures.requests.value > 0
    assert any(note.startswith("parts of files that are not complete stay in the bucket") for note in far.notes)
    assert not any("not complete" in note for note in near.notes)


def test_many_small_objects_cost_their_requests_and_go_at_s3s_pace() -> None:
    estimate = found(to_bucket(relays={"pairs": 0}), 10 * GB, 1_000_000)
    assert estimate.figures.requests is not None
    assert estimate.figures.requests.value == pytest.approx(1_000_000 * 0.005 / 1e3, rel=0.01)
    assert estimate.chosen.cost_usd > 5
    assert estimate.chosen.seconds >= 1_000_000 / 1_000
    assert "files as small as these" in estimate.chosen.limit


@pytest.mark.parametrize(
    ("size", "files", "is_read", "words"),
    [
        (0, 0, False, "0 writes, 1 listings and 0 reads of S3"),
        (10, 1, False, "1 writes, 2 listings and 0 reads of S3"),
        # One object of three parts: three chunks, begun and completed.
        (160 * MIB, 1, False, "5 writes, 2 listings and 0 reads of S3"),
        (160 * MIB, 1, True, "0 writes, 2 listings and 4 reads of S3"),
        (10, 2_001, True, "0 writes, 4 listings and 4,002 reads of S3"),
    ],
)
def test_requests_are_counted_by_class(size: int, files: int, is_read: bool, words: str) -> None:
    assert requests(size, files, 64 * MIB, is_read=is_read).words == words


def test_a_terabyte_in_uploads_costs_what_objects_do() -> None:
    assert stored_usd_per_day(1000 * GB) == pytest.approx(23.0 * 12 / 365)
