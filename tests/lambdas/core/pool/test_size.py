"""The pool grows at once, shrinks late, and is replaced node by node; simulated until nothing changes any more."""

from random import Random

import pytest
from pydantic import ValidationError

from lambdas.core.pool.pool_node import PoolNode
from lambdas.core.pool.size import DRAIN_SECONDS, START_SECONDS, Need, PoolSettings, resized, wanted_nodes
from tests.lambdas.core.pool.pool_nodes import pool_node

SETTINGS = PoolSettings(region="eu-west-1", least=1, most=5, instance_type="c6in.large", idle_seconds=900)


def free(name: str, **changes: object) -> PoolNode:
    return pool_node(node_id=name, **changes)


@pytest.mark.parametrize(("active", "wanted"), [(0, 1), (1, 1), (3, 3), (5, 5), (50, 5)])
def test_nodes_follow_transfers_within_the_range(active: int, wanted: int) -> None:
    assert wanted_nodes(active, SETTINGS) == wanted


def test_parts_of_a_node_are_rounded_up() -> None:
    assert wanted_nodes(3, SETTINGS.model_copy(update={"nodes_per_transfer": 0.5})) == 2


def test_a_range_the_wrong_way_round_is_refused() -> None:
    with pytest.raises(ValidationError, match="min: 6; must be max, 5, or less"):
        PoolSettings(region="eu-west-1", least=6, most=5, instance_type="c6in.large")


def test_it_grows_at_once_and_counts_those_that_start() -> None:
    found = resized([free("n1"), free("n2", state="STARTING")], 4, SETTINGS, "v2", (), 1010.0)
    assert (found.start, found.drain) == (2, ())


def test_it_shrinks_to_the_most_that_was_wanted_within_the_idle_seconds() -> None:
    nodes = [free(f"n{number}") for number in range(5)]
    needs = (Need(until=1000.0, nodes=5), Need(until=1500.0, nodes=3))
    assert resized(nodes, 1, SETTINGS, "v2", needs, 1899.0).drain == ()
    later = resized(nodes, 1, SETTINGS, "v2", needs, 1900.0)
    assert later.needs == (Need(until=1500.0, nodes=3), Need(until=1900.0, nodes=1))
    assert later.drain == ("n0", "n1")
    assert len(resized(nodes, 1, SETTINGS, "v2", needs, 2400.0).drain) == 4


def test_the_emptiest_go_first_and_of_these_those_that_were_idle_longest() -> None:
    nodes = [
        free("n1", state="SERVING", leases=3),
        free("n2", state="SERVING", leases=1),
        free("n3", idle_since=50.0),
        free("n4", idle_since=40.0),
    ]
    assert resized(nodes, 1, SETTINGS, "v2", (), 5000.0).drain == ("n4", "n3", "n2")


def test_a_node_that_starts_takes_nobodys_place_before_it_has_come() -> None:
    nodes = [free("n1"), free("n2", state="STARTING", requested_at=4990.0)]
    assert resized(nodes, 1, SETTINGS, "v2", (), 5000.0).drain == ()


def test_what_has_drained_ends_and_what_never_comes_is_given_up() -> None:
    nodes = [
        free("n1", state="DRAINING", drained_at=1000.0),
        free("n2", state="DRAINING", leases=1, drained_at=1000.0),
        free("n3", state="STARTING", requested_at=1000.0),
    ]
    early = resized(nodes, 1, SETTINGS, "v2", (), 1000.0 + START_SECONDS - 1)
    assert (early.end, early.give_up, early.start) == (("n1",), (), 0)
    late = resized(nodes, 1, SETTINGS, "v2", (), 1000.0 + DRAIN_SECONDS)
    assert (late.end, late.give_up, late.start) == (("n1", "n2"), ("n3",), 1)


def simulated(nodes: list[PoolNode], active: int, settings: PoolSettings) -> tuple[list[PoolNode], int, int]:
    """A minute a look, until nothing is done: the nodes, the most machines, and the fewest open nodes at any time."""
    now, number = 10_000.0, 0
    needs: tuple[Need, ...] = ()
    most, fewest = len(nodes), len(nodes)
    for _ in range(100):
        found = resized(nodes, active, settings, "v2", needs, now)
        needs = found.needs
        is_over = len(needs) == 1 and all(node.state == "FREE" for node in nodes)
        if is_over and not (found.start or found.drain or found.end):
            return nodes, most, fewest
        gone = {*found.end, *found.give_up}
        nodes = [
            node.model_copy(update={"state": "DRAINING", "leases": 0, "drained_at": now})
            if node.node_id in found.drain
            else node
            for node in nodes
            if node.node_id not in gone
        ]
        nodes = [node.model_copy(update={"state": "FREE"}) if node.state == "STARTING" else node for node in nodes]
        for _ in range(found.start):
            number += 1
            nodes.append(free(f"new{number}", state="STARTING", requested_at=now))
        most = max(most, len(nodes))
        fewest = min(fewest, sum(node.state == "FREE" for node in nodes))
        now += 60.0
    raise AssertionError(f"still at it: {nodes}")


def test_a_new_version_comes_node_by_node_without_losing_one_where_there_is_room() -> None:
    nodes, most, fewest = simulated([free(f"old{number}", version="v1") for number in range(3)], 3, SETTINGS)
    assert [node.version for node in nodes] == ["v2"] * 3
    assert (most, fewest) == (4, 3)


def test_at_its_largest_the_pool_is_smaller_by_one_meanwhile_and_never_larger() -> None:
    nodes, most, fewest = simulated([free(f"old{number}", version="v1") for number in range(5)], 5, SETTINGS)
    assert [node.version for node in nodes] == ["v2"] * 5
    assert (most, fewest) == (5, 4)


def test_whatever_it_begins_with_it_ends_as_wanted() -> None:
    random = Random(44)
    for _ in range(200):
        settings = SETTINGS.model_copy(update={"least": random.randrange(3), "most": random.randrange(3, 8)})
        nodes = [
            free(
                f"old{number}",
                version=random.choice(["v1", "v2"]),
                state=random.choice(["FREE", "STARTING", "DRAINING"]),
                requested_at=9990.0,
            )
            for number in range(random.randrange(settings.most + 1))
        ]
        active = random.randrange(12)
        found, most, _ = simulated(nodes, active, settings)
        assert [node.version for node in found] == ["v2"] * wanted_nodes(active, settings)
        assert most <= settings.most
