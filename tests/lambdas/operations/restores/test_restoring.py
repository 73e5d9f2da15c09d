"""Archived objects are listed, told with their price, restored and waited for; run as the state machine runs it."""

from typing import Any

import pytest

from lambdas.core.ends.allowed_buckets import AllowedBucket
from lambdas.core.ends.key_list import KeyEntry, list_key, written
from lambdas.core.errors import BudgetTooSmall, FilesSkipped, RestoreOverdue, SurveyProblem, Throttled, TransferFenced
from lambdas.core.restores.rounds import MOST_WAIT_SECONDS, RestoreRound
from lambdas.core.restores.summary import Restores
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.fence import fence
from lambdas.operations.restores import listing, restoring
from lambdas.operations.restores.listing import list_round
from lambdas.operations.restores.notebook import RestoreNotes
from lambdas.operations.restores.restoring import restore_round
from tests.lambdas.buckets import bucket, from_bucket
from tests.lambdas.builders import ARN, IRELAND, WEST
from tests.lambdas.cloud import Cloud
from tests.lambdas.copied import bucket_request, copied, run

HOUR = 3_600.0
ALLOWED = (
    AllowedBucket.parse(f"ra {WEST} from/"),
    AllowedBucket.parse(f"rwd {IRELAND} into/"),
    AllowedBucket.parse(f"ra {IRELAND} my-data/in/"),
)


@pytest.fixture
def cloud() -> Cloud:
    """Two objects that can be read, and three that are archived, of two classes."""
    found = Cloud(buckets=ALLOWED)
    for key in ("a", "z"):
        found.buckets.put(key, f"warm {key}")
    for key, kind in (("cold/1", "GLACIER"), ("cold/2", "GLACIER"), ("deep", "DEEP_ARCHIVE")):
        found.buckets.put(key, f"cold {key}", 10).storage_class = kind
    return found


def from_archive(
    cloud: Cloud, restore: dict[str, Any] | None = None, keys: dict[str, str] | None = None, **changes: Any
) -> AcceptedTransfer:
    """To a machine, with its record."""
    source = {**bucket("in/"), "archived": "restore", **({"restore": restore} if restore else {})}
    source |= {"keys": keys} if keys else {}
    accepted = from_bucket()
    request = accepted.request.model_copy(update=changes)
    request = type(request).from_document({**request.to_document(), "source": source})
    accepted = accepted.model_copy(update={"request": request})
    assert cloud.transfers.create(accepted)
    return accepted


def copied_archive(
    cloud: Cloud, arn: str = ARN, restore: dict[str, Any] | None = None, **changes: Any
) -> AcceptedTransfer:
    source = bucket_request()["source"] | {"archived": "restore"} | ({"restore": restore} if restore else {})
    return copied(cloud, arn, source=source, **changes)


def listed(cloud: Cloud, transfer: AcceptedTransfer) -> RestoreRound:
    found = list_round(cloud.world, transfer, None)
    while not found.listed:
        found = list_round(cloud.world, transfer, found)
    return found


def told(cloud: Cloud, transfer: AcceptedTransfer) -> Restores:
    record = cloud.transfers.get(transfer.transfer_id)
    assert record
    assert record.restores
    return record.restores


def waited(cloud: Cloud, transfer: AcceptedTransfer, found: RestoreRound) -> int:
    """Round after round until all is restored; how many there were."""
    count = 0
    while not found.done:
        found, count = restore_round(cloud.world, transfer, found), count + 1
        cloud.clock.sleep(found.wait_seconds)
    return count


def test_what_is_archived_is_told_with_its_price_and_nothing_is_restored(cloud: Cloud) -> None:
    transfer = from_archive(cloud)
    found = listed(cloud, transfer)
    assert (found.objects, found.done) == (3, False)
    restores = told(cloud, transfer)
    assert {name: (one.objects, one.bytes) for name, one in restores.classes.items()} == {
        "DEEP_ARCHIVE": (1, 10),
        "GLACIER": (2, 20),
    }
    assert cloud.archive.asked == []
    assert all("s3:RestoreObject" not in str(policy) for _, _, policy, _ in cloud.sessions.asked)


def test_a_source_without_archived_objects_waits_for_nothing(cloud: Cloud) -> None:
    transfer = from_archive(cloud, select=from_bucket().request.select.model_copy(update={"exclude": ["cold", "deep"]}))
    assert listed(cloud, transfer).done
    record = cloud.transfers.get(transfer.transfer_id)
    assert record
    assert record.restores is None


def test_all_are_restored_and_waited_for_and_each_is_asked_once(cloud: Cloud) -> None:
    cloud.archive.takes = lambda key: 12 * HOUR if key == "deep" else 4 * HOUR
    transfer = from_archive(cloud, {"days": 2})
    began = cloud.clock.now()
    found = restore_round(cloud.world, transfer, listed(cloud, transfer))
    # Those that come early stay until the slowest class is there.
    assert cloud.archive.asked == [("deep", "Standard", 2), ("cold/1", "Standard", 3), ("cold/2", "Standard", 3)]
    restores = told(cloud, transfer)
    assert (restores.asked, restores.ready, restores.asked_at) == (3, 0, began)
    assert (restores.expected_at, restores.waits_until) == (began + 12 * HOUR, began + 72 * HOUR)
    cloud.clock.sleep(5 * HOUR)
    found = restore_round(cloud.world, transfer, found)
    assert (told(cloud, transfer).ready, found.done) == (2, False)
    waited(cloud, transfer, found)
    assert 12 * HOUR <= cloud.clock.now() - began <= 12 * HOUR + MOST_WAIT_SECONDS
    assert told(cloud, transfer).ready == 3
    assert len(cloud.archive.asked) == 3
    assert cloud.sessions.asked[-1][2]["Statement"][0]["Action"] == [
        "s3:GetObject",
        "s3:GetObjectVersion",
        "s3:RestoreObject",
    ]


def test_long_listings_and_many_requests_go_on_in_other_functions(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every function's time is over after each object: the next one goes on behind it."""
    for module in (listing, restoring):
        monkeypatch.setattr(module, "ROUND_SECONDS", 0.0 if module is listing else 1.0)
    monkeypatch.setattr(listing, "SEGMENT_OBJECTS", 2)
    monkeypatch.setattr(restoring, "NOTED_OBJECTS", 1)
    for number in range(5):
        cloud.buckets.put(f"cold/more-{number}", "more").storage_class = "GLACIER"
    transfer = from_archive(cloud)
    found = listed(cloud, transfer)
    assert (found.number, found.objects) == (11, 8)
    cloud.archive.before = {number: lambda: cloud.clock.sleep(1) for number in range(1, 9)}
    assert waited(cloud, transfer, found) == 9
    assert sorted(key for key, _, _ in cloud.archive.asked) == sorted(
        key for key, one in cloud.buckets.here.items() if one.storage_class != "STANDARD"
    )


def test_a_function_that_dies_between_its_requests_costs_no_request_twice(cloud: Cloud) -> None:
    transfer = from_archive(cloud)
    found = listed(cloud, transfer)

    def die() -> None:
        raise Throttled("S3 does not answer")

    cloud.archive.before = {3: die}
    with pytest.raises(Throttled):
        restore_round(cloud.world, transfer, found)
    cloud.archive.before = {}
    waited(cloud, transfer, found)
    assert sorted(key for key, _, _ in cloud.archive.asked) == ["cold/1", "cold/2", "deep"]


def test_a_round_whose_answer_was_lost_is_given_again(cloud: Cloud) -> None:
    transfer = from_archive(cloud)
    first = list_round(cloud.world, transfer, None)
    cloud.buckets.put("cold/3", "late").storage_class = "GLACIER"
    assert list_round(cloud.world, transfer, None) == first


def test_objects_that_vanish_are_replaced_or_are_not_restored_are_named(cloud: Cloud) -> None:
    cloud.archive.takes = lambda _key: HOUR
    transfer = from_archive(cloud)
    found = restore_round(cloud.world, transfer, listed(cloud, transfer))
    del cloud.buckets.here["cold/1"]
    cloud.buckets.put("cold/2", "other")
    cloud.buckets.here["deep"].restored_at = None
    cloud.clock.sleep(2 * HOUR)
    assert restore_round(cloud.world, transfer, found).done
    restores = told(cloud, transfer)
    assert (restores.ready, restores.left) == (0, 3)
    folder = f"{RestoreNotes(cloud.world, transfer).prefix}left/"
    lines = [line for key in cloud.objects.keys(folder) for line in cloud.objects.lines(key) if line]
    assert [(b"gone" in line, b"replaced" in line, b"not restored" in line) for line in sorted(lines)] == [
        (True, False, False),
        (False, True, False),
        (False, False, True),
    ]
    assert restores.where
    assert restores.where.startswith(f"s3://{cloud.world.env.control_bucket}/restores/")


def test_nothing_is_paid_for_an_object_that_is_gone_or_replaced_before_s3_is_asked(cloud: Cloud) -> None:
    transfer = from_archive(cloud)
    found = listed(cloud, transfer)
    del cloud.buckets.here["cold/1"]
    cloud.buckets.put("cold/2", "other", 10**12).storage_class = "GLACIER"
    waited(cloud, transfer, found)
    assert [key for key, _, _ in cloud.archive.asked] == ["deep"]


def test_nobody_waits_longer_than_the_request_says(cloud: Cloud) -> None:
    cloud.archive.takes = lambda key: 1e9 if key == "deep" else 60.0
    transfer = from_archive(cloud, {"maxWaitHours": 2.5})
    began = cloud.clock.now()
    with pytest.raises(RestoreOverdue, match=r"maxWaitHours: 2.5: after 2 h 30 min 2 of 3 objects are restored"):
        waited(cloud, transfer, listed(cloud, transfer))
    assert cloud.clock.now() - began == pytest.approx(2.5 * HOUR, abs=2)


def test_a_transfer_that_is_torn_down_asks_for_nothing_more(cloud: Cloud) -> None:
    transfer = from_archive(cloud)
    found = listed(cloud, transfer)
    assert fence(cloud.world, transfer)
    with pytest.raises(TransferFenced):
        restore_round(cloud.world, transfer, found)
    assert cloud.archive.asked == []


def test_a_tier_that_a_class_has_not_is_refused_by_name(cloud: Cloud) -> None:
    transfer = from_archive(cloud, {"tier": "Expedited"})
    with pytest.raises(SurveyProblem) as refused:
        listed(cloud, transfer)
    assert str(refused.value).startswith(
        "$.source.restore.tier: 'Expedited', and of 's3://my-data/in/' 1 objects are of DEEP_"
    )
    assert "'deep' the first of them, which S3 restores by Standard or Bulk only" in str(refused.value)


def test_a_budget_of_copies_bears_restoring_or_nothing_is_restored(cloud: Cloud) -> None:
    transfer = copied_archive(cloud, objective={"maxCostUsd": 0.0001})
    with pytest.raises(BudgetTooSmall, match=r"\$.objective.maxCostUsd: 0.0001, and S3's Standard retrieval: 1 object"):
        listed(cloud, transfer)
    assert cloud.archive.asked == []


def test_copies_restore_what_is_not_there_yet_and_copy_all(cloud: Cloud) -> None:
    first = copied_archive(cloud)
    waited(cloud, first, listed(cloud, first))
    run(cloud, first)
    assert set(cloud.buckets.placed) == set(cloud.buckets.here)
    for one in cloud.buckets.here.values():
        one.restored_at = None
    cloud.clock.sleep(60)
    again = copied_archive(cloud, ARN.replace("first", "again"))
    assert listed(cloud, again).done


def test_copies_name_what_vanished_while_it_was_restored(cloud: Cloud) -> None:
    cloud.archive.takes = lambda _key: HOUR
    transfer = copied_archive(cloud)
    found = restore_round(cloud.world, transfer, listed(cloud, transfer))
    del cloud.buckets.here["cold/1"]
    waited(cloud, transfer, found)
    with pytest.raises(FilesSkipped, match=r"1 entry was left out.*cold/1 \(source-changed: it is gone\)"):
        run(cloud, transfer)


def test_a_dry_run_of_copies_lists_and_tells_and_is_not_held_to_its_budget(cloud: Cloud) -> None:
    transfer = copied_archive(cloud, dryRun=True, objective={"maxCostUsd": 0.0001})
    assert listed(cloud, transfer).objects == 3
    run(cloud, transfer)
    assert told(cloud, transfer).objects == 3
    assert cloud.archive.asked == []


def test_of_a_list_of_keys_only_what_it_names_is_restored(cloud: Cloud) -> None:
    body = written(KeyEntry(key=f"in/{key}") for key in ("a", "cold/2", "none"))
    cloud.objects.put(list_key(body), body)
    transfer = from_archive(cloud, keys={"manifest": list_key(body)})
    waited(cloud, transfer, listed(cloud, transfer))
    assert [key for key, _, _ in cloud.archive.asked] == ["cold/2"]
    assert "list" not in cloud.buckets.count
