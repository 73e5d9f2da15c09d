"""The life of a node is the one in the documentation, and has no way back."""

import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.fleet import node_life
from lambdas.core.fleet.node_life import RULES, Change, ChangeName
from lambdas.core.fleet.relay_node import LIVE_STATES, NodeState
from tests.lambdas.builders import node
from tests.paths import ROOT

VALUES = {
    "running_at": 1001.25,
    "public_address": "54.9.9.9",
    "private_address": "10.9.9.9",
    "online_at": 1002.5,
    "ready_at": 1003.25,
    "port": 4600,
    "measured_inter_region": 20.5,
    "measured_intra_region": 150.25,
    "measured_hop": 21.5,
    "joined_at": 1004.5,
    "reason": "gone",
    "ended_at": 1005.75,
    "not_replaced": "nothing is left to move",
    "successor": "source-1-1",
}
CHANGES = [Change(name, {field: VALUES[field] for field in RULES[name].sets}) for name in get_args(ChangeName)]
# In the order of life: no change goes from a later state to an earlier one.
LIVING: list[NodeState] = ["SPAWNED", "READY", "JOINED", "DRAINING"]
AGE = {state: LIVING.index(state) if state in LIVING else len(LIVING) for state in get_args(NodeState)}


def test_the_diagram_in_the_documentation_has_the_same_arrows() -> None:
    page = (ROOT / "docs" / "design" / "007-fleet.md").read_text()
    arrows = set(re.findall(r"^ +([A-Z]+) --> ([A-Z]+): ([a-z-]+)$", page, re.MULTILINE))
    assert arrows == {(source, rule.target or source, name) for name, rule in RULES.items() for source in rule.sources}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
@pytest.mark.parametrize("state", get_args(NodeState))
def test_a_change_counts_only_in_a_state_that_its_rule_names(state: NodeState, change: Change) -> None:
    before = node(state=state)
    after = node_life.after(before, change)
    assert (after is not None) == (state in change.rule.sources)
    if after is not None:
        assert after == before.model_copy(update={"state": change.rule.target or state, **change.values})


@given(st.lists(st.sampled_from(CHANGES), max_size=30))
def test_whatever_comes_in_whatever_order_nothing_leads_back_to_life(changes: list[Change]) -> None:
    now = node()
    for change in changes:
        after = node_life.after(now, change)
        if after is None:
            continue
        assert AGE[after.state] >= AGE[now.state]
        if now.state not in LIVE_STATES:
            assert after.state == now.state, "what has ended stays as it ended"
            assert (after.ended_at, after.joined_at) == (now.ended_at, now.joined_at)
        if after.joined_at and not now.joined_at:
            assert now.ready_at is not None, "no relay joins that was not ready"
        now = after


def test_a_change_has_all_values_that_its_rule_sets_and_no_other() -> None:
    with pytest.raises(ValueError, match="drain sets"):
        Change("drain", {"joined_at": 1.0})


def test_a_reason_is_cut_to_what_an_item_can_hold() -> None:
    assert len(node_life.lose("x" * 5000, 1.0).values["reason"]) == node_life.REASON_CHARACTERS
