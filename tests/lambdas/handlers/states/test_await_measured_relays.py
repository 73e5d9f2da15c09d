from lambdas.core.fleet import node_life
from lambdas.handlers.states.await_measured_relays import await_measured_relays
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from tests.lambdas.builders import IRELAND, paths, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import spawned, states


def let_in(cloud: Cloud) -> set[tuple[str, str]]:
    return {(rule.group_id, rule.address) for rule in cloud.groups[IRELAND].admitted}


def test_source_reaches_the_other_sides_relays_only_where_the_direct_path_is_measured() -> None:
    cloud = spawned(1, pre_test=True, profile="measure")
    assert await_measured_relays(AwaitInput(transfer=transfer(profile="measure")), cloud.world) == {"ready": 2}
    direct = ("vpc-destination/cpt-relay", paths().source_address)
    assert direct in let_in(cloud)
    moving = spawned(1, pre_test=True)
    await_relays(AwaitInput(transfer=transfer()), moving.world)
    assert let_in(cloud) - let_in(moving) == {direct}


def test_no_relay_joins_and_one_without_a_partner_is_released() -> None:
    cloud = spawned(2, pre_test=True, profile="measure")
    lone = next(node for node in cloud.nodes.of("first") if node.stage == 1)
    cloud.nodes.change(lone, node_life.lose("gone", cloud.clock.now()))
    assert await_measured_relays(AwaitInput(transfer=transfer(profile="measure")), cloud.world) == {"ready": 3}
    assert "JOINED" not in states(cloud).values()
    assert list(states(cloud).values()).count("READY") == 6
    assert len(cloud.alive()) == 7  # nobody has ended the lost one's instance
