import json
from typing import Any

import pytest

from lambdas.core.chunks.chunk import RANGE_SIZE, RANGES_PER_RUN
from lambdas.core.chunks.chunk_life import Change
from lambdas.core.chunks.plan import MIB
from lambdas.core.chunks.transfer_plan import TransferPlan
from lambdas.core.errors import FailTransfer, TransferFenced
from lambdas.core.record import transfer_life
from lambdas.core.survey.survey import ComparisonSurvey
from lambdas.handlers.states.plan_chunks import PlanInput, plan_chunks
from tests.lambdas.builders import ARN, ENDS, SHARED, estimate, paths, survey, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.hdfs import hdfs_destination

DELIVERED = {"digest": "0" * 64, "pathId": "direct", "lane": 0, "startedAt": 1.0, "deliveredAt": 2.0}
ENTRIES = [
    {"path": "set", "kind": "directory", "size": 0},
    {"path": "set/large", "kind": "file", "size": 2 * MIB + 5},
    {"path": "set/a", "kind": "file", "size": 10},
    {"path": "set/empty", "kind": "file", "size": 0},
    {"path": "set/link", "kind": "symlink", "size": 0, "target": "a"},
]


def prepared(**changes: Any) -> tuple[Cloud, PlanInput]:
    cloud = Cloud()
    accepted = transfer(**{"chunkSizeMiB": 1, **changes})
    cloud.transfers.create(accepted)
    cloud.transfers.change(transfer(), transfer_life.note(paths=paths()))
    lines = [json.dumps({"source": "/" + str(e["path"]), "mode": 420, "mtimeNs": 1, "inode": 1, **e}) for e in ENTRIES]
    cloud.objects.put(f"{ENDS}listing/part-00000.ndjson", "\n".join(lines[:2]).encode() + b"\n")
    cloud.objects.put(f"{ENDS}listing/part-00001.ndjson", "\n".join(lines[2:]).encode() + b"\n")
    whole = survey(2, size=2 * MIB + 15, files=3)
    return cloud, PlanInput(transfer=accepted, survey=whole, estimate=estimate(1))


def test_plan_items_and_manifest_agree() -> None:
    cloud, event = prepared()
    found = plan_chunks(event, cloud.world)
    assert (found.chunks, found.bytes, found.files, found.last_phase_chunks) == (5, 2 * MIB + 15, 3, 1)
    items = list(cloud.chunks.read(SHARED, found))
    assert [item.phase for item in items] == [0, 0, 0, 0, 1]
    assert sum(item.files for item in items) == len(ENTRIES)
    assert {item.expires_at for item in items} == {int(cloud.clock.now()) + cloud.world.env.chunk_retention_seconds}
    for item in items:
        lines = cloud.objects.objects[ENDS + item.manifest_key][item.manifest_start : item.manifest_end].splitlines()
        assert item.bytes == sum(json.loads(line)["length"] for line in lines)
    assert TransferPlan.model_validate_json(cloud.objects.objects[f"{ENDS}plan.json"]) == found
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.plan == found


def test_first_membership_is_the_direct_path() -> None:
    cloud, event = prepared()
    found = plan_chunks(event, cloud.world)
    first = cloud.agents.membership(SHARED)
    assert first is not None
    paths = [(path.path_id, path.receiver, path.lanes) for path in first.paths]
    assert paths == [("direct", "54.1.0.1:4601", found.lanes_per_path)]
    assert first.bandwidth_limit_mbps is None


def test_first_membership_has_the_limit_of_the_request() -> None:
    cloud, event = prepared(bandwidthLimitMbps=80)
    plan_chunks(event, cloud.world)
    first = cloud.agents.membership(SHARED)
    assert first is not None
    assert first.bandwidth_limit_mbps == 80


def test_first_membership_has_the_limit_of_the_timetable_now_though_the_execution_has_waited() -> None:
    rows = [{"from": "00:00", "mbps": 400}, {"from": "00:20", "mbps": 80}]
    cloud, event = prepared(bandwidthLimitMbps={"timetable": rows})
    cloud.clock.time = 1200.0
    plan_chunks(event, cloud.world)
    first = cloud.agents.membership(SHARED)
    assert first is not None
    assert first.bandwidth_limit_mbps == 80


def test_run_twice_it_writes_the_same() -> None:
    cloud, event = prepared()
    first = plan_chunks(event, cloud.world)
    before = dict(cloud.objects.objects)
    assert plan_chunks(event, cloud.world) == first
    assert cloud.objects.objects == before


def test_a_later_run_plans_what_has_changed_in_numbers_of_its_own() -> None:
    cloud, event = prepared()
    first = plan_chunks(event, cloud.world)
    lines = cloud.objects.objects[f"{ENDS}listing/part-00001.ndjson"].splitlines()
    cloud.objects.put(f"{ENDS}changed/3/part-00000.ndjson", lines[0])
    changed = {**event.survey.source.to_document(), "side": "comparison", "files": 1, "bytes": 10, "parts": 1}
    for key in ("skipped", "problems", "problemCount", "listingDigest"):
        del changed[key]
    comparison = ComparisonSurvey.from_document(
        {**changed, "sameFiles": 2, "sameBytes": 2 * MIB + 5, "newFiles": 1, "newBytes": 10}
    )
    again = event.transfer
    for number in (2, 3):
        cloud.transfers.change(again, transfer_life.close("FAILED"))
        again = event.transfer.model_copy(update={"run": number, "execution_arn": f"{ARN}-{number}"})
        assert cloud.transfers.resume(again)
    cloud.transfers.change(again, transfer_life.note(paths=paths()))
    cloud.agents.forget(SHARED)
    later = event.model_copy(
        update={
            "transfer": again,
            "survey": event.survey.model_copy(update={"comparison": comparison, "folder": "changed/3/"}),
        }
    )
    found = plan_chunks(later, cloud.world)
    assert (found.first_range, found.chunks, found.bytes, found.files) == (2 * RANGES_PER_RUN, 1, 10, 1)
    assert [item.chunk for item in cloud.chunks.read(SHARED, found)] == [2 * RANGES_PER_RUN * RANGE_SIZE]
    assert len(list(cloud.chunks.read(SHARED, first))) == 5


def test_a_planner_whose_execution_was_stopped_changes_nothing_of_the_next_one() -> None:
    cloud, event = prepared()
    cloud.transfers.change(transfer(), transfer_life.close("FAILED"))
    assert cloud.transfers.resume(
        event.transfer.model_copy(
            update={"run": 2, "execution_arn": "arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:second"}
        )
    )
    with pytest.raises(TransferFenced, match="goes on in another execution"):
        plan_chunks(event, cloud.world)
    record = cloud.transfers.get("first")
    assert record is not None
    assert (record.plan, cloud.agents.membership(SHARED)) == (None, None)
    assert f"{ENDS}plan.json" not in cloud.objects.objects


def test_a_plan_that_still_fits_is_taken_up_as_it_was_left() -> None:
    cloud, event = prepared()
    first = plan_chunks(event, cloud.world)
    numbers = [item.chunk for item in cloud.chunks.read(SHARED, first)]
    delivered = Change("deliver", 1, DELIVERED)
    noted = Change("note-failure", 1, {"failedAttempt": 1, "reason": "stream-lost"})
    assert cloud.chunks.change(SHARED, numbers[0], delivered)
    assert cloud.chunks.change(SHARED, numbers[1], noted)
    cloud.transfers.change(transfer(), transfer_life.close("FAILED"))
    cloud.agents.forget(SHARED)
    again = event.transfer.model_copy(
        update={"run": 2, "execution_arn": "arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:second"}
    )
    assert cloud.transfers.resume(again)
    cloud.transfers.change(again, transfer_life.note(paths=paths()))
    survey = event.survey.model_copy(update={"goes_on": True})
    objects = dict(cloud.objects.objects)
    assert plan_chunks(event.model_copy(update={"transfer": again, "survey": survey}), cloud.world) == first
    assert cloud.objects.objects == objects
    items = list(cloud.chunks.read(SHARED, first))
    assert [(item.state, item.attempt) for item in items[:3]] == [("DELIVERED", 1), ("PENDING", 2), ("PENDING", 1)]
    record = cloud.transfers.get("first")
    assert record is not None
    assert (record.plan, record.unfulfilled) == (first, first)


def test_chunks_that_go_to_hdfs_are_whole_blocks_and_a_file_of_one_block_is_not_cut() -> None:
    for keys, mib, chunks in (({}, 128, 2), ({"blockSizeMiB": 1}, 1, 5)):
        cloud, event = prepared(chunkSizeMiB=None, destination=hdfs_destination(**keys))
        found = plan_chunks(event, cloud.world)
        assert (found.chunk_size_bytes, found.chunks) == (mib * MIB, chunks)


def test_empty_listing_is_a_plan_without_chunks() -> None:
    cloud, event = prepared()
    empty = PlanInput(transfer=event.transfer, survey=survey(0, size=0, files=0), estimate=event.estimate)
    assert plan_chunks(empty, cloud.world).chunks == 0


def test_plan_without_paths_is_a_failure_of_the_transfer() -> None:
    cloud = Cloud()
    accepted = transfer()
    cloud.transfers.create(accepted)
    with pytest.raises(FailTransfer, match="no resolved paths"):
        plan_chunks(PlanInput(transfer=accepted, survey=survey(), estimate=estimate()), cloud.world)
