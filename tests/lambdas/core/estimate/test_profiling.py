import pytest

from lambdas.core.errors import BudgetTooSmall, NoSuitableType
from lambdas.core.estimate.profiling import estimate_of_measuring, measured
from lambdas.core.fleet.pairing import RelayPath
from lambdas.core.fleet.relay_node import Measurement
from tests.lambdas.builders import estimate, node


def test_rows_are_what_measuring_takes_and_costs() -> None:
    found = estimate_of_measuring(estimate(2), 10.0, None)
    assert (found.bytes, found.chosen_pairs, found.pre_test) == (0, 1, True)
    assert [row.pairs for row in found.rows] == [1, 2]
    # 5 s to spawn; the pairs at once, a quarter as long inside the region, and the direct path; 2 pairs for 60 s
    # at least, 20 MB/s on each of 3 ways
    assert found.row(1).seconds == 27.5
    relays_and_egress = 4 * 60 * 0.1 / 3600 + 0.6 * 0.02
    control_plane = 0.00185
    assert found.row(1).cost_usd == pytest.approx(relays_and_egress + control_plane, abs=0.0001)
    assert found.row(2).cost_usd > found.row(1).cost_usd
    assert "2 pairs and the direct path" in found.reason


def test_less_money_than_one_pair_costs_is_refused_with_what_it_costs() -> None:
    """What the error asks for suffices, and a hundredth of a cent less does not."""
    with pytest.raises(BudgetTooSmall, match=r"maxCostUsd: 0.01 is less than measuring needs, 0.0353 dollars"):
        estimate_of_measuring(estimate(1), 10.0, 0.01)
    assert estimate_of_measuring(estimate(1), 10.0, 0.0353).chosen_pairs == 1
    with pytest.raises(BudgetTooSmall):
        estimate_of_measuring(estimate(1), 10.0, 0.0352)


def test_without_a_relay_nothing_can_be_measured() -> None:
    direct_only = estimate(0).model_copy(update={"rows": estimate(0).rows[:1], "reason": "the quota leaves 0"})
    with pytest.raises(NoSuitableType, match="the quota leaves 0"):
        estimate_of_measuring(direct_only, 10.0, None)


def test_what_was_measured_counts_the_slower_relay_of_a_pair_and_all_probes() -> None:
    relays = (node("source", ready_at=1004.0), node("destination", ready_at=1006.5))
    pairs = [RelayPath(relays), RelayPath((node("source", 2), node("destination", 2)))]
    found = measured(30.0, [Measurement(1, 20.0, 150.0)], pairs, 2.0)
    assert (found.direct, found.sent_bytes) == (30.0, 100_000_000)
    (pair,) = found.pairs
    assert (pair.path_id, pair.inter_region, pair.intra_region, pair.spawn_seconds) == ("pair-1", 20.0, 150.0, 6.5)
