from typing import Any

import pytest

from lambdas.core.chunks.plan import MIB
from lambdas.core.chunks.transfer_plan import TransferPlan
from lambdas.core.errors import TransferFenced
from lambdas.core.record import transfer_life
from lambdas.handlers.states.open_plan import OpenInput, open_plan
from tests.lambdas.builders import ENDS, SHARED, announcement, open_survey, paths, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.hdfs import hdfs_destination


def opened(size: int, **request: Any) -> tuple[Cloud, TransferPlan]:
    cloud = Cloud()
    accepted = transfer(**request)
    cloud.transfers.create(accepted)
    cloud.transfers.change(transfer(), transfer_life.note(paths=paths()))
    event = OpenInput(transfer=accepted, survey=open_survey(announcement(size=size)))
    return cloud, open_plan(event, cloud.world)


def test_the_ends_find_a_plan_without_a_chunk_and_the_direct_path() -> None:
    cloud, found = opened(10**9)
    assert (found.open, found.chunks, found.last_phase_chunks) == (True, 0, 0)
    assert TransferPlan.model_validate_json(cloud.objects.objects[f"{ENDS}plan.json"]) == found
    record, first = cloud.transfers.get("first"), cloud.agents.membership(SHARED)
    assert record is not None
    assert record.plan == found
    assert first is not None
    assert [(path.path_id, path.lanes) for path in first.paths] == [("direct", found.lanes_per_path)]


@pytest.mark.parametrize(
    ("size", "request_", "mib"),
    [
        (10**6, {}, 8),
        (10**12, {}, 64),
        (10**12, {"chunkSizeMiB": 1}, 1),
        (10**6, {"destination": hdfs_destination()}, 128),
        (10**12, {"destination": hdfs_destination(blockSizeMiB=256)}, 256),
        (10**6, {"destination": hdfs_destination(), "chunkSizeMiB": 1}, 1),
    ],
)
def test_chunks_are_not_small_where_nobody_knows_how_many_there_will_be(
    size: int, request_: dict[str, Any], mib: int
) -> None:
    assert opened(size, **request_)[1].chunk_size_bytes == mib * MIB


def test_a_transfer_that_is_taken_down_gets_no_plan() -> None:
    cloud, found = opened(10**9)
    cloud.transfers.change(transfer(), transfer_life.FENCE)
    with pytest.raises(TransferFenced):
        open_plan(OpenInput(transfer=transfer(), survey=open_survey()), cloud.world)
    assert found.open
