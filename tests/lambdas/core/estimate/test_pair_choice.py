from math import ceil
from statistics import NormalDist
from typing import Any

import pytest

from lambdas.core.errors import BudgetTooSmall, DeadlineUnreachable
from lambdas.core.estimate.budget import needed
from lambdas.core.estimate.figures import Figure, Figures
from lambdas.core.estimate.pair_choice import choose, promise
from lambdas.core.estimate.rows import Row, build_rows
from lambdas.core.estimate.whole_time import WholeTime
from lambdas.core.request.request import Objective
from lambdas.core.words import duration
from tests.lambdas.builders import figures

GB = 10**9


def rows(size: int = 2 * GB, **changes: float) -> list[Row]:
    return build_rows(size, 8, figures(**changes))


def chosen(found: list[Row], requested: Any = "auto", **objective: Any) -> tuple[int, str]:
    return choose(found, requested, Objective(**objective), figures())


def bears(pairs: int) -> float:
    return needed(rows()[pairs], figures())


def test_least_time_and_least_cost() -> None:
    assert chosen(rows(), minimise="time")[0] == 7
    assert chosen(rows(), minimise="cost")[0] == 0


def test_balanced_weighs_each_pair_by_what_its_time_is_worth() -> None:
    # 20 GB at 20 MB/s: a pair saves 1000 s / p / (p + 1) and costs 2 x $0.1 an hour for what it runs.
    worths = {usd: chosen(rows(20 * GB), value_of_time_usd_per_hour=usd)[0] for usd in (0.0, 0.15, 0.25, 10.0)}
    assert worths == {0.0: 0, 0.15: 0, 0.25: 5, 10.0: 7}
    small = {usd: chosen(rows(2 * GB), value_of_time_usd_per_hour=usd)[0] for usd in (0.3, 1.0, 3.0, 10.0)}
    assert list(small.values()) == sorted(small.values())
    assert len(set(small.values())) > 2


def test_least_energy_counts_ends_and_relays_alike() -> None:
    # A relay as fast as the direct path takes its share of the time: twice the machines for half of it.
    pairs, reason = chosen(rows(20 * GB), minimise="energy")
    row = rows(20 * GB)[pairs]
    assert row.energy_wh == min(one.energy_wh or 0.0 for one in rows(20 * GB))
    assert reason.endswith("W a machine: a node, and its share of a rack switch for 24)")
    fast = build_rows(20 * GB, 8, figures(pair=60.0))
    assert chosen(fast, minimise="energy")[0] == 2


def test_the_balance_is_said_in_numbers() -> None:
    found = rows(20 * GB)
    saved, more = found[0].seconds - found[7].seconds, found[7].cost_usd - found[0].cost_usd
    assert chosen(found) == (
        7,
        f"at $10 per hour, 7 pairs save {duration(saved)} of 16 min 40 s, worth ${saved / 360:.2f}, "
        f"for ${more:.4f} more",
    )
    pairs, reason = chosen(found, value_of_time_usd_per_hour=0.1)
    assert pairs == 0
    assert reason.startswith(
        "the direct path: at $0.1 per hour, 7 pairs save 14 min 31 s of 16 min 40 s, worth $0.0242"
    )


def test_of_rows_that_are_worth_the_same_the_fewest_pairs_are_taken() -> None:
    free = build_rows(20 * GB, 8, figures(relay_hour=0.0))
    equal = [row.model_copy(update={"cost_usd": 0.4}) for row in free]
    assert choose(equal, "auto", Objective(), figures(relay_hour=0.0))[0] == 7


def test_a_budget_bounds_the_balance_and_does_not_replace_it() -> None:
    assert chosen(rows(), max_cost_usd=1000.0)[0] == chosen(rows())[0]
    assert chosen(rows(), max_cost_usd=1000.0, value_of_time_usd_per_hour=0.0)[0] == 0
    pairs, reason = chosen(rows(), max_cost_usd=bears(2))
    assert pairs == 2
    assert reason.endswith(f"more, within {bears(2)} dollars")


def test_explicit_pairs_are_taken_as_far_as_the_budget_goes() -> None:
    assert chosen(rows(), 3) == (3, "3 pairs were asked for")
    pairs, reason = chosen(rows(), 5, max_cost_usd=bears(2))
    assert pairs == 2
    assert "5 pairs were asked for; 2 fit" in reason


def test_a_budget_is_used_unless_fewer_pairs_are_as_fast() -> None:
    assert chosen(rows(), minimise="time", max_cost_usd=bears(2))[0] == 2
    # The source's 160 MB/s are reached with 7 pairs: the eighth would cost and bring nothing.
    assert chosen(rows(), minimise="time", max_cost_usd=1000.0)[0] == 7


def test_a_budget_that_bears_no_pair_is_the_reason_for_none() -> None:
    assert chosen(rows(), max_cost_usd=bears(0)) == (
        0,
        f"no pair that helps fits into {bears(0)} dollars; direct {duration(rows()[0].seconds)}",
    )


def test_a_budget_below_the_direct_path_is_refused() -> None:
    with pytest.raises(BudgetTooSmall, match=r"maxCostUsd: 0\.01 "):
        chosen(rows(), max_cost_usd=0.01)


def test_a_budget_keeps_free_what_the_meter_holds_back() -> None:
    assert chosen(rows(), max_cost_usd=bears(2) - 1e-9)[0] == 1
    with pytest.raises(BudgetTooSmall, match=rf"cheapest choice needs, {ceil(bears(0) * 1e4) / 1e4}"):
        chosen(rows(), max_cost_usd=rows()[0].cost_usd)


def test_a_deadline_takes_the_cheapest_that_meets_it() -> None:
    assert chosen(rows(), deadline_seconds=40)[0] == 2
    assert chosen(rows(), deadline_seconds=1000)[0] == 0


def in_time(confidence: float = 0.9) -> list[Row]:
    """Rows that start 10 s after the transfer and are reported 20 s after the data, data times known to 10 %."""
    whole = WholeTime(NormalDist(30.0, 0.0), NormalDist(1.0, 0.1))
    return [row.in_time(whole, confidence) for row in rows()]


def test_a_deadline_counts_all_stages_and_the_margin() -> None:
    # 2 pairs: 36.7 s of data, and 30 s around it; 1.28 times 10 % of the data time make it 71.4 s.
    found = in_time()
    assert chosen(found, deadline_seconds=72) == (
        2,
        "2 pairs are the cheapest choice within 72 s: 71 s with 90 % confidence "
        "(67 s expected from start to report, 37 s of them for the data)",
    )
    assert chosen(found, deadline_seconds=71)[0] == 3
    assert chosen(in_time(0.5), deadline_seconds=67)[0] == 2
    assert chosen(in_time(0.99), deadline_seconds=72, deadline_confidence=0.99)[0] == 3


def test_a_deadline_that_is_refused_names_one_that_would_be_met() -> None:
    found = in_time()
    with pytest.raises(DeadlineUnreachable, match=r"give at least \d+") as error:
        chosen(found, deadline_seconds=40)
    told = int(str(error.value).split("give at least ")[1].split(",")[0])
    assert chosen(found, deadline_seconds=told)[0] == 7
    with pytest.raises(DeadlineUnreachable):
        chosen(found, deadline_seconds=told - 1)


@pytest.mark.parametrize("requested", ["auto", 1])
def test_an_unreachable_deadline_is_refused_with_the_best(requested: Any) -> None:
    with pytest.raises(DeadlineUnreachable, match="deadlineSeconds: 5 cannot be met; the best is"):
        chosen(rows(), requested, deadline_seconds=5)


def test_relays_that_bring_nothing_are_not_taken_and_the_reason_says_why() -> None:
    pairs, reason = chosen(rows(100 * GB, direct=160.0))
    assert pairs == 0
    assert "source machine" in reason


def unmeasured(low: float, high: float) -> Figures:
    """Of a direct path nobody knows more than its bounds, MB/s; 20 are expected."""
    direct = Figure(value=20.0, low=low, high=high, origin="published", note="its machine")
    return figures().model_copy(update={"direct": direct})


def first(size: int = 2 * GB, low: float = 2.0, high: float = 100.0) -> tuple[list[Row], Figures]:
    used = unmeasured(low, high)
    whole = WholeTime(NormalDist(30.0, 0.0), NormalDist(1.0, 0.1))
    return [row.in_time(whole, 0.9) for row in build_rows(size, 8, used)], used


def test_on_first_contact_a_deadline_that_cannot_be_promised_is_accepted_in_words() -> None:
    found, used = first()
    # 8 pairs are 90 % sure of it within 60 s; at best even the direct path meets it.
    assert min(row.sure_seconds for row in found) > 45
    pairs, reason = choose(found, "auto", Objective(deadline_seconds=45), used)
    assert found[pairs].whole_seconds == min(row.whole_seconds or 0.0 for row in found)
    assert reason.endswith("the least time; 45 s cannot be promised")
    (note,) = promise(found[pairs], Objective(deadline_seconds=45), used)
    assert note.startswith(
        "a deadline of 45 s cannot be promised, because the direct path of these machines was never measured: "
    )
    assert note.endswith("47 s are expected from start to report, 44 s at best, 49 s at worst")
    assert promise(found[pairs], Objective(deadline_seconds=60), used) == []
    assert "45 s cannot be promised" in choose(found, 4, Objective(deadline_seconds=45), used)[1]


def test_of_rows_that_are_expected_within_a_deadline_the_cheapest_is_taken_where_none_can_be_promised() -> None:
    found, used = first()
    assert min(row.sure_seconds for row in found) > 48
    pairs, reason = choose(found, "auto", Objective(deadline_seconds=48), used)
    # The source's 160 MB/s are reached with 7 pairs; an eighth takes as long.
    assert [row.pairs for row in found if (row.whole_seconds or 0.0) <= 48] == [7, 8]
    assert pairs == 7
    assert "7 pairs are the cheapest choice that is expected within 48 s, which cannot be promised" in reason


@pytest.mark.parametrize("requested", ["auto", 2])
def test_a_deadline_that_even_the_best_case_misses_is_refused_on_first_contact_too(requested: Any) -> None:
    found, used = first()
    best = 30 + 2000 / 160
    with pytest.raises(DeadlineUnreachable, match="cannot be met"):
        choose(found, requested, Objective(deadline_seconds=int(best)), used)


def test_what_was_measured_promises_or_refuses_as_before() -> None:
    found, _ = first()
    with pytest.raises(DeadlineUnreachable, match="45 cannot be met"):
        choose(found, "auto", Objective(deadline_seconds=45), figures())
