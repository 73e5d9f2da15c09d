"""A pre-test's own traffic: held back until its probes are done, counted afterwards."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.estimate import pre_tests
from lambdas.core.estimate.budget import needed
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.figures import Figures
from lambdas.core.estimate.rows import build_rows
from lambdas.core.fleet.relay_node import Node
from lambdas.core.request.request import Objective
from lambdas.core.spending.meter import Decision, Reading, affordable, decide, probes_to_come
from tests.lambdas.builders import estimate, figure, figures, node

GB = 10**9
START = 1000.0
STEP = 5


def wide(most: float = 390.0) -> Figures:
    """Pairs of 390 MB/s, of which `most` are possible."""
    used = figures(source=3000.0, destination=3000.0, direct=390.0, pair=390.0, spawn=60.0, relay_hour=0.126)
    return used.model_copy(update={"pair": figure(390.0).model_copy(update={"high": most})})


def probing(pairs: int, size: int, used: Figures, seconds: float) -> Estimate:
    rows = build_rows(size, pairs, used, seconds)
    changes = {"figures": used, "rows": rows, "pre_test": True, "bytes": size}
    return estimate(pairs, size=size).model_copy(update=changes)


def relays(pairs: int, **changes: Any) -> list[Node]:
    return [
        node(stage, slot, state="READY", requested_at=START, ready_at=START + 60.0, **changes)
        for slot in range(1, pairs + 1)
        for stage in (0, 1)
    ]


def reading(
    second: float, nodes: list[Node], known: Estimate, sent: int = 0, left: int = 0, rate: float = 0.0
) -> Reading:
    to_come = probes_to_come(nodes, known)
    return Reading(START + second, nodes, known, 100, START, sent, left, rate, probes_usd=to_come)


def test_probes_that_still_run_are_held_back_and_not_yet_spent() -> None:
    known = probing(2, 100 * GB, wide(), 10.0)
    found = reading(65, relays(4), known)
    most = 4 * 390.0 * 10 / 1000 * 0.02
    assert found.probes_usd == pytest.approx(most, abs=1e-6)
    done = reading(65, relays(4, measured_inter_region=390.0), known)
    assert done.probes_usd == 0.0
    assert found.spent() == done.spent()
    for look in ("until_next_look", "released_now", "released_next_time"):
        more = getattr(found, look)().egress - getattr(done, look)().egress
        assert more == pytest.approx(most, abs=1e-6), look


def test_nothing_is_held_back_for_a_successor_or_without_a_pre_test() -> None:
    known = probing(1, 100 * GB, wide(), 10.0)
    late = [*relays(1, measured_inter_region=390.0), node(0, 1, 1, "READY", requested_at=START + 400)]
    assert reading(500, late, known).probes_usd == 0.0
    assert reading(65, relays(1), known.model_copy(update={"pre_test": False})).probes_usd == 0.0
    assert reading(65, relays(1), known).probes_usd > 0.0


def test_relays_are_affordable_only_with_their_probes() -> None:
    known = probing(1, 100 * GB, wide(), 10.0)
    found = Reading(START, [], known, 100)
    each = 105 * 0.126 / 3600 + 390.0 * 10 / 1000 * 0.02 / 2
    spare = Objective(max_cost_usd=found.released_next_time().total + 2.5 * each)
    assert affordable(found, spare, 4) == 2


def test_probes_whose_relays_ended_before_a_result_count_as_if_they_had_sent_all_that_they_could() -> None:
    known = probing(1, 100 * GB, wide(), 10.0)
    gone = relays(2, ended_at=START + 66)
    found = Reading(START + 70, gone, known, 100, START, probing=(START + 60, START + 66))
    assert found.spent().egress == pytest.approx(2 * 390.0 * 10 / 1000 * 0.02, abs=1e-6)
    assert replace(found, probing=None).spent().egress == 0.0
    assert replace(found, probing=(START + 67, START + 70)).spent().egress == 0.0


def test_transfer_whose_probes_cost_a_third_of_it_is_neither_above_its_budget_nor_cut_short() -> None:
    """Of 100 GB and 8 pairs, which its own probes once made the meter stop with a third delivered."""
    known = probing(8, 100 * GB, wide(), 10.0)
    most = needed(known.chosen, known.figures) + 1e-4
    probes = 16 * 390_000_000 * 10
    for second, sent, nodes in ((60, 0, relays(16)), (85, probes, relays(16, measured_inter_region=390.0))):
        moved = second * 390_000_000
        found = reading(second, nodes, known, sent + moved, 100 * GB - moved, 390.0)
        assert decide(found, Objective.from_document({"maxCostUsd": most})) is Decision.GO_ON


@given(
    st.integers(1, 8),
    st.integers(20, 2000),
    st.integers(1, 60),
    st.floats(1.0, 4.0),
    st.floats(0.0, 1.0),
    st.sampled_from(["direct", "stop"]),
)
def test_tested_transfer_that_goes_as_estimated_stays_within_the_budget_that_its_row_needs(
    pairs: int, size_gb: int, seconds: int, possible: float, fast: float, on_budget: str
) -> None:
    """Whatever the probes find between what is expected of a pair and what is possible."""
    used = wide(390.0 * possible)
    known = probing(pairs, size_gb * GB, used, float(seconds))
    row = known.chosen
    most = needed(row, used)
    probed = 390.0 * (1 + fast * (possible - 1))
    joins = 60.0 + pre_tests.seconds(float(seconds), pairs)
    rate = (size_gb * 1e3 - 390.0 * min(joins, row.seconds)) / max(row.seconds - joins, 1e-9)
    for second in range(0, int(row.seconds), STEP):
        done = second >= joins
        nodes = relays(2 * pairs, measured_inter_region=probed if done else None)
        if done:
            ended = {"ended_at": START + joins, "state": "REJECTED"}
            nodes = [
                one.model_copy(update=ended if one.slot > pairs else {"joined_at": START + joins, "state": "JOINED"})
                for one in nodes
            ]
        moved = round((390.0 * min(second, joins) + max(second - joins, 0) * rate) * 1e6)
        probes = round(2 * pairs * probed * seconds * 1e6) if done else 0
        now = rate if done else 390.0
        left = max(size_gb * GB - moved, 0)
        found = reading(second, nodes, known, probes + moved, left, now)
        # Nothing of what is tested here: requests until the rest had gone on the direct path.
        control = found.released_next_time().control_plane
        objective = Objective.from_document({"maxCostUsd": most + control, "onBudget": on_budget})
        assert decide(found, objective) is Decision.GO_ON
        assert found.spent().total <= most
