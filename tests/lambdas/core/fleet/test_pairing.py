from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lambdas.core.fleet import pairing
from lambdas.core.fleet.membership import TransferPath
from lambdas.core.fleet.relay_node import Node, NodeState
from lambdas.core.fleet.topology import path_id
from tests.lambdas.builders import node, paths, route

PAIR = route()


def joined(*stages: list[int]) -> list[Node]:
    return [node(stage, slot, state="JOINED") for stage, slots in enumerate(stages) for slot in slots]


def carrying(nodes: list[Node], lanes: int = 1, stages: int = 2) -> list[TransferPath]:
    return pairing.relay_paths(route(stages), nodes, paths(), lanes)


def ids(nodes: list[Node], stages: int = 2) -> list[str]:
    return [path.path_id for path in carrying(nodes, stages=stages)]


def reached(path: TransferPath) -> tuple[str, ...]:
    return tuple(hop.node_id for hop in path.hops)


def test_equal_sides_go_one_to_one() -> None:
    assert ids(joined([1, 2, 3], [3, 1, 2])) == ["pair-1", "pair-2", "pair-3"]


def test_equal_sides_that_lost_different_slots_go_one_to_one_too() -> None:
    assert ids(joined([1, 3, 4], [1, 2, 4])) == ["pair-1", "pair-3-2", "pair-4"]


def test_relay_without_its_partner_feeds_all_and_the_partners_that_are_left_keep_their_paths() -> None:
    assert ids(joined([1, 2], [1])) == ["pair-1", "pair-2-1"]
    assert ids(joined([2], [1, 2, 3])) == ["pair-2-1", "pair-2", "pair-2-3"]


def test_without_relays_on_one_side_there_is_no_path() -> None:
    assert ids(joined([1, 2], [])) == []
    assert ids([]) == []


def test_only_joined_relays_carry_data() -> None:
    states: list[NodeState] = ["SPAWNED", "READY", "DRAINING", "REJECTED", "LOST", "TERMINATED"]
    assert ids([*joined([1], [1]), *(node("source", slot, state=state) for slot, state in enumerate(states, 2))]) == [
        "pair-1"
    ]


def test_generation_grows_when_either_relay_is_replaced() -> None:
    generations = [
        carrying([node("source", 1, source, "JOINED"), node("destination", 1, destination, "JOINED")])[0].generation
        for source, destination in ((0, 0), (1, 0), (1, 1), (1, 2))
    ]
    assert generations == [0, 1, 2, 3]


def test_successor_takes_the_path_over_from_a_relay_that_still_serves() -> None:
    nodes = joined([1], [1])
    serving = carrying([*nodes, node("source", 1, 1, "SPAWNED")], 1)
    assert reached(serving[0]) == ("source-1-0", "destination-1-0")
    taken_over = carrying([*nodes, node("source", 1, 1, "JOINED")], 1)
    assert reached(taken_over[0]) == ("source-1-1", "destination-1-0")
    assert taken_over[0].generation == 1


def test_mesh_has_about_as_many_lanes_as_pairs_would() -> None:
    found = carrying(joined([1, 2], [1, 2, 3]), 4)
    assert [path.lanes for path in found] == [2] * 6
    assert [path.lanes for path in carrying(joined([1], [1, 2]), 1)] == [1, 1]


def test_lanes_of_a_mesh_follow_measured_rates() -> None:
    rates: dict[tuple[str, int], float] = {
        ("source", 1): 30.0,
        ("source", 2): 10.0,
        ("destination", 1): 20.0,
        ("destination", 2): 20.0,
    }
    rates |= {("destination", 3): 40.0}
    nodes = [node(stage, slot, state="JOINED", measured_inter_region=rate) for (stage, slot), rate in rates.items()]
    lanes = {path.path_id: path.lanes for path in carrying(nodes, 8)}
    assert lanes == {"pair-1": 4, "pair-1-2": 4, "pair-1-3": 9, "pair-2-1": 2, "pair-2": 2, "pair-2-3": 3}
    nodes[0] = nodes[0].model_copy(update={"measured_inter_region": None})
    assert {path.lanes for path in carrying(nodes, 8)} == {4}


@given(st.sets(st.integers(1, 64), min_size=1), st.sets(st.integers(1, 64), min_size=1))
def test_paths_of_any_fleet_are_bounded_and_use_every_relay(sources: set[int], destinations: set[int]) -> None:
    found = carrying(joined(sorted(sources), sorted(destinations)), 1)
    assert len({path.path_id for path in found}) == len(found)
    assert len(found) <= max(pairing.MESH_PATHS, pairing.LEAST_REACH * max(len(sources), len(destinations)))
    hops = {name for path in found for name in reached(path)}
    reachable = len(sources) == len(destinations) or len(sources) * len(destinations) <= pairing.MESH_PATHS
    assert len(hops) == len(sources) + len(destinations) or not reachable
    partners = {path_id([slot, slot]) for slot in sources & destinations}
    assert partners <= {path.path_id for path in found}


def fair_rates(found: list[TransferPath], caps: dict[str, float]) -> float:
    """What all paths carry together when every relay shares its cap out evenly among its lanes (max-min fairness)."""
    active = {path.path_id: path for path in found}
    rate, room = dict.fromkeys(active, 0.0), dict(caps)
    while active:
        lanes = {name: sum(p.lanes for p in active.values() if name in reached(p)) for name in room}
        step, full = min((room[name] / count, name) for name, count in lanes.items() if count)
        for path in active.values():
            rate[path.path_id] += step * path.lanes
        room = {name: room[name] - step * count for name, count in lanes.items()}
        room[full] = 0.0
        active = {id_: path for id_, path in active.items() if all(room[name] > 1e-9 for name in reached(path))}
    return sum(rate.values())


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 4), st.randoms(use_true_random=False))
def test_mesh_carries_what_the_smaller_side_can(m: int, n: int, lanes: int, random: Random) -> None:
    """Fair lanes fill one side of a complete bipartite graph whatever the caps are: that is its maximum flow."""
    if m == n:
        return
    nodes = joined(list(range(1, m + 1)), list(range(1, n + 1)))
    caps = {one.node_id: random.uniform(1, 100) for one in nodes}
    sides = [sum(caps[one.node_id] for one in nodes if one.stage == stage) for stage in (0, 1)]
    assert fair_rates(carrying(nodes, lanes), caps) == pytest.approx(min(sides))


def test_relay_waits_for_its_partner_before_it_joins() -> None:
    nodes = [
        node("source", 1, state="READY"),
        node("destination", 1, state="READY"),
        node("source", 2, state="READY"),
        node("destination", 2, state="SPAWNED"),
    ]
    assert {one.slot for one in pairing.entrants(PAIR, nodes)} == {1}


def test_successor_joins_the_partner_that_went_on() -> None:
    nodes = [node("source", 1, state="LOST"), node("source", 1, 1, "READY"), node("destination", 1, state="JOINED")]
    assert [one.node_id for one in pairing.entrants(PAIR, nodes)] == ["source-1-1"]


def test_relay_whose_slot_has_no_partner_waits_for_anybody() -> None:
    nodes = [node("source", 1, state="READY"), node("source", 2, state="SPAWNED")]
    nodes += [node("destination", 1, state="SPAWNED"), node("destination", 2, state="SPAWNED")]
    nodes += [node("destination", 3, state="READY")]
    assert pairing.entrants(PAIR, nodes) == []
    nodes[2] = node("destination", 1, state="READY")
    assert [one.node_id for one in pairing.entrants(PAIR, nodes)] == [
        "source-1-0",
        "destination-1-0",
        "destination-3-0",
    ]


def test_relay_is_single_when_its_partner_is_gone_and_nobody_comes() -> None:
    nodes = [*joined([1, 2], [1]), node("destination", 2, state="LOST")]
    assert [one.node_id for one in pairing.singles(PAIR, nodes)] == ["source-2-0"]
    assert pairing.singles(PAIR, [*nodes, node("destination", 2, 1, "SPAWNED")]) == []


def test_relay_whose_slot_has_no_partner_is_single_when_the_other_side_is_empty() -> None:
    nodes = joined([1, 2], [1, 2, 3])
    assert pairing.singles(PAIR, nodes) == []
    nodes[0] = node("source", 1, state="LOST")
    assert [one.node_id for one in pairing.singles(PAIR, nodes)] == ["destination-1-0"]
    nodes[1] = node("source", 2, state="LOST")
    assert [one.slot for one in pairing.singles(PAIR, nodes)] == [1, 2, 3]


def test_relay_of_the_smaller_side_goes_on_without_one_of_the_larger_side_that_is_gone() -> None:
    ready = [node("source", 1, state="READY"), *(node("destination", slot, state="READY") for slot in (2, 3))]
    lost = [*ready, node("destination", 1, state="LOST")]
    assert len(pairing.entrants(PAIR, lost)) == len(ready)
    assert pairing.singles(PAIR, lost) == []
    assert pairing.entrants(PAIR, [*ready, node("destination", 1, state="SPAWNED")]) == []
    alone = [node("source", 1, state="READY"), *(node("destination", slot, state="LOST") for slot in (1, 2))]
    assert [one.node_id for one in pairing.singles(PAIR, alone)] == ["source-1-0"]


def test_fleet_is_as_strong_as_its_smaller_side() -> None:
    assert pairing.strength([PAIR], [*joined([1, 2], [1, 2, 3]), node("source", 3, state="SPAWNED")], "JOINED") == 2


def test_pairs_take_the_newest_generation_of_each_slot() -> None:
    nodes = [
        node("source", 1, 0, "LOST"),
        node("source", 1, 1, "READY"),
        node("destination", 1, 0, "JOINED"),
        node("source", 2, 0, "READY"),
        node("destination", 2, 0, "SPAWNED"),
    ]
    (pair,) = pairing.by_slot(PAIR, nodes, "READY", "JOINED")
    assert (pair.slot, pair.generation, pair.relays[0].node_id) == (1, 1, "source-1-1")


def test_pairs_are_ordered_by_number_not_by_text() -> None:
    nodes = [node(stage, slot, state="READY") for slot in (10, 9, 1) for stage in (0, 1)]
    assert [pair.slot for pair in pairing.by_slot(PAIR, nodes, "READY")] == [1, 9, 10]


def test_lost_newest_generation_hides_the_older_one() -> None:
    nodes = [node("source", 1, 0, "JOINED"), node("source", 1, 1, "LOST"), node("destination", 1, 0, "JOINED")]
    assert pairing.by_slot(PAIR, nodes, "JOINED") == []


def test_one_stage_has_a_path_for_each_relay() -> None:
    assert ids(joined([1, 3]), stages=1) == ["route-0-1", "route-0-3"]


def test_three_stages_go_one_to_one_where_they_are_equal() -> None:
    assert ids(joined([1, 2], [1, 2], [1, 2]), stages=3) == ["route-0-1-1-1", "route-0-2-2-2"]
    assert ids(joined([1, 2], [1, 3], [1, 2]), stages=3) == ["route-0-1-1-1", "route-0-2-3-2"]
    assert ids(joined([1], [], [1]), stages=3) == []


def test_three_stages_of_which_one_is_smaller_share_it() -> None:
    found = carrying(joined([1, 2], [1], [1, 2]), 4, stages=3)
    assert [path.path_id for path in found] == ["route-0-1-1-1", "route-0-1-1-2", "route-0-2-1-1", "route-0-2-1-2"]
    assert sum(path.lanes for path in found) == 8


@given(st.lists(st.sets(st.integers(1, 64), min_size=1), min_size=1, max_size=4))
@example([{1}, {*range(1, 11), *range(15, 19)}, set(range(1, 15))])
def test_paths_of_any_route_are_bounded_pass_every_stage_in_order_and_use_every_relay(
    slots: list[set[int]],
) -> None:
    nodes = joined(*(sorted(stage) for stage in slots))
    found = carrying(nodes, stages=len(slots))
    most = max(len(stage) for stage in slots)
    assert len({path.path_id for path in found}) == len(found) <= max(pairing.MESH_PATHS, pairing.LEAST_REACH * most)
    stages = {one.node_id: one.stage for one in nodes}
    assert all([stages[name] for name in reached(path)] == list(range(len(slots))) for path in found)
    used = {name for path in found for name in reached(path)}
    assert used == {one.node_id for one in nodes}
    in_all = set.intersection(*slots)
    assert {path_id([slot] * len(slots)) for slot in in_all} <= {path.path_id for path in found}


def test_relay_of_three_stages_waits_for_both_partners() -> None:
    nodes = [node(0, state="READY"), node(1, state="READY"), node(2, state="SPAWNED")]
    assert pairing.entrants(route(3), nodes) == []
    nodes[2] = node(2, state="READY")
    assert [one.stage for one in pairing.entrants(route(3), nodes)] == [0, 1, 2]


def test_relays_of_three_stages_are_single_when_any_partner_is_gone() -> None:
    nodes = [*joined([1, 2], [1, 2], [2]), node(2, 1, state="LOST")]
    assert [one.node_id for one in pairing.singles(route(3), nodes)] == [nodes[0].node_id, nodes[2].node_id]
    assert pairing.strength([route(3)], nodes, "JOINED") == 1
    assert [path.slots for path in pairing.by_slot(route(3), nodes, "JOINED")] == [(2, 2, 2)]
