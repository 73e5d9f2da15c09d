"""The life of a pool node is the one in the documentation, and has no way back."""

import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.pool import pool_life
from lambdas.core.pool.pool_life import RULES, Change, ChangeName
from lambdas.core.pool.pool_node import PoolNode, PoolNodeState
from tests.lambdas.core.pool.pool_nodes import pool_node
from tests.paths import ROOT

MOST = 4


def changes_of(node: PoolNode) -> dict[str, Change | None]:
    """All that may be tried."""
    return {
        "boot": pool_life.boot(1001.0, "10.0.0.9", None),
        "get-ready": pool_life.get_ready(1002.0),
        "measure": pool_life.measure(80.0),
        "give": pool_life.give(node, MOST),
        "take": pool_life.take_back(node, 1003.0),
        "drain": pool_life.drain("too many", 1004.0),
        "end": pool_life.end(1005.0),
        "fail-to-start": pool_life.lose("never came", 1006.0, "fail-to-start"),
        "lose": pool_life.lose("gone", 1006.0),
    }


def test_the_diagram_in_the_documentation_has_the_same_arrows() -> None:
    page = (ROOT / "docs" / "design" / "080-standing-pool.md").read_text()
    arrows = set(re.findall(r"^ +([A-Z]+) --> ([A-Z]+): ([a-z-]+)$", page, re.MULTILINE))
    assert arrows == {(source, rule.target or source, name) for name, rule in RULES.items() for source in rule.sources}


@given(st.lists(st.sampled_from(sorted(changes_of(pool_node()))), max_size=40))
def test_whatever_comes_in_whatever_order_items_stay_valid_and_nothing_leads_back(names: list[str]) -> None:
    now = pool_node(state="STARTING")
    for name in names:
        change = changes_of(now)[name]
        after = pool_life.after(now, change) if change else None
        if after is None:
            continue
        assert PoolNode.from_document(after.to_document()) == after
        assert after.leases <= MOST
        assert after.epoch >= now.epoch
        if now.state == "DRAINING":
            assert after.state in ("DRAINING", "ENDED")
            assert after.leases <= now.leases
        assert now.state != "ENDED", "what has ended stays as it ended"
        assert (after.state == "STARTING") <= (now.state == "STARTING")
        now = after


def test_every_rule_is_reached() -> None:
    two = pool_node(state="SERVING", leases=2, epoch=2)
    one, last = pool_node(state="SERVING", leases=1, epoch=1), pool_node(state="DRAINING", leases=1, epoch=1)
    names = {change.name for node in (two, one, last) for change in changes_of(node).values() if change}
    assert names | {"take-down"} == set(get_args(ChangeName))


def test_of_two_that_want_the_last_lease_one_gets_it() -> None:
    node = pool_node(state="SERVING", leases=3, epoch=3)
    first, second = pool_life.give(node, MOST), pool_life.give(node, MOST)
    assert first is not None
    assert second is not None
    after = pool_life.after(node, first)
    assert after is not None
    assert after.leases == MOST
    assert pool_life.after(after, second) is None
    assert pool_life.give(after, MOST) is None


def test_a_count_of_an_older_item_changes_nothing() -> None:
    """A lease came and another one went meanwhile: as many as before, and not the same."""
    node = pool_node(state="SERVING", leases=2, epoch=2)
    late = pool_life.take_back(node, 1.0)
    now = node.model_copy(update={"epoch": 3})
    assert late is not None
    assert pool_life.after(now, late) is None


def test_the_last_lease_frees_a_node_unless_it_drains() -> None:
    serving = pool_node(state="SERVING", leases=1, epoch=1)
    change = pool_life.take_back(serving, 5.0)
    assert change is not None
    free = pool_life.after(serving, change)
    assert free is not None
    assert (free.state, free.idle_since, free.leases) == ("FREE", 5.0, 0)
    drains = pool_life.after(serving, pool_life.drain("old", 6.0))
    assert drains is not None
    assert pool_life.after(drains, pool_life.end(7.0)) is None
    assert pool_life.give(drains, MOST) is None
    change = pool_life.take_back(drains, 8.0)
    assert change is not None
    empty = pool_life.after(drains, change)
    assert empty is not None
    ended = pool_life.after(empty, pool_life.end(9.0))
    assert ended is not None
    assert ended.state == "ENDED"


@pytest.mark.parametrize("state", get_args(PoolNodeState))
def test_a_change_counts_only_in_a_state_that_its_rule_names(state: PoolNodeState) -> None:
    node = pool_node(state=state, leases=2 if state in ("SERVING", "DRAINING") else 0)
    for change in changes_of(node).values():
        if change and state not in change.rule.sources:
            assert pool_life.after(node, change) is None


def test_a_change_has_all_values_that_its_rule_sets_and_no_other() -> None:
    with pytest.raises(ValueError, match="end sets"):
        Change("end", {"reason": "x"})
    assert len(pool_life.lose("x" * 5000, 1.0).values["reason"]) == pool_life.REASON_CHARACTERS
