"""A transfer whose sides have other numbers and types of relays, from launch to teardown."""

from typing import Any

import pytest

from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.route_use import RouteUse
from lambdas.core.fleet.membership import Membership, TransferPath
from lambdas.core.spending import meter
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from lambdas.handlers.states.spawn_relays import SpawnInput, spawn_relays
from lambdas.handlers.states.tear_down import TearDownInput, tear_down
from lambdas.operations.fleet.replacement import Failing, replace
from tests.lambdas.builders import IRELAND, SHARED, WEST, estimate, figure, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import ROUTE_KEY, begin, path_ids, states

STRONG, WEAK = "c6in.large", "t3.small"


def accepted() -> AcceptedTransfer:
    return transfer(relays={"instanceTypes": {"source": [STRONG], "destination": [WEAK]}})


def chosen(source: int, destination: int) -> Estimate:
    use = RouteUse(
        stage=0,
        regions=[WEST, IRELAND],
        relays=[source, destination],
        rate=figure(60),
        usd_per_gb=0.02,
        hours_usd=[0.12, 0.03],
    )
    plain = estimate(2)
    rows = [row.model_copy(update={"planned": [use]}) if row.pairs == 2 else row for row in plain.rows]
    return plain.model_copy(update={"rows": rows, "instance_type": STRONG, "destination_type": WEAK})


def launched(source: int, destination: int) -> Cloud:
    cloud = Cloud()
    begin(cloud, accepted(), chosen(source, destination))
    direct = TransferPath(path_id="direct", generation=0, hops=[], receiver="54.1.0.1:4601", lanes=2)
    cloud.agents.write_membership(SHARED, Membership(version=1, paths=[direct]))
    cloud.agents.route_keys[SHARED] = ROUTE_KEY
    spawn_relays(SpawnInput(transfer=accepted(), estimate=chosen(source, destination)), cloud.world)
    return cloud


def served(source: int, destination: int) -> Cloud:
    cloud = launched(source, destination)
    await_relays(AwaitInput(transfer=accepted()), cloud.world)
    return cloud


def test_each_side_gets_its_number_of_its_type() -> None:
    cloud = launched(1, 3)
    started = {region: compute.launches for region, compute in cloud.compute.items()}
    assert {region: [(one.instance_type, one.count) for one in every] for region, every in started.items()} == {
        WEST: [(STRONG, 1)],
        IRELAND: [(WEAK, 3)],
    }


def test_every_relay_of_one_side_feeds_every_one_of_the_other() -> None:
    assert path_ids(served(1, 3)) == ["direct", "pair-1", "pair-1-2", "pair-1-3"]
    assert len(path_ids(served(3, 2))) == 1 + 3 * 2


def test_each_side_is_paid_at_its_own_price() -> None:
    cloud = served(1, 3)
    nodes = cloud.nodes.of("first")
    begun = nodes[0].requested_at
    assert {node.requested_at for node in nodes} == {begun}
    hour = meter.relay_dollars(nodes, begun + 3600, chosen(1, 3), "on-demand")
    assert hour == pytest.approx(0.12 + 3 * 0.03)


def test_weak_relay_that_is_lost_leaves_the_strong_one_to_the_others() -> None:
    cloud = served(1, 3)
    cloud.compute[IRELAND].refusals[WEAK] = "InsufficientInstanceCapacity"
    (node,) = [node for node in cloud.nodes.of("first") if node.node_id == "destination-1-0"]
    assert replace(cloud.world, node, Failing("lost", "killed by the test")) == "removed"
    assert path_ids(cloud) == ["direct", "pair-1-2", "pair-1-3"]
    assert states(cloud)["source-1-0"] == "JOINED"


def test_strong_relay_that_is_lost_is_replaced_by_one_of_its_type() -> None:
    cloud = served(1, 3)
    (node,) = [node for node in cloud.nodes.of("first") if node.node_id == "source-1-0"]
    assert replace(cloud.world, node, Failing("lost", "killed by the test")) == "replaced"
    (successor,) = [one for one in cloud.nodes.of("first") if one.node_id == "source-1-1"]
    assert successor.instance_type == STRONG
    assert path_ids(cloud) == ["direct", "pair-1", "pair-1-2", "pair-1-3"]


def test_nothing_is_left_of_either_side() -> None:
    cloud = served(1, 3)
    event: dict[str, Any] = {"transfer_id": "first", "execution_arn": accepted().execution_arn}
    tear_down(TearDownInput(**event), cloud.world)
    assert cloud.alive() == []
    assert [rule for groups in cloud.groups.values() for rule in groups.rules()] == []
