"""Rounds: what is copied, what a run before has noted, and where a listing goes on."""

import json
from typing import NoReturn

import pytest

from lambdas.core.copies import units
from lambdas.core.copies.outcome import NotCopied
from lambdas.core.errors import BudgetReached, FilesSkipped, SurveyProblem
from lambdas.operations.copies import listing
from lambdas.operations.teardown import tear_down
from tests.lambdas.builders import ARN
from tests.lambdas.cloud import Cloud
from tests.lambdas.copied import bucket_request, copied, copy_round, next_round, run, summary
from tests.lambdas.copied import cloud as new_cloud

AGAIN, THIRD = ARN.replace("first", "again"), ARN.replace("first", "third")


@pytest.fixture
def cloud() -> Cloud:
    return new_cloud()


def filled(cloud: Cloud, count: int) -> None:
    for number in range(count):
        cloud.buckets.put(f"{number:06}", f"content {number}")
    cloud.clock.sleep(5)


def test_a_second_run_costs_a_listing_alone(cloud: Cloud) -> None:
    filled(cloud, 2_500)
    run(cloud, copied(cloud))
    cloud.buckets.count.clear()
    transfer = copied(cloud, AGAIN)
    assert run(cloud, transfer) == {"verified": True, "files": 0}
    assert set(cloud.buckets.count) == {"list"}
    record = cloud.transfers.get("again")
    assert record
    assert record.same
    assert record.same.files == 2_500


def test_a_third_run_knows_what_the_first_has_copied(cloud: Cloud) -> None:
    """The second finds most unchanged, and hands on what was noted of that."""
    filled(cloud, 1_500)
    run(cloud, copied(cloud))
    cloud.buckets.put("000700", "as long!")
    cloud.clock.sleep(5)
    second = copied(cloud, AGAIN)
    run(cloud, second)
    assert summary(cloud, second).objects == 1
    # By size and time alone it would pass for the same.
    cloud.buckets.placed["000700"].etag, cloud.buckets.placed["000700"].content = '"foreign"', "foreign"
    third = copied(cloud, THIRD)
    run(cloud, third)
    assert summary(cloud, third).objects == 1
    assert cloud.buckets.placed["000700"].content == "as long!"


def test_an_object_that_is_replaced_while_it_is_copied_is_copied_by_the_next_run(cloud: Cloud) -> None:
    """The copy is younger than the replacement and as long: what was noted tells them apart."""
    cloud.buckets.put("x", "old")
    cloud.clock.sleep(1)
    cloud.buckets.after["copy", 1] = lambda: cloud.buckets.put("x", "new")
    run(cloud, copied(cloud))
    assert cloud.buckets.placed["x"].content == "old"
    cloud.buckets.placed["x"].modified = cloud.clock.now() + 60
    cloud.clock.sleep(100)
    run(cloud, copied(cloud, AGAIN))
    assert cloud.buckets.placed["x"].content == "new"


def test_a_run_that_ended_early_is_gone_on_with(cloud: Cloud) -> None:
    filled(cloud, 3_000)
    first = copied(cloud)
    found = next_round(cloud, first)
    copy_round(cloud, first, found)
    copied_before = len(cloud.buckets.placed)
    assert 0 < copied_before < 3_000
    second = copied(cloud, AGAIN)
    run(cloud, second)
    assert summary(cloud, second).objects == 3_000 - copied_before
    assert len(cloud.buckets.placed) == 3_000


def test_what_a_run_before_the_last_has_noted_counts_behind_where_the_last_one_ended(cloud: Cloud) -> None:
    filled(cloud, 3_000)
    run(cloud, copied(cloud))
    second = copied(cloud, AGAIN)
    cut = pytest.MonkeyPatch()
    with cut.context() as patch:
        patch.setattr(listing, "ROUND_SECONDS", -1.0)
        next_round(cloud, second)
    # Only what is noted tells that these are the copies: by time they are older than the source.
    for one in cloud.buckets.placed.values():
        one.modified = 0.0
    third = copied(cloud, THIRD)
    run(cloud, third)
    assert summary(cloud, third).planned == 0


def test_rounds_go_on_from_the_last_key_and_lose_none(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "FIRST_UNIT", 3)
    monkeypatch.setattr(units, "LARGEST_UNIT", 8)
    filled(cloud, 1_000)
    transfer = copied(cloud)
    assert run(cloud, transfer) == {"verified": True, "files": 1_000}
    assert summary(cloud, transfer).rounds > 3
    assert len(cloud.buckets.placed) == 1_000


def test_a_round_whose_answer_was_lost_is_given_again(cloud: Cloud) -> None:
    filled(cloud, 10)
    transfer = copied(cloud)
    found = next_round(cloud, transfer)
    before = cloud.buckets.count["list"]
    assert next_round(cloud, transfer) == found
    assert cloud.buckets.count["list"] == before


def test_keys_are_selected_and_the_others_listed_by_name(cloud: Cloud) -> None:
    for key in ("a.csv", "a.tmp", "b/c.csv", ".cpt-partial-x/r0/note"):
        cloud.buckets.put(key, key)
    transfer = copied(cloud, select={"include": ["*.csv", "*.tmp"], "exclude": ["/b/"]})
    run(cloud, transfer)
    assert sorted(cloud.buckets.placed) == ["a.csv", "a.tmp"]
    record = cloud.transfers.get("first")
    assert record
    assert record.unselected
    assert record.unselected.counts == {"leftover": 1, "excluded": 1}
    key = record.unselected.where.split("/", 3)[3] + "00001-00000.ndjson"
    assert [json.loads(line)["path"] for line in cloud.objects.lines(key)] == [".cpt-partial-x/r0/note", "b/c.csv"]


@pytest.mark.parametrize(("overwrite", "copies", "alone"), [("never", 1, 2), ("if-newer", 2, 1), ("always", 3, 0)])
def test_what_may_be_replaced(cloud: Cloud, overwrite: str, copies: int, alone: int) -> None:
    cloud.buckets.put("older", "older than what is there", 9)
    cloud.clock.sleep(10)
    cloud.buckets.put_there("older", "younger")
    cloud.buckets.put_there("newer", "older")
    cloud.clock.sleep(10)
    cloud.buckets.put("newer", "newer than what is there", 9)
    cloud.buckets.put("nothing there", "x")
    transfer = copied(cloud, overwrite=overwrite)
    run(cloud, transfer)
    record = cloud.transfers.get("first")
    assert summary(cloud, transfer).objects == copies
    assert record
    assert (record.left_alone.entries if record.left_alone else 0) == alone


def test_a_dry_run_copies_nothing(cloud: Cloud) -> None:
    filled(cloud, 1_200)
    transfer = copied(cloud, dryRun=True)
    run(cloud, transfer)
    assert set(cloud.buckets.count) == {"list"}
    assert (summary(cloud, transfer).planned, summary(cloud, transfer).objects) == (1_200, 0)


def test_a_budget_that_requests_would_pass_ends_the_transfer(cloud: Cloud) -> None:
    filled(cloud, 1_500)
    transfer = copied(cloud, objective={"maxCostUsd": 0.004})
    with pytest.raises(BudgetReached, match="1,000 objects"):
        next_round(cloud, transfer)


def test_a_key_that_the_prefix_makes_too_long_is_named(cloud: Cloud) -> None:
    cloud.buckets.put("k" * 1_023, "x")
    with pytest.raises(FilesSkipped, match="1024 bytes"):
        run(cloud, copied(cloud))


def test_a_listing_holds_no_list(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one round holds at any time is a unit and a segment, however many keys there are."""
    monkeypatch.setattr(listing, "_SEGMENT", 10)
    filled(cloud, 500)
    run(cloud, copied(cloud))
    transfer = copied(cloud, AGAIN)
    run(cloud, transfer)
    kept = [body for key, body in cloud.objects.objects.items() if f"{transfer.plan_id}/kept/" in key]
    assert [len(body.splitlines()) for body in kept] == [10] * 50


def test_a_listing_of_which_little_is_selected_ends_in_time_and_goes_on(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "ROUND_SECONDS", -1.0)
    filled(cloud, 20)
    transfer = copied(cloud, select={"include": ["/000019"]})
    assert run(cloud, transfer) == {"verified": True, "files": 1}
    assert summary(cloud, transfer).rounds >= 20


def test_what_is_expected_is_told_once_it_is_listed(cloud: Cloud) -> None:
    cloud.buckets.put("large", "x", 3 << 30)
    transfer = copied(cloud, dryRun=True)
    run(cloud, transfer)
    found = summary(cloud, transfer)
    assert (found.planned_writes, found.objects) == (26, 0)
    assert found.estimate is not None
    assert found.estimate.usd == pytest.approx(26 * 5e-6 + 0.4e-6 + (3 << 30) / 1e9 * 0.02)
    assert 0 < found.estimate.least_seconds < found.estimate.most_seconds


def test_what_was_found_changed_and_not_copied_is_not_taken_for_the_same_by_the_next_run(cloud: Cloud) -> None:
    """Somebody has overwritten a copy by as many bytes, later than the source: size and time would pass it."""
    cloud.buckets.put("x", "ours")
    cloud.clock.sleep(5)
    run(cloud, copied(cloud))
    cloud.clock.sleep(5)
    cloud.buckets.put_there("x", "theirs")
    second = copied(cloud, AGAIN)
    assert next_round(cloud, second).units == 1
    record = cloud.transfers.get("again")
    assert record is not None
    tear_down(cloud.world, record)
    third = copied(cloud, THIRD)
    run(cloud, third)
    assert cloud.buckets.placed["x"].content == "ours"


def test_what_was_left_out_is_tried_again_by_the_next_run(cloud: Cloud) -> None:
    cloud.buckets.put("x", "ours")
    cloud.clock.sleep(5)
    run(cloud, copied(cloud))
    cloud.clock.sleep(5)
    cloud.buckets.put_there("x", "theirs")
    cloud.buckets.before["head", cloud.buckets.count["head"] + 1] = denied
    run(cloud, copied(cloud, AGAIN, onProblem="skip"))
    assert cloud.buckets.placed["x"].content == "theirs"
    run(cloud, copied(cloud, THIRD))
    assert cloud.buckets.placed["x"].content == "ours"


def denied() -> NoReturn:
    raise NotCopied("source-unreadable", "AccessDenied")


def test_the_marker_of_the_prefix_itself_is_copied_and_noted_like_any_object(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "ROUND_SECONDS", -1.0)
    for key in ("", "\x01", "a", "a/", "a/b", "a//b", "\uffff", "\U0001f600"):
        cloud.buckets.put(key, f"of {key!r}")
    cloud.clock.sleep(5)
    run(cloud, copied(cloud))
    assert {key: one.content for key, one in cloud.buckets.placed.items()} == {
        key: one.content for key, one in cloud.buckets.here.items()
    }
    second = copied(cloud, AGAIN)
    run(cloud, second)
    assert summary(cloud, second).planned == 0


def archived(cloud: Cloud) -> dict[str, object]:
    """Two of three objects are archived; the request's source as it is."""
    filled(cloud, 3)
    cloud.buckets.here["000001"].storage_class = "GLACIER"
    cloud.buckets.here["000002"].storage_class = "DEEP_ARCHIVE"
    cloud.buckets.here["000002"].size = 10**12
    source: dict[str, object] = bucket_request()["source"]
    return source


def test_archived_objects_refuse_the_transfer_with_what_restoring_them_costs(cloud: Cloud) -> None:
    archived(cloud)
    transfer = copied(cloud)
    with pytest.raises(SurveyProblem) as error:
        next_round(cloud, transfer)
    told = str(error.value)
    assert told.startswith("$.source.archived: 'refuse', and of 's3://from/a/' 2 objects of 1.00 TB are archived")
    assert "(DEEP_ARCHIVE: 1; GLACIER: 1), '000001' the first of them: restoring costs about $20.00" in told
    assert "write $.source.archived as 'restore' or 'skip'" in told
    assert cloud.buckets.placed == {}


def test_archived_objects_are_left_out_and_counted_where_the_request_says_so(cloud: Cloud) -> None:
    transfer = copied(cloud, source={**archived(cloud), "archived": "skip"})
    run(cloud, transfer)
    assert list(cloud.buckets.placed) == ["000000"]
    record = cloud.transfers.get("first")
    assert record
    assert record.unselected
    assert record.unselected.counts == {"archived": 2}


def test_what_select_leaves_out_is_not_asked_whether_it_is_archived(cloud: Cloud) -> None:
    archived(cloud)
    run(cloud, copied(cloud, select={"exclude": ["000001", "000002"]}))
    assert list(cloud.buckets.placed) == ["000000"]
