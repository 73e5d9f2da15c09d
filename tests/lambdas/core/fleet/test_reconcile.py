"""The fleet becomes what is wished, whatever order it is looked at in, and nothing else changes."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.fleet import node_life
from lambdas.core.fleet.reconcile import Action, Fleet, Lease, NodeChange, Wish, next_slots, reconcile, surplus
from lambdas.core.fleet.relay_node import LIVE_STATES, Node, NodeState
from lambdas.core.fleet.topology import route_of, routes_of
from tests.lambdas.builders import node, transfer

ROUTES = routes_of(transfer())
NOW = 2000.0
LIVING: list[NodeState] = ["SPAWNED", "READY", "JOINED", "DRAINING", "LOST", "REJECTED"]
STAGES = ("source", "destination")


def fleet(*nodes: Node, lent: dict[int, int] | None = None, busy: set[str] | None = None) -> Fleet:
    return Fleet(ROUTES, nodes, lent or {}, busy or set())


@st.composite
def fleets(draw: st.DrawFn) -> Fleet:
    """Up to four slots at each stage of a pair, of which some are busy; each slot was launched once."""
    slots = draw(st.lists(st.tuples(st.sampled_from(STAGES), st.integers(1, 4)), unique=True))
    nodes = [node(stage, slot, state=draw(st.sampled_from(LIVING))) for stage, slot in slots]
    busy = draw(st.sets(st.sampled_from([one.node_id for one in nodes]))) if nodes else set[str]()
    return fleet(*nodes, lent={0: draw(st.integers(0, 2)), 1: draw(st.integers(0, 2))}, busy=busy)


@st.composite
def wishes(draw: st.DrawFn) -> Wish:
    names = [f"{stage}-{slot}-0" for stage in STAGES for slot in range(1, 5)]
    return Wish(
        slots={stage: range(1, draw(st.integers(0, 5)) + 1) for stage in (0, 1)},
        leaving=dict.fromkeys(draw(st.sets(st.sampled_from(names))), "its route was left"),
        joins=draw(st.booleans()),
        unused=draw(st.sampled_from([None, "its partner was lost"])),
    )


def carried_out(before: Fleet, actions: list[Action]) -> Fleet:
    """As the hand does it: a change counts in the states that its rule names; what leaves is busy no more."""
    table = {one.node_id: one for one in before.nodes}
    for action in actions:
        if isinstance(action, NodeChange):
            name = action.node.node_id
            table[name] = node_life.after(table[name], action.change) or table[name]
            continue
        for slot in action.slots:
            new = node(STAGES[action.stage], slot, state="SPAWNED", provider=action.provider)
            assert new.node_id not in table, "the slot was filled"
            table[new.node_id] = new
    return replace(before, nodes=tuple(table.values()), busy=set())


@given(wishes(), fleets())
def test_looked_at_again_and_again_it_comes_to_rest(wish: Wish, there: Fleet) -> None:
    for _ in range(4):
        # What lanes lead through is waited for: they are gone by the next look.
        there = carried_out(there, reconcile(wish, there, NOW))
    assert reconcile(wish, there, NOW) == []
    filled = {(one.stage, one.slot) for one in there.nodes}
    assert {(stage, slot) for stage, slots in wish.slots.items() for slot in slots} <= filled
    assert not [one for one in there.nodes if one.node_id in wish.leaving and one.state in LIVE_STATES]


@given(wishes(), fleets())
def test_a_relay_ends_only_where_the_wish_says_so(wish: Wish, there: Fleet) -> None:
    for action in reconcile(wish, there, NOW):
        if not isinstance(action, NodeChange) or not action.change.rule.ends:
            continue
        assert action.node.node_id in wish.leaving or wish.unused
        # What carries data leaves the membership first, and what lanes lead through is not ended.
        assert action.node.state != "JOINED"
        assert action.change.name == "discard" or action.node.node_id not in there.busy


@given(wishes(), fleets())
def test_whoever_looks_twice_at_one_fleet_does_the_same_once(wish: Wish, there: Fleet) -> None:
    actions = [one for one in reconcile(wish, there, NOW) if isinstance(one, NodeChange)]
    once = carried_out(there, list(actions))
    assert carried_out(once, list(actions)).nodes == once.nodes


@given(wishes(), fleets())
def test_machines_of_the_user_take_the_first_slots_and_no_slot_is_leased_twice(wish: Wish, there: Fleet) -> None:
    leased = [one for one in reconcile(wish, there, NOW) if isinstance(one, Lease)]
    places = [(one.stage, slot) for one in leased for slot in one.slots]
    assert len(places) == len(set(places))
    for one in leased:
        assert {slot <= there.lent.get(one.stage, 0) for slot in one.slots} == {one.provider == "lent"}


def test_an_empty_wish_changes_nothing() -> None:
    everything = [node(stage, slot, state=state) for stage in STAGES for slot, state in enumerate(LIVING, 1)]
    assert reconcile(Wish(), fleet(*everything), NOW) == []


def test_a_slot_whose_relay_is_lost_is_not_filled_by_a_wish_but_by_its_replacement() -> None:
    lost = fleet(node("source", 1, state="LOST"))
    assert reconcile(Wish(slots={0: [1, 2]}), lost, NOW) == [Lease("launched", 0, (2,))]


def test_new_slots_of_a_route_come_after_all_that_any_of_its_stages_ever_had() -> None:
    nodes = [node("source", 3, state="LOST"), node("destination", 1)]
    assert next_slots(route_of(transfer()), nodes, {0: 2, 1: 1, 7: 0}) == {0: [4, 5], 1: [4]}


def test_of_a_stage_that_is_to_have_fewer_the_last_slots_go() -> None:
    nodes = [node("source", slot, state="JOINED") for slot in (2, 1, 3)] + [node("source", 4, state="READY")]
    assert [one.slot for one in surplus(nodes, {0: -2, 1: 3})] == [2, 3]
