"""What is not known is a range: lower bounds are no ceilings, bursts end, and the reason says which unknown decides."""

from dataclasses import replace
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.errors import DeadlineUnreachable
from lambdas.core.estimate import measured, offers, published_limits
from lambdas.core.estimate.data_time import seconds_for
from lambdas.core.estimate.estimate import Estimate, estimate
from lambdas.core.estimate.figures import Bound, Burst, Figure, Figures, least
from lambdas.core.estimate.history import Event, History
from lambdas.core.estimate.offers import Side, Terms
from lambdas.core.estimate.profile import Metric, Profile
from lambdas.core.estimate.rows import build_rows
from lambdas.core.estimate.whole_time import whole_time
from lambdas.core.request.request import Objective
from lambdas.core.tariff.instance_types import TypeFacts
from lambdas.core.tariff.prices import PriceBook
from tests.lambdas.builders import figure, figures

GB, TB = 10**9, 10**12
MINUTE = 60.0


def facts(name: str, baseline: float, peak: float, vcpus: int = 2) -> TypeFacts:
    return TypeFacts(name, vcpus, "x86_64", baseline, peak, 0.0, 0.0, False, frozenset({"us-west-2a", "eu-west-1a"}))


FACTS = {
    "t3.small": facts("t3.small", 0.128, 5.0),
    "c6in.large": facts("c6in.large", 3.125, 25.0),
    "c5.9xlarge": facts("c5.9xlarge", 50.0, 50.0, 36),
    "m5.8xlarge": facts("m5.8xlarge", 10.0, 10.0, 32),
}


def history(value: float, seconds: float = 20.0) -> History:
    return History(value, value * value, 3, 0.0, seconds)


def found(
    ends: str,
    relay: str,
    size: int,
    machines: dict[Metric, History] | None = None,
    relays: dict[Metric, History] | None = None,
    **changes: Any,
) -> Estimate:
    """By what EC2 publishes, and what transfers of two machines of the type `ends` taught."""
    sides = [Side(region, f"{region}a", FACTS, None, frozenset({"x86_64"})) for region in ("us-west-2", "eu-west-1")]
    terms = Terms(sides[0], sides[1], internet=False, prices=PriceBook(), market="on-demand", now=0.0)
    profile = Profile(relays or {})
    options: dict[str, Any] = {
        "requested": "auto",
        "pre_test": False,
        "objective": Objective(minimise="time"),
        "most_pairs": 8,
        "pre_test_seconds": 0.0,
        "notes": [],
        **changes,
    }
    profiles = {ends: Profile() if ends != relay else profile, relay: profile}
    known = offers.end_figures(terms, (ends, ends), Profile(machines or {}), profiles, [relay], None)
    return estimate(size, known, [offers.offer(terms, relay, profile, beside=known)], **options)


def test_ends_that_burst_are_no_reason_against_relays() -> None:
    first = found("t3.small", "t3.small", 15 * GB)
    assert first.undecided
    assert first.undecided.decided_by == "sourceMBps"
    assert first.undecided.pairs[0] == 0
    assert first.undecided.pairs[-1] > 0
    assert "whether relays help depends on what the ends send and receive in all: between 16 and 625" in first.reason
    best, worst = first.rows[0].bounds
    assert best == pytest.approx(15_000 / 625)
    assert worst == pytest.approx(15_000 / 16, rel=1e-3)


def test_a_measured_direct_path_bounds_the_ends_from_below_only() -> None:
    known = found("t3.small", "t3.small", 15 * GB, {"direct": history(30.0)}, {"interRegion": history(30.0)})
    source = known.figures.source
    assert (source.least_now, source.most) == (30.0, 625.0)
    assert known.undecided
    assert known.undecided.decided_by == "sourceMBps"
    assert known.chosen_pairs > 0
    assert "16" not in known.reason.split(";")[0].split("between")[1].split("MB/s")[0]


def test_the_dissertations_ends_take_relays() -> None:
    # t2.small: v_e 15, v_i 90 MB/s, T_v 90 s: measured, so nothing is undecided.
    ends: dict[Metric, History] = {"direct": history(15.0), "ends": history(90.0)}
    relays: dict[Metric, History] = {"interRegion": history(15.0), "intraRegion": history(90.0), "spawn": history(90.0)}
    known = found("t3.small", "t3.small", 8 * GB, ends, relays)
    assert known.undecided is None
    assert known.chosen_pairs >= 5
    assert known.row(known.chosen_pairs).speedup > 2.5


@pytest.mark.parametrize(("minutes", "seconds"), [(5, 10_605), (30, 7_826), (60, 4_492)])
def test_20_tb_after_a_short_transfer_are_predicted_from_what_lasts_with_a_range(minutes: int, seconds: float) -> None:
    # 1 500 MB/s were seen of c6in.large (baseline 390.6) for 20 s; direct 625, T_v 45 s.
    rate = figure(1500.0, "measured")
    lasting = 390.625
    credit = published_limits.credit(lasting, rate)
    pair = Figure(value=lasting, burst=Burst(rate=rate, credit=credit), origin="published", note="baseline")
    used = figures(source=1e5, destination=1e5, direct=625.0, spawn=45.0).model_copy(update={"pair": pair})
    row = build_rows(20 * TB, 3, used)[3]
    at = {5: row.seconds_high, 30: row.seconds, 60: row.seconds_low}
    assert at[minutes] == pytest.approx(seconds, abs=2.0)
    assert "once credits are used up" in row.limit


def test_a_short_transfer_teaches_no_lasting_rate_and_an_hour_does() -> None:
    kind = FACTS["c6in.large"]
    short = measured.figure(Profile({"interRegion": history(1500.0, 20.0)}), "interRegion", "x", kind)
    assert short
    assert short.burst
    assert (short.value, short.burst.rate.value) == (kind.network, 1500.0)
    hour = measured.figure(Profile({"interRegion": history(1500.0, 3600.0)}), "interRegion", "x", kind)
    assert hour
    assert (hour.value, hour.burst) == (1500.0, None)


def test_what_was_sent_in_an_earlier_transfer_is_the_least_credit() -> None:
    kind = FACTS["c6in.large"]
    half_an_hour = measured.figure(Profile({"interRegion": history(1500.0, 1800.0)}), "interRegion", "x", kind)
    assert half_an_hour
    assert half_an_hour.burst
    least_rate = half_an_hour.burst.rate.least
    assert half_an_hour.burst.credit.least == pytest.approx((least_rate - kind.network) * 1800.0)


def test_a_rate_that_fell_teaches_what_lasts_and_its_credit_whatever_is_published() -> None:
    metrics: dict[Metric, History] = {
        "direct": history(100.0, 60.0),
        "directLasting": history(20.0),
        "directCredit": history(4800.0),
    }
    for kind in (None, FACTS["t3.small"], FACTS["c5.9xlarge"]):
        known = measured.figure(Profile(metrics), "direct", "these two machines", kind)
        assert known
        assert known.burst
        assert (known.value, known.burst.rate.value, known.burst.credit.value) == (20.0, 100.0, 4800.0)


@pytest.mark.parametrize("ends", ["t3.small", "c5.9xlarge"])
def test_ends_that_fell_before_anything_met_their_limit_are_predicted_from_what_lasts(ends: str) -> None:
    machines: dict[Metric, History] = {
        "direct": history(24.0, 60.0),
        "endsLasting": history(39.0),
        "endsCredit": history(2500.0),
    }
    known = found(ends, "c6in.large", 6500 * 10**6, machines, {"interRegion": history(19.0), "spawn": history(10.0)})
    assert (known.figures.source.value, known.figures.destination.value) == (39.0, 39.0)
    # 10 s of the direct path alone, until the credit is used up 176 MB/s, and the rest at 39.
    used_up = 2500 / (176 - 39)
    rest = (6500 - 240 - 176 * used_up) / 39
    row = next(row for row in known.rows if row.pairs == 8)
    assert row.seconds == pytest.approx(10 + used_up + rest, rel=0.1)


def test_a_figure_is_told_with_its_range_and_its_burst() -> None:
    total = published_limits.in_all(FACTS["t3.small"], "t3.small")
    assert total.words == "100 (16 to 625), 16 after 151 GB of credit"
    assert total.told == "published: t3.small: baseline 0.128 Gbps; published: up to 5 Gbps while credits last"
    assert figure(20.0).words == "20"
    pairs = Profile().refined("interRegion", Event(20.0, 2.0, 8), 0.0)
    known = measured.figure(pairs, "interRegion", "t3.small pairs")
    assert known
    assert known.note == "t3.small pairs: 1 sample of 8 values, standard deviation 2"


def test_bounds_lie_around_the_value() -> None:
    with pytest.raises(ValueError, match=r"must lie between low, 5\.0, and high, 9\.0"):
        Figure(value=4.0, low=5.0, high=9.0, origin="assumed", note="x")


def test_the_slower_of_two_paths_lends_its_bounds_to_what_goes_through_both() -> None:
    wide = published_limits.in_all(FACTS["t3.small"], "t3.small")
    narrow = figure(50.0)
    both = least(wide, narrow)
    assert (both.value, both.now, both.least_now, both.most) == (16.0, 50.0, 16.0, 50.0)
    assert least(figure(10.0), wide).most == 10.0


rates = st.floats(1.0, 1e3)


@st.composite
def uncertain(draw: st.DrawFn) -> Figure:
    low, value, high = sorted(draw(st.tuples(rates, rates, rates)))
    if draw(st.booleans()):
        return Figure(value=value, low=low, high=high, origin="assumed", note="x")
    lower, middle, higher = sorted(draw(st.tuples(rates, rates, rates)))
    credit = sorted(draw(st.tuples(*[st.floats(0, 1e6)] * 3)))
    return Figure(
        value=low,
        burst=Burst(
            rate=Figure(value=max(middle, low), low=max(lower, low), high=max(higher, low), origin="assumed", note="x"),
            credit=Figure(value=credit[1], low=credit[0], high=credit[2], origin="assumed", note="x"),
        ),
        origin="assumed",
        note="x",
    )


uncertain_figures = st.builds(
    lambda source, destination, direct, pair, spawn: figures().model_copy(
        update={"source": source, "destination": destination, "direct": direct, "pair": pair, "spawn": spawn}
    ),
    uncertain(),
    uncertain(),
    uncertain(),
    uncertain(),
    st.tuples(st.floats(0, 30), st.floats(30, 90), st.floats(90, 300)).map(
        lambda t: Figure(value=t[1], low=t[0], high=t[2], origin="assumed", note="x")
    ),
)


BETTER_FIRST: tuple[Bound, Bound] = ("high", "low")


@given(st.integers(1, 10**13), st.integers(0, 8), uncertain_figures)
def test_the_time_at_the_bounds_brackets_the_expected_one(size: int, pairs: int, used: Figures) -> None:
    best, worst = (seconds_for(size, pairs, used.at(bound)) for bound in BETTER_FIRST)
    expected = seconds_for(size, pairs, used)
    assert best * (1 - 1e-9) <= expected <= worst * (1 + 1e-9)


@given(st.integers(1, 10**13), st.integers(0, 8), uncertain_figures)
def test_each_figure_alone_at_its_bounds_stays_within_the_range(size: int, pairs: int, used: Figures) -> None:
    best, worst = (seconds_for(size, pairs, used.at(bound)) for bound in BETTER_FIRST)
    for name in ("source", "destination", "direct", "pair"):
        for bound in ("low", "high"):
            one = used.model_copy(update={name: getattr(used, name).at(bound)})
            assert best * (1 - 1e-9) <= seconds_for(size, pairs, one) <= worst * (1 + 1e-9)


def test_what_is_known_exactly_has_no_range() -> None:
    assert all(row.seconds_low is None and row.seconds_high is None for row in build_rows(2 * GB, 8, figures()))


def test_a_range_that_does_not_change_the_choice_leaves_nothing_undecided() -> None:
    known = found("c5.9xlarge", "c6in.large", 10 * GB, {"direct": history(100.0), "ends": history(110.0)})
    assert known.undecided is None
    sure = replace(FACTS["c5.9xlarge"])
    assert not published_limits.in_all(sure, "c5.9xlarge").is_open


@given(
    st.lists(st.floats(0.01, 10_000), min_size=1, max_size=12),
    st.lists(st.floats(0.01, 10_000), min_size=1, max_size=12),
)
def test_however_much_measurements_differ_the_time_at_worst_is_finite(direct: list[float], pairs: list[float]) -> None:
    ends = relays = Profile()
    for at, sample in enumerate(direct):
        ends = ends.refined("direct", sample, 60.0 * at).refined("ends", sample, 60.0 * at)
    for at, sample in enumerate(pairs):
        relays = relays.refined("interRegion", sample, 60.0 * at)
    known = found("c5.9xlarge", "c5.9xlarge", GB, dict(ends.metrics), dict(relays.metrics))
    assert all(0 < row.bounds[0] <= row.seconds <= row.bounds[1] < inf for row in known.rows)


def test_relays_that_were_never_measured_count_as_the_direct_path_wherever_it_was() -> None:
    """The dissertation's v_e 15 and V 90 with other relays: one pair of what AWS publishes would fill the ends."""
    for ends in ("t3.small", "c5.9xlarge"):
        machines: dict[Metric, History] = {"direct": history(15.0), "ends": history(90.0)}
        known = found(ends, "c6in.large", 50 * GB, machines, {"spawn": history(90.0)})
        assert known.figures.pair.now == pytest.approx(15.0)
        assert known.figures.pair.most == pytest.approx(3125.0)
        assert known.chosen_pairs == 5
        assert known.row(5).seconds == pytest.approx(631, abs=10)
        # If a pair carries what the direct path does, one takes 1 712 s.
        assert known.row(1).seconds == pytest.approx(1712, abs=40)
        assert known.on_the_way
        assert "pair" in known.on_the_way


@pytest.mark.parametrize("ends", ["t3.small", "c5.9xlarge"])
def test_what_was_measured_is_decided_beforehand_and_a_sum_that_never_passed_is_not(ends: str) -> None:
    relays: dict[Metric, History] = {"interRegion": history(15.0), "spawn": history(90.0)}
    machines: dict[Metric, History] = {"direct": history(15.0), "ends": history(90.0)}
    known = found(ends, "c6in.large", 50 * GB, machines, relays)
    assert (known.chosen_pairs, known.on_the_way) == (5, None)
    if ends == "t3.small":
        # Its burst lies anywhere up to 625 MB/s; so far 40 have passed, and nine paths carry 135.
        machines = {"direct": history(15.0), "endsAtLeast": history(40.0)}
        assert found(ends, "c6in.large", 20 * GB, machines, relays).on_the_way
        machines = {"direct": history(15.0), "endsAtLeast": history(135.0)}
        assert found(ends, "c6in.large", 20 * GB, machines, relays).on_the_way is None


@pytest.mark.parametrize("deadline", [200, 600, 1500])
def test_a_deadline_on_first_contact_is_refused_only_where_the_best_case_misses_it(deadline: int) -> None:
    """50 GB between cold t3.small, 529 s expected, was refused below 2 575 s."""
    options: dict[str, Any] = {"whole": whole_time(None), "objective": Objective(deadline_seconds=deadline)}
    known = found("t3.small", "t3.small", 50 * GB, **options)
    assert any(note.startswith(f"a deadline of {deadline} s cannot be promised") for note in known.notes)
    assert known.on_the_way
    with pytest.raises(DeadlineUnreachable):
        # All that the type may send at its best is 625 MB/s.
        found("t3.small", "t3.small", 50 * GB, **{**options, "objective": Objective(deadline_seconds=80)})


def test_the_path_of_machines_that_do_not_burst_is_no_promise_of_a_deadline() -> None:
    """1 TB between cold m5.8xlarge was promised within what AWS publishes of the machine."""
    options: dict[str, Any] = {"whole": whole_time(None), "objective": Objective(minimise="cost")}
    direct = found("m5.8xlarge", "c6in.large", TB, **options).rows[0]
    best, worst = direct.bounds
    assert best == pytest.approx(1e6 / 1250)
    assert worst > 10 * direct.seconds / 2
    options["objective"] = Objective(deadline_seconds=round(best) + 200)
    assert "cannot be promised" in found("m5.8xlarge", "c6in.large", TB, **options).reason
