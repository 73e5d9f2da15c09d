from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.fleet import pairing
from lambdas.core.fleet.relay_node import ROLES, Node, NodeState, Role
from lambdas.core.transfer import TransferPath
from tests.lambdas.builders import node, paths


def joined(sources: list[int], destinations: list[int]) -> list[Node]:
    sides = zip(ROLES, (sources, destinations), strict=True)
    return [node(role, slot, state="JOINED") for role, slots in sides for slot in slots]


def ids(nodes: list[Node]) -> list[str]:
    return [path.path_id for path in pairing.relay_paths(nodes, paths(), 1)]


def reached(path: TransferPath) -> tuple[str, str]:
    return path.hops[0].node_id, path.hops[1].node_id


@pytest.mark.parametrize(
    ("path", "slots"),
    [
        ("direct", {}),
        ("pair-7", {"source": 7, "destination": 7}),
        ("pair-2-13", {"source": 2, "destination": 13}),
    ],
)
def test_path_names_the_slots_it_leads_through(path: str, slots: dict[str, int]) -> None:
    assert pairing.slots(path) == slots
    if slots:
        assert pairing.path_id(slots["source"], slots["destination"]) == path
        assert [role for role in ROLES if pairing.leads_through(path, node(role, 7))] == [
            role for role in ROLES if slots[role] == 7
        ]


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
        pairing.relay_paths(
            [node("source", 1, source, "JOINED"), node("destination", 1, destination, "JOINED")], paths(), 1
        )[0].generation
        for source, destination in ((0, 0), (1, 0), (1, 1), (1, 2))
    ]
    assert generations == [0, 1, 2, 3]


def test_successor_takes_the_path_over_from_a_relay_that_still_serves() -> None:
    nodes = joined([1], [1])
    serving = pairing.relay_paths([*nodes, node("source", 1, 1, "SPAWNED")], paths(), 1)
    assert reached(serving[0]) == ("source-1-0", "destination-1-0")
    taken_over = pairing.relay_paths([*nodes, node("source", 1, 1, "JOINED")], paths(), 1)
    assert reached(taken_over[0]) == ("source-1-1", "destination-1-0")
    assert taken_over[0].generation == 1


def test_mesh_has_about_as_many_lanes_as_pairs_would() -> None:
    found = pairing.relay_paths(joined([1, 2], [1, 2, 3]), paths(), 4)
    assert [path.lanes for path in found] == [2] * 6
    assert [path.lanes for path in pairing.relay_paths(joined([1], [1, 2]), paths(), 1)] == [1, 1]


def test_lanes_of_a_mesh_follow_measured_rates() -> None:
    rates: dict[tuple[Role, int], float] = {
        ("source", 1): 30.0,
        ("source", 2): 10.0,
        ("destination", 1): 20.0,
        ("destination", 2): 20.0,
    }
    rates |= {("destination", 3): 40.0}
    nodes = [node(role, slot, state="JOINED", measured_inter_region=rate) for (role, slot), rate in rates.items()]
    lanes = {path.path_id: path.lanes for path in pairing.relay_paths(nodes, paths(), 8)}
    assert lanes == {"pair-1": 4, "pair-1-2": 4, "pair-1-3": 9, "pair-2-1": 2, "pair-2": 2, "pair-2-3": 3}
    nodes[0] = nodes[0].model_copy(update={"measured_inter_region": None})
    assert {path.lanes for path in pairing.relay_paths(nodes, paths(), 8)} == {4}


@given(st.sets(st.integers(1, 64), min_size=1), st.sets(st.integers(1, 64), min_size=1))
def test_paths_of_any_fleet_are_bounded_and_use_every_relay(sources: set[int], destinations: set[int]) -> None:
    found = pairing.relay_paths(joined(sorted(sources), sorted(destinations)), paths(), 1)
    assert len({path.path_id for path in found}) == len(found)
    assert len(found) <= max(pairing.MESH_PATHS, pairing.LEAST_REACH * max(len(sources), len(destinations)))
    hops = {name for path in found for name in reached(path)}
    reachable = len(sources) == len(destinations) or len(sources) * len(destinations) <= pairing.MESH_PATHS
    assert len(hops) == len(sources) + len(destinations) or not reachable
    partners = {pairing.path_id(slot) for slot in sources & destinations}
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
    sides = [sum(cap for name, cap in caps.items() if name.startswith(role)) for role in ROLES]
    assert fair_rates(pairing.relay_paths(nodes, paths(), lanes), caps) == pytest.approx(min(sides))


def test_relay_waits_for_its_partner_before_it_joins() -> None:
    nodes = [
        node("source", 1, state="READY"),
        node("destination", 1, state="READY"),
        node("source", 2, state="READY"),
        node("destination", 2, state="SPAWNED"),
    ]
    assert {one.slot for one in pairing.entrants(nodes)} == {1}


def test_successor_joins_the_partner_that_went_on() -> None:
    nodes = [node("source", 1, state="LOST"), node("source", 1, 1, "READY"), node("destination", 1, state="JOINED")]
    assert [one.node_id for one in pairing.entrants(nodes)] == ["source-1-1"]


def test_relay_whose_slot_has_no_partner_waits_for_anybody() -> None:
    nodes = [node("source", 1, state="READY"), node("source", 2, state="SPAWNED")]
    nodes += [node("destination", 1, state="SPAWNED"), node("destination", 2, state="SPAWNED")]
    nodes += [node("destination", 3, state="READY")]
    assert pairing.entrants(nodes) == []
    nodes[2] = node("destination", 1, state="READY")
    assert [one.node_id for one in pairing.entrants(nodes)] == ["destination-1-0", "source-1-0", "destination-3-0"]


def test_relay_is_single_when_its_partner_is_gone_and_nobody_comes() -> None:
    nodes = [*joined([1, 2], [1]), node("destination", 2, state="LOST")]
    assert [one.node_id for one in pairing.singles(nodes)] == ["source-2-0"]
    assert pairing.singles([*nodes, node("destination", 2, 1, "SPAWNED")]) == []


def test_relay_whose_slot_has_no_partner_is_single_when_the_other_side_is_empty() -> None:
    nodes = joined([1, 2], [1, 2, 3])
    assert pairing.singles(nodes) == []
    nodes[0] = node("source", 1, state="LOST")
    assert [one.node_id for one in pairing.singles(nodes)] == ["destination-1-0"]
    nodes[1] = node("source", 2, state="LOST")
    assert [one.slot for one in pairing.singles(nodes)] == [1, 2, 3]


def test_fleet_is_as_strong_as_its_smaller_side() -> None:
    assert pairing.strength([*joined([1, 2], [1, 2, 3]), node("source", 3, state="SPAWNED")], "JOINED") == 2


def test_pairs_take_the_newest_generation_of_each_slot() -> None:
    nodes = [
        node("source", 1, 0, "LOST"),
        node("source", 1, 1, "READY"),
        node("destination", 1, 0, "JOINED"),
        node("source", 2, 0, "READY"),
        node("destination", 2, 0, "SPAWNED"),
    ]
    (pair,) = pairing.pairs(nodes, "READY", "JOINED")
    assert (pair.slot, pair.generation, pair.source.node_id) == (1, 1, "source-1-1")


def test_pairs_are_ordered_by_number_not_by_text() -> None:
    nodes = [node(role, slot, state="READY") for slot in (10, 9, 1) for role in ROLES]
    assert [pair.slot for pair in pairing.pairs(nodes, "READY")] == [1, 9, 10]


def test_lost_newest_generation_hides_the_older_one() -> None:
    nodes = [node("source", 1, 0, "JOINED"), node("source", 1, 1, "LOST"), node("destination", 1, 0, "JOINED")]
    assert pairing.pairs(nodes, "JOINED") == []
