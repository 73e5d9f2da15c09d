from lambdas.core.fleet import node_life
from lambdas.core.fleet.membership import Membership
from lambdas.core.fleet.relay_node import Node
from lambdas.core.record import transfer_life
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from lambdas.operations.fleet import relay_end
from lambdas.operations.fleet.membership import settle
from tests.lambdas.builders import SHARED, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import path_ids, spawned, states


def joined(pairs: int) -> Cloud:
    cloud = spawned(pairs)
    await_relays(AwaitInput(transfer=transfer()), cloud.world)
    return cloud


def relay(cloud: Cloud, node_id: str) -> Node:
    return next(node for node in cloud.nodes.of("first") if node.node_id == node_id)


def version(cloud: Cloud) -> int:
    membership = cloud.agents.membership(SHARED)
    assert membership is not None
    return membership.version


def test_partner_of_a_lost_relay_serves_on_with_the_others() -> None:
    cloud = joined(2)
    assert relay_end.lose(cloud.world, relay(cloud, "source-1-0"), "its instance is gone")
    assert path_ids(cloud) == ["direct", "pair-2-1", "pair-2"]
    assert states(cloud)["destination-1-0"] == "JOINED"


def test_drained_relay_is_out_of_the_membership_and_alive_until_it_is_lost() -> None:
    cloud = joined(1)
    alive = cloud.alive()
    assert relay_end.drain(cloud.world, relay(cloud, "source-1-0"), "spot interruption in two minutes")
    assert path_ids(cloud) == ["direct"]
    assert (states(cloud)["source-1-0"], cloud.alive()) == ("DRAINING", alive)
    assert not relay_end.drain(cloud.world, relay(cloud, "source-1-0"), "again")
    assert relay_end.lose(cloud.world, relay(cloud, "source-1-0"), "its instance is shutting down")
    assert len(cloud.alive()) == len(alive) - 1


def test_record_that_agrees_is_not_written() -> None:
    cloud = joined(1)
    before = version(cloud)
    settle(cloud.world, "first")
    assert version(cloud) == before


def test_relay_that_is_lost_while_the_record_is_written_does_not_come_back() -> None:
    cloud = joined(2)
    cloud.nodes.change(relay(cloud, "source-2-0"), node_life.lose("gone", cloud.clock.now()))
    original = cloud.agents.write_membership

    def write(shared: str, membership: Membership) -> bool:
        """Somebody loses a relay after the nodes were read, and finds the record without it."""
        cloud.agents.write_membership = original  # type: ignore[method-assign]
        cloud.nodes.change(relay(cloud, "destination-1-0"), node_life.lose("gone", cloud.clock.now()))
        return original(shared, membership)

    cloud.agents.write_membership = write  # type: ignore[method-assign]
    settle(cloud.world, "first")
    assert path_ids(cloud) == ["direct", "pair-1-2"]


def test_two_writers_agree_on_what_the_nodes_say() -> None:
    cloud = joined(2)
    original = cloud.agents.write_membership

    def write(shared: str, membership: Membership) -> bool:
        """Somebody else loses another relay, and is the first to write."""
        cloud.agents.write_membership = original  # type: ignore[method-assign]
        relay_end.lose(cloud.world, relay(cloud, "destination-2-0"), "its instance is gone")
        return original(shared, membership)

    cloud.agents.write_membership = write  # type: ignore[method-assign]
    relay_end.lose(cloud.world, relay(cloud, "source-2-0"), "its instance is gone")
    assert path_ids(cloud) == ["direct", "pair-1"]


def test_transfer_that_is_torn_down_keeps_its_record() -> None:
    cloud = joined(1)
    before = version(cloud)
    cloud.transfers.change(transfer(), transfer_life.FENCE)
    relay_end.lose(cloud.world, relay(cloud, "source-1-0"), "its instance is gone")
    assert version(cloud) == before
