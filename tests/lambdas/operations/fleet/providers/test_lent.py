"""Machines of the user as relays: what is asked of them, what they get, and that nobody ever terminates them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lambdas.adapters.records import NotManagedError
from lambdas.core.errors import InvalidRequest, NoCapacity
from lambdas.core.estimate.route_use import RouteUse
from lambdas.core.fleet.membership import Membership, TransferPath
from lambdas.core.fleet.relay_node import Node
from lambdas.core.record import transfer_life
from lambdas.core.seats.commands import Share
from lambdas.core.spending.meter import relay_dollars
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from lambdas.handlers.states.spawn_relays import SpawnInput, spawn_relays
from lambdas.handlers.states.tear_down import TearDownInput, tear_down
from lambdas.operations import strays
from lambdas.operations.fleet import relay_end
from lambdas.operations.intake.acceptance import accept
from tests.lambdas.builders import IRELAND, SHARED, WEST, estimate, figure, paths, plan, request, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import ROUTE_KEY, path_ids, states
from tests.lambdas.machines import Machine

LENT = {WEST: "i-0c0000001", IRELAND: "i-0d0000001"}


def cloud_with_lent() -> Cloud:
    cloud = Cloud()
    cloud.compute[WEST].lend(LENT[WEST], "10.10.0.9")
    cloud.compute[IRELAND].lend(LENT[IRELAND], "10.11.0.9")
    return cloud


def accepted(cloud: Cloud, **relays_: Any) -> AcceptedTransfer:
    asked = {"instanceTypes": ["t3.small", "t3.medium"], "existing": list(LENT.values()), **relays_}
    found = accept(request(relays=asked), cloud.world)
    return transfer(relays=asked).model_copy(update={"existing": found.existing})


def spawned(
    pairs: int = 1,
    *,
    pre_test: bool = False,
    before: Callable[[Cloud], None] = lambda _: None,
    routes: list[RouteUse] | None = None,
    **relays_: Any,
) -> Cloud:
    cloud = cloud_with_lent()
    before(cloud)
    found = accepted(cloud, **relays_)
    wanted = estimate(pairs, pre_test=pre_test)
    rows = [row.model_copy(update={"planned": routes}) if row.pairs == pairs else row for row in wanted.rows]
    wanted = wanted.model_copy(update={"rows": rows})
    cloud.transfers.create(found)
    cloud.transfers.change(transfer(), transfer_life.note(paths=paths(), estimate=wanted))
    cloud.transfers.change(transfer(), transfer_life.note(plan=plan(size=10**9)))
    direct = TransferPath(path_id="direct", generation=0, hops=[], receiver="54.1.0.1:4600", lanes=2)
    cloud.agents.write_membership(SHARED, Membership(version=1, paths=[direct]))
    cloud.agents.route_keys[SHARED] = ROUTE_KEY
    spawn_relays(SpawnInput(transfer=found, estimate=wanted), cloud.world)
    return cloud


def joined(pairs: int = 1, **relays_: Any) -> Cloud:
    cloud = spawned(pairs, **relays_)
    record = cloud.transfers.get("first")
    assert record is not None
    await_relays(AwaitInput(transfer=record.transfer), cloud.world)
    return cloud


def relay(cloud: Cloud, node_id: str) -> Node:
    return next(node for node in cloud.nodes.of("first") if node.node_id == node_id)


def test_each_machine_serves_at_the_stage_of_its_vpc() -> None:
    cloud = cloud_with_lent()
    found = accept(request(relays={"existing": list(LENT.values())}), cloud.world).existing
    assert [(machine.instance_id, machine.stage) for machine in found] == [
        (LENT[WEST], 0),
        (LENT[IRELAND], 1),
    ]


def stopped(machine: Machine) -> None:
    machine.instance = replace(machine.instance, state="stopped")


def not_lent(machine: Machine) -> None:
    machine.instance = replace(machine.instance, lent_to="another")


def outside(machine: Machine) -> None:
    machine.instance = replace(machine.instance, vpc_id="vpc-other")


def without_group(machine: Machine) -> None:
    machine.instance = replace(machine.instance, group_ids=frozenset())


def without_address(machine: Machine) -> None:
    machine.instance = replace(machine.instance, public_address=None)


def silent(machine: Machine) -> None:
    machine.agent = False


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (stopped, "is stopped; start it first"),
        (not_lent, "adds the tag 'cpt:lent-to' with the value 'cpt'"),
        (outside, "is not in the VPC of an end; name an instance of vpc-source"),
        (without_group, "is not in the security group 'cpt-endpoint'; attach it"),
        (without_address, "has no public address"),
        (silent, "does not answer SSM"),
    ],
)
def test_machine_that_cannot_serve_is_refused_with_the_remedy(spoil: Callable[[Machine], None], words: str) -> None:
    cloud = cloud_with_lent()
    spoil(cloud.compute[WEST].machines[LENT[WEST]])
    with pytest.raises(InvalidRequest) as error:
        accepted(cloud)
    (problem,) = error.value.problems
    assert problem.startswith(f"$.relays.existing[0]: '{LENT[WEST]}'")
    assert words in problem


def test_existing_machines_come_first_where_the_sides_have_other_numbers() -> None:
    use = RouteUse(
        stage=0,
        regions=[WEST, IRELAND],
        relays=[3, 1],
        lent=[1, 1],
        rate=figure(20),
        usd_per_gb=0.02,
        hours_usd=[0.02, 0.02],
    )
    cloud = joined(2, routes=[use])
    assert {node.instance_id for node in cloud.nodes.of("first") if not node.is_ours} == set(LENT.values())
    launched = {(node.stage, node.slot) for node in cloud.nodes.of("first") if node.is_ours}
    assert launched == {(0, 2), (0, 3)}
    assert path_ids(cloud) == ["direct", "pair-1", "pair-2-1", "pair-3-1"]


def test_existing_machines_count_as_relays_and_only_the_missing_ones_are_launched() -> None:
    cloud = spawned(2)
    assert [sum(launch.count for launch in cloud.compute[region].launches) for region in (WEST, IRELAND)] == [1, 1]
    assert {node.slot: node.instance_id for node in cloud.nodes.of("first") if not node.is_ours} == {
        1: LENT[IRELAND]
    } | {1: LENT[WEST]}
    assert {node.slot for node in cloud.nodes.of("first") if node.is_ours} == {2}


NOWHERE = dict.fromkeys(["t3.small", "t3.medium"], "InsufficientInstanceCapacity")


@pytest.mark.parametrize("without", [(WEST,), (IRELAND,), (WEST, IRELAND)])
def test_they_serve_alone_where_launches_find_no_capacity(without: tuple[str, ...]) -> None:
    def refuse(cloud: Cloud) -> None:
        for region in without:
            cloud.compute[region].refusals = NOWHERE

    cloud = spawned(2, before=refuse)
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.spawned is not None
    assert (record.spawned.launched, cloud.alive()) == (1, [])
    assert [note for note in record.spawned.notes if note.startswith("NoCapacity: no ")]
    await_relays(AwaitInput(transfer=record.transfer), cloud.world)
    assert path_ids(cloud) == ["direct", "pair-1"]


def test_on_one_side_alone_they_serve_nobody_and_the_lack_is_told() -> None:
    def refuse(cloud: Cloud) -> None:
        cloud.compute[IRELAND].refusals = NOWHERE

    with pytest.raises(NoCapacity, match="no destination relay in eu-west-1"):
        spawned(2, existing=[LENT[WEST]], before=refuse)


def test_they_serve_without_a_launch_with_their_share() -> None:
    cloud = joined(existingShare=0.25)
    assert cloud.alive() == []
    assert path_ids(cloud) == ["direct", "pair-1"]
    (_, instance, command) = next(sent for sent in cloud.commands[WEST].sent if sent[0] == "relay")
    assert instance == LENT[WEST]
    assert command is not None
    # A type that EC2 does not describe counts 0.75 Gbit/s: a quarter of it, and of two processors.
    told = command["machines"][instance]
    assert told["bandwidthLimitMbps"] == 187
    assert "timeToLiveSeconds" not in told  # it would power itself off
    assert cloud.commands[WEST].shares["relay", instance] == Share(cpu_percent=50)


def test_hops_to_them_are_opened_in_the_group_of_the_ends() -> None:
    cloud = joined()
    west = {(rule.group_id, rule.address) for rule in cloud.groups[WEST].admitted}
    ireland = {(rule.group_id, rule.address) for rule in cloud.groups[IRELAND].admitted}
    assert west == {("vpc-source/cpt-endpoint", "10.10.0.1")}
    assert ireland == {
        ("vpc-destination/cpt-relay", "54.10.0.9"),
        ("vpc-destination/cpt-endpoint", "54.10.0.9"),
        ("vpc-destination/cpt-endpoint", "10.11.0.9"),
    }


def lose(cloud: Cloud) -> None:
    relay_end.lose(cloud.world, relay(cloud, "source-1-0"), "its daemon is gone")
    relay_end.lose(cloud.world, relay(cloud, "destination-1-0"), "its daemon is gone")


def discard(cloud: Cloud) -> None:
    relay_end.discard_unused(cloud.world, cloud.nodes.of("first"), "not joined")


def take_down(cloud: Cloud) -> None:
    record = cloud.transfers.get("first")
    assert record is not None
    tear_down(TearDownInput(transfer_id="first", execution_arn=record.transfer.execution_arn), cloud.world)


def sweep(cloud: Cloud) -> None:
    cloud.transfers.change(transfer(), transfer_life.close("FAILED"))
    for region in LENT:
        strays.terminate(cloud.world, region)


@pytest.mark.parametrize("end", [lose, take_down, sweep])
def test_nobody_terminates_a_machine_of_the_user(end: Callable[[Cloud], None]) -> None:
    cloud = joined()
    end(cloud)
    for region, lent in LENT.items():
        assert lent not in cloud.compute[region].terminated
        assert cloud.compute[region].machines[lent].instance.state == "running"


def test_machine_that_has_not_joined_is_given_back_and_not_terminated() -> None:
    cloud = spawned()
    discard(cloud)
    assert set(states(cloud).values()) == {"LOST"}
    assert [compute.terminated for compute in cloud.compute.values()] == [[], []]
    assert ("stop", LENT[WEST], None) in cloud.commands[WEST].sent


@pytest.mark.parametrize("end", [lose, take_down])
def test_daemon_on_a_machine_of_the_user_is_stopped(end: Callable[[Cloud], None]) -> None:
    cloud = joined()
    end(cloud)
    for region, lent in LENT.items():
        assert ("stop", lent, None) in cloud.commands[region].sent


def test_machine_whose_agent_is_silent_is_left_to_end_by_itself() -> None:
    cloud = joined()

    def refuse(*_: object) -> str:
        raise NotManagedError(LENT[WEST])

    cloud.commands[WEST].send = refuse  # type: ignore[method-assign,assignment]
    assert relay_end.lose(cloud.world, relay(cloud, "source-1-0"), "its daemon is gone")
    assert states(cloud)["source-1-0"] == "LOST"


def test_its_hours_are_not_paid_by_the_transfer() -> None:
    cloud = joined(2)
    paid = [node for node in cloud.nodes.of("first") if node.is_ours]
    nodes = cloud.nodes.of("first")
    assert len(paid) == 2
    dollars = [relay_dollars(some, 5000.0, estimate(2), "on-demand") for some in (nodes, paid)]
    assert dollars[0] == dollars[1] > 0
