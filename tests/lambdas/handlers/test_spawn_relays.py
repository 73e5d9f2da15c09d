import pytest

from lambdas.core.errors import CptError, LaunchRefused, MissingPermission, NoCapacity, Throttled, TransferFenced
from lambdas.handlers.spawn_relays import SpawnInput, spawn_relays
from tests.lambdas.builders import IRELAND, WEST, estimate, paths, transfer
from tests.lambdas.cloud import Cloud


def prepared() -> Cloud:
    cloud = Cloud()
    cloud.transfers.create(transfer())
    return cloud


def event(pairs: int = 2, *, pre_test: bool = False, market: str = "on-demand") -> SpawnInput:
    accepted = transfer(relays={"market": market, "instanceTypes": ["t3.small", "t3.medium"]})
    return SpawnInput(transfer=accepted, estimate=estimate(pairs, pre_test=pre_test), paths=paths())


def nodes(cloud: Cloud) -> dict[str, str]:
    return {node.node_id: node.state for node in cloud.nodes.of("first")}


def test_pairs_are_launched_beside_each_end() -> None:
    cloud = prepared()
    assert spawn_relays(event(), cloud.world) == {"wanted": 2, "spawned": 2, "preTest": False}
    (west,), (ireland,) = cloud.compute[WEST].launches, cloud.compute[IRELAND].launches
    assert (west.subnet_id, west.group_id, west.public_address) == ("subnet-source", "vpc-source/cpt-relay", True)
    assert (ireland.subnet_id, ireland.role, ireland.count) == ("subnet-destination", "destination", 2)
    expected = {f"{role}-{slot}-0": "SPAWNED" for role in ("source", "destination") for slot in (1, 2)}
    assert nodes(cloud) == expected


def test_pre_test_launches_twice_as_many() -> None:
    cloud = prepared()
    assert spawn_relays(event(2, pre_test=True), cloud.world) == {"wanted": 4, "spawned": 4, "preTest": True}
    assert len(cloud.alive()) == 8


def test_repeated_call_launches_nothing_more() -> None:
    cloud = prepared()
    spawn_relays(event(), cloud.world)
    assert spawn_relays(event(), cloud.world)["spawned"] == 2
    assert len(cloud.alive()) == 4


def test_partial_capacity_is_used_and_the_surplus_terminated() -> None:
    cloud = prepared()
    cloud.compute[IRELAND].capacity = {"t3.small": 1, "t3.medium": 1}
    assert spawn_relays(event(3), cloud.world)["spawned"] == 2
    assert len(cloud.alive()) == 4
    assert nodes(cloud)["source-3-0"] == "LOST"


@pytest.mark.parametrize("code", ["InsufficientInstanceCapacity", "Unsupported", "SpotMaxPriceTooLow"])
def test_capacity_error_goes_to_the_next_type(code: str) -> None:
    cloud = prepared()
    cloud.compute[WEST].refusals = {"t3.small": code}
    assert spawn_relays(event(), cloud.world)["spawned"] == 2
    assert {node.instance_type for node in cloud.nodes.of("first") if node.role == "source"} == {"t3.medium"}


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("UnauthorizedOperation", MissingPermission),
        ("InvalidAMIID.NotFound", LaunchRefused),
        ("VcpuLimitExceeded", NoCapacity),
    ],
)
def test_refusal_on_one_side_leaves_nothing_on_the_other(code: str, error: type[CptError]) -> None:
    cloud = prepared()
    cloud.compute[WEST].refusals = {"t3.small": code}
    with pytest.raises(error, match=code):
        spawn_relays(event(), cloud.world)
    assert cloud.alive() == []
    assert set(nodes(cloud).values()) == {"LOST"}


def test_no_capacity_anywhere_says_what_each_type_answered() -> None:
    cloud = prepared()
    cloud.compute[WEST].refusals = dict.fromkeys(["t3.small", "t3.medium"], "InsufficientInstanceCapacity")
    with pytest.raises(NoCapacity, match=r"no source relay in us-west-2: Insufficient.*; Insufficient"):
        spawn_relays(event(), cloud.world)


def test_throttled_launch_is_retried_with_what_the_other_side_has() -> None:
    cloud = prepared()
    cloud.compute[WEST].refusals = {"t3.small": "RequestLimitExceeded"}
    with pytest.raises(Throttled):
        spawn_relays(event(), cloud.world)
    assert len(cloud.alive()) == 2
    cloud.compute[WEST].refusals = {}
    assert spawn_relays(event(), cloud.world)["spawned"] == 2
    assert len(cloud.alive()) == 4


def test_fence_set_while_launching_terminates_what_came() -> None:
    cloud = prepared()
    cloud.compute[WEST].on_launch = lambda: cloud.transfers.fence("first")
    with pytest.raises(TransferFenced):
        spawn_relays(event(), cloud.world)
    assert cloud.alive() == []


def test_finished_transfer_gets_no_relays() -> None:
    cloud = prepared()
    cloud.transfers.finish("first", {"delivered": {}})
    assert spawn_relays(event(), cloud.world)["spawned"] == 0
    assert cloud.compute[WEST].launches == []


def test_spot_is_asked_for() -> None:
    cloud = Cloud()
    cloud.transfers.create(transfer(relays={"market": "spot"}))
    spawn_relays(event(1, market="spot"), cloud.world)
    assert cloud.compute[WEST].launches[0].spot


def test_surplus_that_ec2_does_not_know_yet_is_terminated_when_it_does() -> None:
    cloud = prepared()
    cloud.compute[IRELAND].capacity = {"t3.small": 1, "t3.medium": 0}
    cloud.compute[WEST].shown_after = 7
    assert spawn_relays(event(2), cloud.world)["spawned"] == 1
    assert len(cloud.alive()) == 2


def test_wait_for_instances_that_do_not_end_is_bounded() -> None:
    cloud = prepared()
    cloud.compute[IRELAND].capacity = {"t3.small": 1, "t3.medium": 0}
    cloud.compute[WEST].immortal = True
    started = cloud.clock.time
    spawn_relays(event(2), cloud.world)
    assert cloud.clock.time - started <= 60


@pytest.mark.parametrize("quota", [1, 2, 3, 5])
def test_quota_is_used_as_far_as_it_goes(quota: int) -> None:
    cloud = prepared()
    cloud.compute[WEST].quota = quota
    assert spawn_relays(event(6), cloud.world)["spawned"] == quota
    assert len(cloud.alive()) == 2 * quota
    tokens = [launch.client_token for launch in cloud.compute[WEST].launches]
    assert len(set(tokens)) == len(tokens)


def test_quota_that_grows_before_a_repeated_call_leaves_no_instance_without_a_node() -> None:
    cloud = prepared()
    cloud.compute[WEST].quota = 1
    cloud.compute[IRELAND].refusals = {"t3.small": "RequestLimitExceeded"}
    with pytest.raises(Throttled):
        spawn_relays(event(2), cloud.world)
    first = cloud.alive()
    cloud.compute[WEST].quota, cloud.compute[IRELAND].refusals = 99, {}
    assert spawn_relays(event(2), cloud.world)["spawned"] == 2
    assert first[0] in cloud.alive()
    assert sorted(cloud.alive()) == sorted(node.instance_id for node in cloud.nodes.of("first"))
