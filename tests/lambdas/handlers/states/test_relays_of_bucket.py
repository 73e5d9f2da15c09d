"""Relays of a transfer with a bucket at an end, from their launch to the membership."""

import pytest

from lambdas.core.fleet.membership import Membership, TransferPath
from lambdas.core.record import transfer_life
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.seat import seats_of
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from lambdas.handlers.states.spawn_relays import SpawnInput, spawn_relays
from lambdas.operations.estimate.estimation import estimate_for
from tests.lambdas.buckets import from_bucket, to_bucket
from tests.lambdas.builders import IRELAND, WEST, paths
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import ROUTE_KEY, begin

GB = 10**9
OTHER_KEY = "o" * 43


def asked() -> AcceptedTransfer:
    """Two relays from the machine in the West to the bucket in Ireland."""
    return to_bucket(relays={"pairs": 2, "instanceTypes": ["t3.small"]})


def spawned(accepted: AcceptedTransfer, keys: dict[str, str], cloud: Cloud | None = None) -> Cloud:
    """Its relays are launched; `keys`: what seats have published for relays."""
    cloud = cloud or Cloud()
    wanted = estimate_for(accepted, 100 * GB, cloud.world)
    assert wanted.chosen_pairs == 2
    begin(cloud, accepted, wanted)
    within = paths().model_copy(update={"inter_region": "private"})
    assert cloud.transfers.change(accepted, transfer_life.note(paths=within))
    direct = TransferPath(path_id="direct", generation=0, hops=[], receiver="10.10.0.1:4601", lanes=2)
    cloud.agents.write_membership(accepted.partition, Membership(version=1, paths=[direct]))
    cloud.agents.seat_keys = {(accepted.partition, seat): key for seat, key in keys.items()}
    spawn_relays(SpawnInput(transfer=accepted, estimate=wanted), cloud.world)
    return cloud


def test_relays_beside_the_machine_join_paths_to_the_store() -> None:
    accepted = asked()
    cloud = spawned(accepted, {"s0": ROUTE_KEY, "r0": OTHER_KEY})
    assert await_relays(AwaitInput(transfer=accepted), cloud.world) == {"ready": 2}
    assert (len(cloud.compute[WEST].launches), len(cloud.compute[IRELAND].launches)) == (1, 0)
    membership = cloud.agents.membership(accepted.partition)
    assert membership is not None
    assert [(path.path_id, path.store) for path in membership.paths] == [
        ("direct", None),
        ("route-0-1", True),
        ("route-0-2", True),
    ]
    told = [command for document, _, command in cloud.commands[WEST].sent if document == "relay" and command]
    # The receiver dials them, and the sender keeps them alive.
    assert [command["senderRouteKeys"] for command in told] == [[ROUTE_KEY, OTHER_KEY]] * len(told) != []
    rules = {(rule.group_id, rule.address) for rule in cloud.groups[WEST].admitted}
    assert rules == {("vpc-source/cpt-relay", accepted.at_source.private_address)}
    assert cloud.groups[IRELAND].admitted == []


def test_relays_wait_until_the_receiver_has_a_key_too() -> None:
    accepted = asked()
    cloud = spawned(accepted, {"s0": ROUTE_KEY})
    cloud.clock.at(30, lambda: cloud.agents.seat_keys.__setitem__((accepted.partition, "r0"), OTHER_KEY))
    await_relays(AwaitInput(transfer=accepted), cloud.world)
    assert all(node.ready_at is not None and node.ready_at >= 1030 for node in cloud.nodes.of("first"))


@pytest.mark.parametrize("address", [None, "54.0.0.1"])
def test_relays_to_a_bucket_reach_it_as_the_machine_does(address: str | None) -> None:
    accepted = asked()
    machine = accepted.at_source.model_copy(update={"public_address": address})
    seats = {"senders": seats_of("sender", [machine]), "receivers": seats_of("receiver", [machine])}
    cloud = spawned(accepted.model_copy(update=seats), {})
    (launch,) = cloud.compute[WEST].launches
    assert launch.public_address == (address is not None)


def test_a_sender_that_reads_a_bucket_dials_its_relays_alone() -> None:
    accepted = from_bucket(relays={"pairs": 2, "instanceTypes": ["t3.small"]})
    near = accepted.request.source.model_copy(update={"region": WEST})
    accepted = accepted.model_copy(update={"request": accepted.request.model_copy(update={"source": near})})
    cloud = spawned(accepted, {"s0": ROUTE_KEY})
    assert await_relays(AwaitInput(transfer=accepted), cloud.world) == {"ready": 2}
    assert (len(cloud.compute[WEST].launches), len(cloud.compute[IRELAND].launches)) == (0, 1)
