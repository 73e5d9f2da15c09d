from math import ceil
from typing import Any

import pytest

from lambdas.core.errors import NoSuitableType
from lambdas.core.estimate.estimate import Estimate, estimate
from lambdas.core.estimate.figures import EndFigures
from lambdas.core.estimate.type_choice import Offer
from lambdas.core.estimate.whole_time import whole_time
from lambdas.core.request.request import Objective
from tests.lambdas.builders import figure, figures

GB = 10**9


def ends(**changes: float) -> EndFigures:
    given = figures(**changes)
    return EndFigures(source=given.source, destination=given.destination, direct=given.direct, egress=given.egress)


def offer(name: str = "t3.small", rate: float = 20.0, hour: float = 0.1, **changes: Any) -> Offer:
    defaults: dict[str, Any] = {"spread": figure(0.15), "spawn": figure(5.0), "most_pairs": 1000}
    return Offer(name, figure(rate), hour=figure(hour), **{**defaults, **changes})


def run(
    size: int = 2 * GB, offers: list[Offer] | None = None, using: EndFigures | None = None, **changes: Any
) -> Estimate:
    options: dict[str, Any] = {
        "requested": "auto",
        "pre_test": "auto",
        "objective": Objective(),
        "most_pairs": 8,
        "pre_test_seconds": 10.0,
        "notes": [],
    }
    return estimate(size, using or ends(), offers or [offer()], **{**options, **changes})


def test_explicit_pairs_are_taken() -> None:
    assert run(requested=3).chosen_pairs == 3
    assert run(requested=0).chosen_pairs == 0
    assert [row.pairs for row in run(requested=12, most_pairs=16).rows] == [*range(9), 11, 12]


def test_the_best_throughput_per_dollar_is_taken_and_all_candidates_are_shown() -> None:
    found = run(offers=[offer("m5.large", 20.0, 0.2), offer("t3.small", 18.0, 0.1), offer("t3.micro", 1.0, 0.05)])
    assert found.instance_type == "t3.small"
    assert [one.instance_type for one in found.candidates] == ["t3.small", "m5.large", "t3.micro"]
    assert found.figures.pair.value == 18.0


def test_a_type_that_does_not_help_comes_after_those_that_do_however_cheap() -> None:
    slow = offer("t3.nano", 20.0, 0.001, spawn=figure(1000.0))
    found = run(offers=[slow, offer("m5.large", 20.0, 0.2)])
    assert found.instance_type == "m5.large"
    assert not found.candidates[1].suitable
    assert "before relays serve" in found.candidates[1].reason


def test_a_single_pair_that_a_quota_leaves_is_held_against_the_direct_path_alone() -> None:
    (only,) = run(offers=[offer(most_pairs=1)]).candidates
    assert (only.suitable, only.reason) == (True, "200 MB/s per dollar and hour")


def test_no_suitable_type_means_the_direct_path_and_says_why() -> None:
    found = run(offers=[offer(refusal="not offered in us-west-2a")])
    assert (found.chosen_pairs, len(found.rows)) == (0, 1)
    assert found.reason == "relays do not help: not offered in us-west-2a"
    held = run(100 * GB, using=ends(direct=160.0))
    assert held.chosen_pairs == 0
    assert "fills the end machines already (160.0 MB/s)" in held.reason


def test_relays_that_were_asked_for_and_cannot_be_launched_are_refused() -> None:
    with pytest.raises(NoSuitableType, match=r"instanceTypes: none can be launched \(t3.small: not offered"):
        run(requested=2, offers=[offer(refusal="not offered in us-west-2a")])


def test_a_quota_that_bounds_the_choice_stands_in_the_notes() -> None:
    fast = Objective(minimise="time")
    (note,) = run(offers=[offer(most_pairs=2)], objective=fast).notes
    assert note == "the quota of vCPUs leaves 2 pairs of t3.small; a larger one allows more"
    assert run(1, [offer(most_pairs=2)], objective=fast).notes == []
    assert run(objective=fast).notes == []


def test_a_quota_leaves_fewer_pairs_and_says_so() -> None:
    assert len(run(offers=[offer(most_pairs=2)]).rows) == 3
    found = run(requested=5, offers=[offer(most_pairs=2)])
    assert (found.chosen_pairs, found.reason) == (2, "5 pairs were asked for; the quota of vCPUs leaves 2")
    none = run(offers=[offer(most_pairs=0)])
    assert (none.chosen_pairs, none.reason) == (
        0,
        "relays do not help: no relay is allowed: the quota of vCPUs is used up",
    )


def test_a_pre_test_is_automatic_only_when_it_saves_more_than_it_takes() -> None:
    assert not run(2 * GB, requested=2).pre_test
    # 833 s with pairs that differ by 15 %: the better half carries 12 % more, which saves over 25 s.
    assert run(50 * GB, requested=2).pre_test
    assert not run(50 * GB, requested=2, offers=[offer(spread=figure(0.01))]).pre_test
    assert not run(50 * GB, requested=0).pre_test


def test_rows_have_the_pre_test_that_the_estimate_itself_chooses() -> None:
    found = run(100 * GB, requested=4, offers=[offer(spread=figure(0.3))])
    with_it = run(100 * GB, requested=4, offers=[offer(spread=figure(0.3))], pre_test=True)
    assert found.pre_test
    assert found.row(4) == with_it.row(4)
    assert not found.row(0).pre_test
    assert found.reason.endswith("with a pre-test, which keeps the better 4 of 8 pairs")


def test_a_pre_test_is_advised_from_where_it_pays_on() -> None:
    # 4 pairs of 20 MB/s that differ by 15 %: the better half carries 10.9 % more, which makes up
    # for 12.5 s of 80 MB/s after 115 s.
    fast = Objective(minimise="time")
    advised = {gb: run(gb * GB, requested=4, objective=fast).pre_test for gb in (10, 12, 13, 110)}
    assert advised == {10: False, 12: False, 13: True, 110: True}
    # Eight relays more cost the 60 s that are billed at least, $0.0133, and what eight probes send in 10 s $0.032: what
    # 16.3 s are worth at $10 per hour.
    assert [run(gb * GB, requested=4).pre_test for gb in (30, 40)] == [False, True]
    # It saves dollars alone from where each of the eight relays runs 204 s less.
    free = Objective(value_of_time_usd_per_hour=0.0)
    assert [run(gb * GB, requested=4, objective=free).pre_test for gb in (200, 300)] == [False, True]


def test_a_pre_test_whose_probes_cost_more_than_its_time_is_worth_is_not_advised() -> None:
    # 10 s of 8 pairs at 390 MB/s are $0.62 to another region; 2 TB arrive sooner by what is worth less than that.
    fast = offer("c6in.large", 390.0, 0.126, spawn=figure(60.0), spread=figure(0.05))
    wide = ends(source=3000.0, destination=3000.0, direct=390.0)
    plain, tested = (run(2000 * GB, [fast], wide, requested=4, pre_test=test).row(4) for test in (False, True))
    assert 0.0 < (plain.seconds - tested.seconds) / 3600 * 10 < 0.6
    assert not run(2000 * GB, [fast], wide, requested=4).pre_test
    assert run(2000 * GB, [fast], wide, requested=4, objective=Objective(minimise="time")).pre_test


def test_a_pre_test_is_not_advised_where_quotas_do_not_leave_twice_the_relays() -> None:
    assert run(50 * GB, requested=2, offers=[offer(most_pairs=4)]).pre_test
    assert not run(50 * GB, requested=2, offers=[offer(most_pairs=3)]).pre_test


def test_a_pre_test_that_was_asked_for_or_forbidden_is_not_weighed() -> None:
    assert run(GB, requested=1, pre_test=True).pre_test
    assert not run(50 * GB, requested=2, pre_test=False).pre_test


def test_rows_have_the_whole_time_where_the_stages_are_known() -> None:
    whole = whole_time(None, 12.0)
    found = run(requested=2, whole=whole)
    row = found.row(2)
    assert row.whole_seconds == pytest.approx(12 + 4 + 15 + row.seconds, abs=0.001)
    assert row.sure_seconds > (row.whole_seconds or 0.0) > row.seconds
    assert run(requested=2).row(2).whole_seconds is None


def test_a_pre_test_is_made_where_it_is_needed_for_the_deadline() -> None:
    deadline = Objective(deadline_seconds=ceil(run(100 * GB, requested=4, pre_test=True).row(4).seconds))
    assert run(100 * GB, requested=4, objective=deadline).pre_test
