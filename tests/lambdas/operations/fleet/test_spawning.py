import pytest

from lambdas.core.errors import NoCapacity
from lambdas.core.record.transfer_record import Estimated, Spawned
from lambdas.operations.fleet.spawning import spawn
from tests.lambdas.builders import WEST, estimate, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import begin


def prepared() -> tuple[Cloud, Estimated]:
    cloud = Cloud()
    begin(cloud, transfer())
    record = cloud.transfers.get("first")
    assert isinstance(record, Estimated)
    return cloud, record


def noted(cloud: Cloud) -> Spawned | None:
    record = cloud.transfers.get("first")
    return record.spawned if record else None


def test_what_is_lacking_of_so_many_paths_is_launched_and_noted() -> None:
    cloud, record = prepared()
    found = spawn(cloud.world, record, estimate(2), 2, 2, None)
    assert (found.wanted, found.launched) == (2, 2)
    assert sorted({node.slot for node in cloud.nodes.of("first")}) == [1, 2]
    assert noted(cloud) == found


def test_refusal_is_noted_before_it_is_raised() -> None:
    cloud, record = prepared()
    cloud.compute[WEST].capacity = dict.fromkeys(["t3.small", "t3.medium"], 0)
    with pytest.raises(NoCapacity):
        spawn(cloud.world, record, estimate(2), 2, 2, None)
    found = noted(cloud)
    assert found is not None
    assert (found.wanted, found.launched, found.notes[0][:11]) == (2, 0, "NoCapacity:")
