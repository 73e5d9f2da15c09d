"""New nodes of a pool: in which zone, and by which launch."""

import pytest

from lambdas.adapters.records import LaunchRequest
from lambdas.core.errors import LaunchRefused
from lambdas.operations.pool import starting
from tests.lambdas.builders import WEST
from tests.lambdas.cloud import Cloud
from tests.lambdas.operations.pool.test_keeping import cloud_with, keep


def test_a_zone_without_capacity_is_passed_over_and_none_at_all_is_said() -> None:
    cloud = cloud_with()
    cloud.compute[WEST].refusals["c6in.large"] = "InsufficientInstanceCapacity"
    with pytest.raises(LaunchRefused, match="InsufficientInstanceCapacity"):
        keep(cloud)
    cloud.compute[WEST].refusals.clear()
    assert keep(cloud).started == 1


def test_requests_of_nodes_name_no_transfer() -> None:
    cloud = cloud_with()
    keep(cloud)
    request: LaunchRequest = cloud.compute[WEST].launches[0]
    assert not request.spot
    assert len(request.client_token) == 64


def test_a_launch_that_is_repeated_is_the_same_and_a_later_one_is_not() -> None:
    cloud = cloud_with()

    def tokens() -> list[str]:
        return [request.client_token for request in cloud.compute[WEST].launches]

    for _ in range(2):
        assert starting.start(cloud.world, WEST, [], 1) == 1
    assert len(set(tokens())) == 1
    assert len(cloud.pool.nodes(WEST)) == 1
    starting.start(cloud.world, WEST, cloud.pool.nodes(WEST), 1)
    assert len(set(tokens())) == 2


def test_a_region_without_a_network_says_what_to_deploy(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud: Cloud = cloud_with()
    monkeypatch.setattr(cloud.groups[WEST], "vpc_of", lambda _: None)
    with pytest.raises(LaunchRefused, match="deploy cpt-region-us-west-2"):
        starting.start(cloud.world, WEST, [], 1)
