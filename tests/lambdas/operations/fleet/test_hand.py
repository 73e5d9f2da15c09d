"""The hand: what follows from a change of a relay, each with no more than the change needs."""

from lambdas.core.fleet import node_life
from lambdas.core.fleet.reconcile import NodeChange
from lambdas.core.fleet.relay_node import Node
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from lambdas.operations.fleet import hand
from tests.lambdas.builders import transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import amend, path_ids, spawned, states

NOW = 2_000_000_000.0


def joined() -> Cloud:
    cloud = spawned(2)
    await_relays(AwaitInput(transfer=transfer()), cloud.world)
    return cloud


def relay(cloud: Cloud, node_id: str) -> Node:
    return next(node for node in cloud.nodes.of("first") if node.node_id == node_id)


def test_what_moves_leaves_the_membership_and_lives_on() -> None:
    cloud = joined()
    alive, node = cloud.alive(), relay(cloud, "source-1-0")
    assert hand.move(cloud.world, "first", [NodeChange(node, node_life.drain("a warning"))]) != []
    assert "pair-1" not in path_ids(cloud)
    assert cloud.alive() == alive


def test_membership_is_mended_even_where_somebody_else_has_changed_the_relay_and_died() -> None:
    cloud = joined()
    node = relay(cloud, "source-1-0")
    cloud.nodes.change(node, node_life.drain("a warning"))
    assert "pair-1" in path_ids(cloud)
    assert hand.move(cloud.world, "first", [NodeChange(node, node_life.drain("again"))]) == []
    assert "pair-1" not in path_ids(cloud)


def test_an_end_that_somebody_else_has_made_before_does_nothing() -> None:
    cloud = joined()
    change = NodeChange(relay(cloud, "source-1-0"), node_life.lose("gone", NOW))
    done: list[str] = []
    assert hand.end(cloud.world, [change], lambda: done.append("first")) != []
    assert hand.end(cloud.world, [change], lambda: done.append("second")) == []
    assert done == ["first"]
    assert len(cloud.alive()) == 3


def test_a_machine_of_the_user_that_ends_is_given_back_and_not_terminated() -> None:
    cloud = joined()
    node = relay(cloud, "source-1-0")
    amend(cloud, node, provider="lent")
    alive = cloud.alive()
    hand.end(cloud.world, [NodeChange(relay(cloud, "source-1-0"), node_life.lose("gone", NOW))])
    assert (states(cloud)["source-1-0"], cloud.alive()) == ("LOST", alive)
    assert [document for document, machine, _ in cloud.commands[node.region].sent][-1] == "stop"


def test_one_that_has_joined_meanwhile_is_not_discarded() -> None:
    cloud = joined()
    alive = cloud.alive()
    hand.discard(cloud.world, hand.unused(cloud.world, cloud.nodes.of("first"), "not joined"))
    assert cloud.alive() == alive
