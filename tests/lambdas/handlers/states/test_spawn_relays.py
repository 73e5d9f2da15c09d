import pytest

from lambdas.core.errors import CptError, LaunchRefused, MissingPermission, NoCapacity, TransferFenced
from lambdas.core.estimate.pair_route import PairRoute
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Spawned
from lambdas.core.request.request import Objective
from lambdas.handlers.states.spawn_relays import SpawnInput, spawn_relays
from lambdas.operations.fleet.providers.turns import TurnLaterError
from tests.lambdas.builders import IRELAND, WEST, delivered, estimate, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import begin


def prepared() -> Cloud:
    cloud = Cloud()
    begin(cloud, transfer())
    return cloud


def event(pairs: int = 2, *, pre_test: bool = False, market: str = "on-demand") -> SpawnInput:
    accepted = transfer(relays={"market": market, "instanceTypes": ["t3.small", "t3.medium"]})
    return SpawnInput(transfer=accepted, estimate=estimate(pairs, pre_test=pre_test))


def noted(cloud: Cloud) -> Spawned:
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.spawned is not None
    return record.spawned


def nodes(cloud: Cloud) -> dict[str, str]:
    return {node.node_id: node.state for node in cloud.nodes.of("first")}


def test_pairs_are_launched_beside_each_end() -> None:
    cloud = prepared()
    assert spawn_relays(event(), cloud.world) == {
        "wanted": 2,
        "spawned": 2,
        "preTest": False,
        "review": False,
        "notes": [],
    }
    (west,), (ireland,) = cloud.compute[WEST].launches, cloud.compute[IRELAND].launches
    assert (west.subnet_id, west.group_id, west.public_address) == ("subnet-source", "vpc-source/cpt-relay", True)
    assert (ireland.subnet_id, ireland.role, ireland.count) == ("subnet-destination", "destination", 2)
    expected = {f"{role}-{slot}-0": "SPAWNED" for role in ("source", "destination") for slot in (1, 2)}
    assert nodes(cloud) == expected


def test_each_side_launches_its_own_type() -> None:
    cloud = prepared()
    accepted = transfer(relays={"instanceTypes": {"source": ["t3.small"], "destination": ["t3.medium", "t3.small"]}})
    wanted = estimate(2).model_copy(update={"destination_type": "t3.medium"})
    spawn_relays(SpawnInput(transfer=accepted, estimate=wanted), cloud.world)
    assert [one.instance_type for one in cloud.compute[WEST].launches] == ["t3.small"]
    assert [one.instance_type for one in cloud.compute[IRELAND].launches] == ["t3.medium"]


def test_pre_test_launches_twice_as_many() -> None:
    cloud = prepared()
    assert spawn_relays(event(2, pre_test=True), cloud.world) == {
        "wanted": 4,
        "spawned": 4,
        "preTest": True,
        "review": False,
        "notes": [],
    }
    assert len(cloud.alive()) == 8


def test_sides_are_launched_as_asked_for_and_a_surplus_that_was_asked_for_stays() -> None:
    cloud = Cloud()
    sides = transfer(relays={"pairs": {"source": 1, "destination": 2}, "instanceTypes": ["t3.small"]})
    begin(cloud, sides)
    figures = estimate(1).figures.model_copy(update={"pair_route": PairRoute(asked=[1, 2])})
    asked = SpawnInput(transfer=sides, estimate=estimate(1).model_copy(update={"figures": figures}))
    assert spawn_relays(asked, cloud.world)["spawned"] == 1
    assert nodes(cloud) == {"source-1-0": "SPAWNED", "destination-1-0": "SPAWNED", "destination-2-0": "SPAWNED"}


def test_repeated_call_launches_nothing_more() -> None:
    cloud = prepared()
    spawn_relays(event(), cloud.world)
    assert spawn_relays(event(), cloud.world)["spawned"] == 2
    assert len(cloud.alive()) == 4


def test_partial_capacity_is_used_and_the_surplus_terminated() -> None:
    cloud = prepared()
    cloud.subnets[IRELAND].zones = "a"
    cloud.compute[IRELAND].capacity = {"t3.small": 1, "t3.medium": 1}
    assert spawn_relays(event(3), cloud.world)["spawned"] == 2
    assert len(cloud.alive()) == 4
    assert nodes(cloud)["source-3-0"] == "LOST"


@pytest.mark.parametrize("code", ["InsufficientInstanceCapacity", "Unsupported", "SpotMaxPriceTooLow"])
def test_capacity_error_goes_to_the_next_type(code: str) -> None:
    cloud = prepared()
    cloud.compute[WEST].refusals = {"t3.small": code}
    assert spawn_relays(event(), cloud.world)["spawned"] == 2
    assert {node.instance_type for node in cloud.nodes.of("first") if node.stage == 0} == {"t3.medium"}


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        ("UnauthorizedOperation", MissingPermission, "ec2:RunInstances in us-west-2"),
        ("InvalidAMIID.NotFound", LaunchRefused, "InvalidAMIID.NotFound.*deploy the stack of this region again"),
        ("VcpuLimitExceeded", NoCapacity, "the quota of vCPUs in us-west-2 allowed 0 of 2 relays"),
    ],
)
def test_refusal_on_one_side_leaves_nothing_on_the_other(code: str, error: type[CptError], words: str) -> None:
    cloud = prepared()
    cloud.compute[WEST].refusals = {"t3.small": code}
    with pytest.raises(error, match=words):
        spawn_relays(event(), cloud.world)
    (note,) = noted(cloud).notes
    assert note.startswith(error.__name__)
    assert cloud.alive() == []
    assert set(nodes(cloud).values()) == {"LOST"}


def test_no_capacity_anywhere_says_where_it_was_looked_for() -> None:
    cloud = prepared()
    cloud.compute[WEST].refusals = dict.fromkeys(["t3.small", "t3.medium"], "InsufficientInstanceCapacity")
    with pytest.raises(
        NoCapacity, match=r"no source relay in us-west-2: .* us-west-2a for t3\.small, t3\.medium; .* us-west-2b"
    ):
        spawn_relays(event(), cloud.world)


def test_throttled_launch_comes_again_for_its_own_side_alone() -> None:
    cloud = prepared()
    cloud.compute[WEST].refusals = {"t3.small": "RequestLimitExceeded"}
    with pytest.raises(TurnLaterError) as later:
        spawn_relays(event(), cloud.world)
    assert len(cloud.alive()) == 2
    cloud.compute[WEST].refusals = {}
    cloud.clock.time = max(later.value.queue.due.values())
    again = event().model_copy(update={"queue": later.value.queue})
    assert spawn_relays(again, cloud.world)["spawned"] == 2
    assert len(cloud.alive()) == 4
    assert len(cloud.compute[IRELAND].launches) == 1


def test_launch_that_stays_throttled_gives_back_at_once_what_the_other_side_has() -> None:
    cloud = prepared()
    cloud.compute[WEST].refusals = {"t3.small": "RequestLimitExceeded"}
    began = cloud.clock.now()

    def spawn_until_it_is_given_up() -> None:
        waiting = event()
        while True:
            try:
                spawn_relays(waiting, cloud.world)
            except TurnLaterError as later:
                assert len(cloud.alive()) == 2
                waiting = event().model_copy(update={"queue": later.queue})
                cloud.clock.time = max(cloud.clock.time, *later.queue.due.values())

    with pytest.raises(NoCapacity, match="refused to launch in us-west-2 16 times"):
        spawn_until_it_is_given_up()
    assert cloud.alive() == []
    assert set(nodes(cloud).values()) == {"LOST"}
    assert cloud.clock.now() - began < 300
    assert "NoCapacity" in noted(cloud).notes[0]


def test_fence_set_while_launching_terminates_what_came() -> None:
    cloud = prepared()
    cloud.compute[WEST].on_launch = lambda: cloud.transfers.change(transfer(), transfer_life.FENCE)
    with pytest.raises(TransferFenced):
        spawn_relays(event(), cloud.world)
    assert cloud.alive() == []


def test_finished_transfer_gets_no_relays() -> None:
    cloud = prepared()
    cloud.transfers.change(transfer(), transfer_life.finish(delivered()))
    assert spawn_relays(event(), cloud.world)["spawned"] == 0
    assert cloud.compute[WEST].launches == []


def test_spot_falls_back_to_on_demand_and_each_node_says_what_it_is() -> None:
    cloud = Cloud()
    spot = event(1, market="spot")
    begin(cloud, spot.transfer)
    cloud.compute[WEST].refusals = {"spot": "InsufficientInstanceCapacity"}
    assert spawn_relays(spot, cloud.world)["spawned"] == 1
    assert [launch.spot for launch in cloud.compute[WEST].launches] == [True, True, False]
    assert {node.stage_name: node.market for node in cloud.nodes.of("first")} == {
        "source": "on-demand",
        "destination": "spot",
    }
    assert noted(cloud).notes == ["EC2 has too little capacity in us-west-2a for spot t3.small, spot t3.medium"]


def test_another_zone_is_used_where_the_own_one_has_no_capacity() -> None:
    cloud = prepared()
    cloud.compute[WEST].refusals = {"us-west-2a": "InsufficientInstanceCapacity"}
    assert spawn_relays(event(), cloud.world)["spawned"] == 2
    zones = {(node.stage_name, node.availability_zone, node.instance_type) for node in cloud.nodes.of("first")}
    assert zones == {("source", "us-west-2b", "t3.small"), ("destination", "eu-west-1a", "t3.small")}
    assert cloud.compute[WEST].launches[-1].subnet_id == "subnet-source-b"
    assert noted(cloud).notes == ["EC2 has too little capacity in us-west-2a for t3.small, t3.medium"]


def test_other_zones_are_left_out_where_the_budget_has_no_room_for_their_traffic() -> None:
    cloud = Cloud()
    tight = event()
    transfer_ = tight.transfer.model_copy(
        update={"request": tight.transfer.request.model_copy(update={"objective": Objective(max_cost_usd=0.05)})}
    )
    begin(cloud, transfer_, tight.estimate)
    cloud.compute[WEST].refusals = {"us-west-2a": "InsufficientInstanceCapacity"}
    with pytest.raises(
        NoCapacity, match=r"other zones of us-west-2 were left out: .*\$0\.0400 more, which .*\(0\.05\)"
    ):
        spawn_relays(SpawnInput(transfer=transfer_, estimate=tight.estimate), cloud.world)
    assert {launch.subnet_id for launch in cloud.compute[WEST].launches} == {"subnet-source"}


def test_what_was_launched_before_a_refusal_is_used() -> None:
    cloud = prepared()
    cloud.compute[WEST].capacity = {"t3.small": 1}
    cloud.compute[WEST].refusals = {"t3.medium": "UnauthorizedOperation"}
    assert spawn_relays(event(), cloud.world)["spawned"] == 1
    assert len(cloud.alive()) == 2
    assert any(note.startswith("ec2:RunInstances in us-west-2") for note in noted(cloud).notes)


def test_vpc_without_an_enrolled_subnet_is_refused() -> None:
    cloud = prepared()
    cloud.subnets[WEST].public = False
    with pytest.raises(LaunchRefused, match="no subnet with a route to an internet gateway of vpc-source"):
        spawn_relays(event(), cloud.world)
    assert cloud.alive() == []


def test_surplus_that_ec2_does_not_know_yet_is_terminated_when_it_does() -> None:
    cloud = prepared()
    cloud.subnets[IRELAND].zones = "a"
    cloud.compute[IRELAND].capacity = {"t3.small": 1, "t3.medium": 0}
    cloud.compute[WEST].shown_after = 7
    assert spawn_relays(event(2), cloud.world)["spawned"] == 1
    assert len(cloud.alive()) == 2


def test_wait_for_instances_that_do_not_end_is_bounded() -> None:
    cloud = prepared()
    cloud.subnets[IRELAND].zones = "a"
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
    with pytest.raises(TurnLaterError):
        spawn_relays(event(2), cloud.world)
    first = cloud.alive()
    cloud.compute[WEST].quota, cloud.compute[IRELAND].refusals = 99, {}
    assert spawn_relays(event(2), cloud.world)["spawned"] == 2
    assert first[0] in cloud.alive()
    assert sorted(cloud.alive()) == sorted(node.instance_id for node in cloud.nodes.of("first"))
