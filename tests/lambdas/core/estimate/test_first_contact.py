"""What the first seconds of a transfer show, and what follows for the figures."""

from dataclasses import replace
from typing import Any

import pytest

from lambdas.core.chunks.progress import LaneProgress, Progress
from lambdas.core.estimate import first_contact
from lambdas.core.estimate.figures import Burst, EndFigures, Figure
from lambdas.core.estimate.first_contact import RelayDecision, Sight, Verdict
from lambdas.core.estimate.type_choice import Offer
from tests.lambdas import builders

START = 1000.0


def report(seconds: float, moved: int = 0, **rates: float) -> Progress:
    """`seconds` after the first byte, `moved` bytes; MB/s by path."""
    lanes = [LaneProgress(path_id=p.replace("_", "-"), lane=0, bytes=0, rate=rate) for p, rate in rates.items()]
    return builders.progress(1).model_copy(
        update={"at": START + seconds, "first_byte_at": START, "lanes": lanes, "moved_bytes": moved}
    )


def sights(*reports: Progress) -> list[Sight]:
    return [seen for one in reports if (seen := first_contact.sight(one))]


def ends(**changes: Any) -> EndFigures:
    """Ends that burst from 16 to 625 MB/s, of which nothing was measured."""
    reached = Figure(value=100.0, low=16.0, high=625.0, origin="published", note="t3.small: up to 5 Gbps")
    burst = Burst(rate=reached, credit=builders.figure(150_000.0, "published"))
    total = Figure(value=16.0, burst=burst, origin="published", note="t3.small: baseline")
    known = {"source": total, "destination": total, "direct": total, "egress": builders.figure(0.02), **changes}
    return EndFigures(**known)


def offer(pair: float = 390.0, kind: str = "c6in.large", **changes: Any) -> Offer:
    known = {
        "instance_type": kind,
        "pair": builders.figure(pair, "published"),
        "spread": builders.figure(0.15),
        "spawn": builders.figure(90.0),
        "hour": builders.figure(0.1),
        "most_pairs": 8,
    }
    return Offer(**{**known, **changes})


def decision(**changes: Any) -> RelayDecision:
    known = {"at": START, "after": 5.0, "served": 0, "pairs": 1, "last_slot": 0, "instance_type": "c6in.large"}
    return RelayDecision(**{**known, "direct": 20.0, "total": 20.0, "reason": "x", **changes})


@pytest.mark.parametrize(
    ("paths", "pairs"),
    [
        (["pair_1", "pair_2"], 2),
        # A mesh of two relays and three: nobody feeds more than the smaller side.
        (["pair_1", "pair_1_2", "pair_1_3", "pair_2", "pair_2_1", "pair_2_3"], 2),
        # After a relay was lost, the other one feeds both of its old and its new partners.
        (["pair_2", "pair_2_1"], 1),
        # One pair, two of three stages that share a relay, and two relays that send straight to the receiver.
        (["pair_1", "route_2_1_1_1", "route_2_2_1_2", "route_9_1", "route_9_2"], 4),
        ([], 0),
    ],
)
def test_pairs_are_counted_by_relays_and_not_by_paths(paths: list[str], pairs: int) -> None:
    seen = first_contact.sight(report(6.0, 0, direct=20.0, **dict.fromkeys(paths, 5.0)))
    assert seen is not None
    assert seen.pairs == pairs
    assert seen.pair == pytest.approx(5.0 * len(paths) / pairs if pairs else 0.0)


def test_a_report_that_began_before_the_first_byte_or_while_tcp_warmed_up_shows_nothing() -> None:
    assert first_contact.sight(report(2.9, direct=20.0)) is None
    assert first_contact.sight(report(3.0, direct=20.0)) == Sight(START + 3, 3.0, 20.0, 20.0, 0)
    assert first_contact.sight(report(30.0, direct=20.0), since=START + 28) is None


def test_two_reports_that_agree_decide() -> None:
    assert first_contact.evidence(sights(report(4, direct=20.0))) is None
    assert first_contact.evidence(sights(report(4, direct=10.0), report(6, direct=20.0))) is None
    found = first_contact.evidence(sights(report(4, direct=20.0), report(6, direct=22.0)))
    assert found is not None
    assert (found.direct, found.after) == (21.0, 6.0)


def test_one_report_decides_where_the_direct_path_carried_as_much_before() -> None:
    assert first_contact.evidence(sights(report(4, moved=76_000_000, direct=20.0))) is not None
    assert first_contact.evidence(sights(report(4, moved=40_000_000, direct=20.0))) is None
    assert first_contact.evidence(sights(report(4, moved=160_000_000, direct=20.0, pair_1=20.0))) is None


def test_reports_of_different_numbers_of_paths_do_not_agree() -> None:
    alone, both = report(4, direct=20.0), report(6, direct=20.0, pair_1=20.0)
    assert first_contact.evidence(sights(alone, both)) is None
    assert first_contact.expected(sights(alone, both)) == Sight(START + 6, 6.0, 20.0, 40.0, 1)


def test_without_evidence_the_last_three_reports_count_by_their_mean() -> None:
    found = first_contact.expected(
        sights(*(report(at, direct=rate) for at, rate in ((4, 90), (6, 10), (8, 20), (10, 60))))
    )
    assert found is not None
    assert found.direct == 30.0
    assert first_contact.expected([]) is None


def test_of_a_direct_path_that_was_never_measured_the_first_seconds_tell_more() -> None:
    assert first_contact.unmeasured(ends()) == "the direct path of these machines was never measured"
    assert first_contact.unmeasured(ends(direct=builders.figure(30.0, "configured"))) is None


def test_of_a_direct_path_whose_burst_was_measured_the_first_seconds_tell_no_more() -> None:
    seen = builders.figure(20.0, "measured")
    bursting = Figure(
        value=16.0,
        burst=Burst(rate=seen, credit=builders.figure(6000.0)),
        origin="published",
        note="t3.small: baseline",
    )
    assert first_contact.unmeasured(ends(direct=bursting)) is None


def test_relays_that_come_from_now_on_come_later_by_their_bounds_too() -> None:
    measured = Figure(value=10.0, low=9.5, high=10.8, origin="measured", note="28 samples")
    _, (relays,) = first_contact.with_first_sight(ends(), [offer(spawn=measured)], Sight(START, 6.0, 30.0, 30.0, 0))
    assert (relays.spawn.value, relays.spawn.low, relays.spawn.high) == (16.0, 15.5, 16.8)


def test_the_first_sight_takes_the_place_of_what_is_published_and_relays_come_from_now_on() -> None:
    found, (relays,) = first_contact.with_first_sight(ends(), [offer()], Sight(START, 6.0, 30.0, 30.0, 0))
    # Above the baseline it is a burst, which need not last.
    assert (found.direct.now, found.direct.value) == (30.0, 16.0)
    # Between what passed and what the type can: the geometric mean.
    assert found.source.now == pytest.approx((30 * 625) ** 0.5)
    assert relays.spawn.value == 96.0


def test_a_pair_of_which_nothing_was_measured_counts_as_the_direct_path() -> None:
    seen = Sight(START, 6.0, 30.0, 30.0, 0)
    _, (large, small) = first_contact.with_first_sight(ends(), [offer(), offer(25.0)], seen)
    assert (large.pair.value, large.pair.most, large.pair.origin) == (30.0, 390.0, "assumed")
    assert small.pair.value == 25.0
    _, (bursting,) = first_contact.with_first_sight(ends(), [replace(offer(), pair=ends().source)], seen)
    assert (bursting.pair.value, bursting.pair.now, bursting.pair.most) == (16.0, 30.0, 625.0)


def test_what_the_direct_path_shows_takes_the_place_of_what_was_expected_of_it_for_pairs_too() -> None:
    published = builders.figure(390.0, "published")
    expected = Figure(value=30.0, low=7.5, high=390.0, origin="published", note="as the direct path")
    held = builders.figure(40.0, "measured")
    for at_least, direct, value, low in ((None, 200.0, 200.0, 50.0), (held, 20.0, 40.0, 40.0)):
        unknown = replace(offer(), pair=expected, published=published, at_least=at_least)
        _, (found,) = first_contact.with_first_sight(ends(), [unknown], Sight(START, 6.0, direct, direct, 0))
        assert (found.pair.value, found.pair.least, found.pair.most) == (value, low, 390.0)


def test_a_pair_counts_with_the_share_of_its_published_rate_that_the_direct_path_reaches() -> None:
    wide = Figure(value=625.0, origin="published", note="gateway")
    steady = Figure(value=3125.0, origin="published", note="c6in.4xlarge")
    known = ends(direct=wide, source=steady, destination=steady)
    measured = replace(offer(), pair=builders.figure(25.0, "measured"))
    found, (guess, kept) = first_contact.with_first_sight(known, [offer(), measured], Sight(START, 6.0, 62.5, 62.5, 0))
    assert guess.pair.value == pytest.approx(39.0)
    assert guess.pair.origin == "assumed"
    assert kept.pair.value == 25.0
    # A path far below what the machine may send is the limit itself.
    assert found.source.value == 3125.0


@pytest.mark.parametrize(
    ("direct", "total", "found"),
    [
        (20.0, 40.0, "free"),
        (17.0, 40.0, "free"),
        (12.0, 30.0, "held"),
        (10.0, 20.0, "unhelped"),
        (10.0, 21.0, "unhelped"),
        (6.0, 18.0, "fell"),
    ],
)
def test_the_sum_and_the_direct_path_tell_what_relays_have_changed(direct: float, total: float, found: Verdict) -> None:
    assert first_contact.verdict(Sight(START, 20.0, direct, total, 1), decision()) == found


def test_for_the_bytes_left_all_that_serves_stands_for_the_direct_path() -> None:
    seen = Sight(START, 20.0, 20.0, 60.0, 2)
    others = [offer(), offer(kind="t3.small")]
    found, offered = first_contact.with_relays(ends(), others, seen, "free", "c6in.large")
    assert found.direct.value == 60.0
    assert [(one.instance_type, one.pair.value) for one in offered] == [("c6in.large", 20.0)]
    assert found.source.now > 60.0
    full, _ = first_contact.with_relays(ends(), others, seen, "held", "c6in.large")
    assert (full.source.now, full.destination.now, full.source.value) == (60.0, 60.0, 16.0)
