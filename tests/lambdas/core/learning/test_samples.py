"""Samples of transfers whose every rate is known."""

from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lambdas.core.chunks.events import Delivered
from lambdas.core.estimate import measured
from lambdas.core.estimate.history import Event
from lambdas.core.estimate.profile import Profile, hosts
from lambdas.core.fleet.relay_node import Node
from lambdas.core.learning.arrivals import Arrivals
from lambdas.core.learning.sample import Sample, events
from lambdas.core.learning.samples import repeats_of, samples_of, tails_of
from lambdas.core.seats.epochs import first_epoch
from tests.lambdas.builders import DESTINATION_ID, SOURCE_ID, node, transfer
from tests.lambdas.traffic import Traffic

HOSTS = hosts(SOURCE_ID, DESTINATION_ID)
TYPE = "t3.small"
ACCURACY = 0.05
GB = 10**9


def pair(slot: int, **changes: Any) -> list[Node]:
    joined = {"joined_at": 1040.0, "ready_at": 1035.0, **changes}
    return [node("source", slot, state="TERMINATED", **joined), node("destination", slot, state="TERMINATED", **joined)]


def relays(pairs: int, **changes: Any) -> list[Node]:
    return [one for slot in range(1, pairs + 1) for one in pair(slot, **changes)]


def values(samples: list[Sample], subject: str, metric: str) -> list[float]:
    return [sample.value for sample in samples if (sample.subject, sample.metric) == (subject, metric)]


def learnt(traffic: Traffic, nodes: list[Node], profiles: dict[str, Profile] | None = None) -> list[Sample]:
    return learnt_of(traffic.arrivals(), nodes, profiles)


def learnt_of(arrivals: Arrivals, nodes: list[Node], profiles: dict[str, Profile] | None = None) -> list[Sample]:
    return samples_of(transfer(), arrivals, nodes, profiles or {})


def test_how_much_longer_relays_live_than_data_moves_is_learnt_of_those_that_saw_its_end() -> None:
    arrivals = Traffic({"direct": 20.0}, {"direct": 0.0}, size_mb=200).arrivals()
    first, last = min(arrivals.begun.values()), arrivals.ended or 0.0
    assert last - first == pytest.approx(10.0, abs=1.0)
    seen = pair(1, requested_at=first - 2, ended_at=last + 5)
    others = [
        node("source", 2, state="LOST", requested_at=first, ended_at=first + 1),
        node("source", 2, 1, state="TERMINATED", requested_at=first + 5, ended_at=last + 5),
        node("source", 3, state="TERMINATED", provider="lent", requested_at=first, ended_at=last + 500),
    ]
    samples = tails_of(transfer(), arrivals, [*seen, *others])
    assert values(samples, TYPE, "tail") == pytest.approx([7.0, 7.0])
    assert tails_of(transfer(), Arrivals(), seen) == []


def repeats(arrived: int, sent: int, run: int = 1, skipped: int | None = None) -> list[Sample]:
    end = Delivered(bytes=arrived, files=1, chunks=1, sent_bytes=sent, epoch=first_epoch(1), skipped=skipped)
    return repeats_of(transfer().model_copy(update={"run": run}), end)


def test_the_share_that_was_sent_beyond_what_arrived_is_learnt_of_a_first_run() -> None:
    assert values(repeats(100 * GB, 103 * GB), HOSTS, "repeated") == [pytest.approx(0.03)]
    assert values(repeats(100 * GB, 100 * GB), HOSTS, "repeated") == [0.0]
    assert repeats(100 * GB, 20 * GB, run=2) == []


def test_what_was_sent_of_skipped_files_and_what_a_few_bytes_sent_is_no_share() -> None:
    # A log of 60 MB that grew while it was sent, and was skipped: two bytes arrived.
    assert repeats(2, 60 * 10**6, skipped=1) == []
    assert repeats(10 * GB, 10 * GB + 60 * 10**6, skipped=1) == []
    assert repeats(60, 120) == repeats(0, 0) == repeats(16 * 2**20 - 1, 2**25) == []


def test_a_share_weighs_as_much_as_its_bytes_and_is_never_more_than_is_plausible() -> None:
    assert [sample.weight for size in (10**8, GB, 50 * GB) for sample in repeats(size, size)] == [0.1, 1.0, 1.0]
    assert values(repeats(GB, 50 * GB), HOSTS, "repeated") == [1.0]
    profile = Profile()
    for size, share in ((10**8, 0.5), (GB, 0.02), (10**8, 0.5), (GB, 0.02)):
        event = events(repeats(size, round(size * (1 + share))))[HOSTS, None, "repeated"]
        profile = profile.refined("repeated", event, 0.0)
    known = profile.known("repeated")
    assert known is not None
    # Of 2.2 GB 140 MB went twice.
    assert known.value == pytest.approx(0.14 / 2.2)


def test_what_one_transfer_shows_of_a_metric_is_one_sample_with_its_spread() -> None:
    shown = events([Sample(TYPE, "interRegion", rate, lasted) for rate, lasted in ((10.0, 5.0), (14.0, 9.0))])
    assert shown == {(TYPE, None, "interRegion"): Event(12.0, 2.0, 2, 1.0, 9.0)}


def test_direct_path_alone() -> None:
    samples = learnt(Traffic({"direct": 20.0}, {"direct": 0.0}, size_mb=200), [])
    assert [(s.subject, s.metric) for s in samples] == [(HOSTS, "direct")]
    assert samples[0].value == pytest.approx(20.0, rel=0.01)


def test_first_second_and_two_more_are_needed_for_the_direct_path() -> None:
    assert learnt(Traffic({"direct": 20.0}, {"direct": 0.0}, size_mb=50), []) == []


def test_a_short_direct_path_slower_than_it_was_measured_is_no_limit_of_the_ends() -> None:
    arrivals = Traffic({"direct": 20.0}, {"direct": 0.0}, size_mb=110).arrivals()
    assert {sample.metric for sample in samples_of(transfer(), arrivals, [], {}, 40.0)} == {"direct"}


def test_burst_of_the_first_second_does_not_count() -> None:
    arrivals = Traffic({"direct": 20.0}, {"direct": 0.0}, size_mb=200).arrivals()
    arrivals.per_second[min(second for second, _ in arrivals.per_second), "direct"] *= 10
    assert values(samples_of(transfer(), arrivals, [], {}), HOSTS, "direct") == [pytest.approx(20.0, rel=0.01)]


@st.composite
def unequal(draw: st.DrawFn) -> Traffic:
    """Up to four pairs that join one after the other, each of its own rate."""
    rates = draw(st.lists(st.floats(5, 80), min_size=2, max_size=5))
    paths = ["direct", *(f"pair-{slot}" for slot in range(1, len(rates)))]
    gaps = draw(st.lists(st.floats(6, 12), min_size=len(rates), max_size=len(rates)))
    joins = [0.0, *(sum(gaps[: i + 1]) for i in range(len(rates) - 1))]
    size = sum(rate * (sum(gaps) + 6 - join) for rate, join in zip(rates, joins, strict=True))
    return Traffic(
        dict(zip(paths, rates, strict=True)),
        dict(zip(paths, joins, strict=True)),
        size_mb=size,
        chunk_mb=draw(st.sampled_from([1.0, 2.0, 8.0])),
        lanes=draw(st.integers(1, 3)),
        latest_sync=draw(st.floats(0, 1.5)),
        seed=draw(st.integers(0, 99)),
        begin=draw(st.floats(1_000_000, 1_000_001)),
    )


@settings(max_examples=30)
@given(unequal())
def test_unhindered_paths_are_recovered(traffic: Traffic) -> None:
    pairs = len(traffic.rates) - 1
    samples = learnt(traffic, relays(pairs))
    assert values(samples, HOSTS, "direct") == [pytest.approx(traffic.rates["direct"], rel=ACCURACY)]
    expected = [traffic.rates[f"pair-{slot}"] for slot in range(1, pairs + 1)]
    assert values(samples, TYPE, "interRegion") == [pytest.approx(rate, rel=ACCURACY) for rate in expected]
    assert values(samples, HOSTS, "ends") == []


@settings(max_examples=30)
@given(unequal(), st.floats(0.5, 0.85), st.booleans())
def test_ends_that_hold_the_last_pair_back_are_recovered(traffic: Traffic, share: float, tested: bool) -> None:
    rates = list(traffic.rates.values())
    most, before = sum(rates), sum(rates[:-1])
    traffic.ceiling = max(before, share * most)
    nodes = [
        one
        for slot, rate in enumerate(rates[1:], 1)
        for one in pair(slot, **({"measured_inter_region": rate} if tested else {}))
    ]
    samples = learnt(traffic, nodes)
    found = values(samples, HOSTS, "ends")
    if traffic.ceiling < 0.9 * most:
        assert found == [pytest.approx(traffic.ceiling, rel=ACCURACY)]
    # A rate that the ends held back is no rate of a relay.
    for rate in values(samples, TYPE, "interRegion"):
        assert min(abs(rate - own) / own for own in rates[1:]) <= ACCURACY + 0.07


def test_pairs_that_join_together_are_seen_to_be_held_back_by_what_the_direct_path_loses() -> None:
    paths = ["direct", *(f"pair-{slot}" for slot in (1, 2, 3))]
    joins = dict.fromkeys(paths, 6.0) | {"direct": 0.0}
    samples = learnt(Traffic(dict.fromkeys(paths, 40.0), joins, size_mb=2000, ceiling=100.0), relays(3))
    assert values(samples, HOSTS, "ends") == [pytest.approx(100.0, rel=ACCURACY)]
    assert values(samples, TYPE, "interRegion") == []


def test_ends_whose_bytes_arrive_unevenly_teach_their_mean_with_its_swing() -> None:
    paths = ["direct", "pair-1", "pair-2"]
    joins = dict.fromkeys(paths, 6.0) | {"direct": 0.0}
    arrivals = Traffic(dict.fromkeys(paths, 40.0), joins, size_mb=1300, ceiling=100.0).arrivals()
    # As in `bench.estimate --scenarios source-is-the-limit`: what relays took in at first, they passed on later.
    for second, factor in ((8, 0.80), (9, 0.73), (10, 0.62), (11, 1.6), (12, 1.25)):
        for path in paths:
            arrivals.per_second[1_000_000 + second, path] *= factor
    found = [sample for sample in learnt_of(arrivals, relays(2)) if (sample.subject, sample.metric) == (HOSTS, "ends")]
    assert len(found) > 1
    profile = Profile()
    for sample in found:
        profile = profile.refined("ends", sample.value, 1000.0, sample.lasted_seconds)
    figure = measured.figure(profile, "ends", "these two machines")
    assert figure is not None
    assert figure.value == pytest.approx(100.0, rel=ACCURACY)
    assert figure.least < 90.0 < 110.0 < figure.greatest


def unfair(direct: float, pair: float) -> tuple[Traffic, list[Node]]:
    """The ends hold the pairs back, but the direct path takes all that it can: by itself it tells nothing."""
    rates = {"direct": direct, **{f"pair-{slot}": pair for slot in (1, 2, 3)}}
    return Traffic(rates, dict.fromkeys(rates, 6.0) | {"direct": 0.0}, size_mb=1000), relays(3)


def test_pairs_are_seen_to_be_held_back_by_what_their_type_did_before() -> None:
    known = Profile().refined("interRegion", 20.0, 1000.0)
    samples = learnt(*unfair(20.0, 6.5), {TYPE: known})
    assert values(samples, HOSTS, "ends") == [pytest.approx(39.5, rel=ACCURACY)]
    assert values(samples, TYPE, "interRegion") == []


def test_pairs_somewhat_slower_than_their_type_is_are_not_taken_for_held_back() -> None:
    known = Profile().refined("interRegion", 20.0, 1000.0)
    samples = learnt(*unfair(20.0, 17.0), {TYPE: known})
    assert values(samples, HOSTS, "ends") == []
    assert values(samples, TYPE, "interRegion") == [pytest.approx(17.0, rel=ACCURACY)] * 3


def test_ends_that_are_known_are_met_again() -> None:
    known = Profile().refined("ends", 40.0, 1000.0)
    samples = learnt(*unfair(20.0, 6.5), {HOSTS: known})
    assert values(samples, HOSTS, "ends") == [pytest.approx(39.5, rel=ACCURACY)]
    assert values(samples, TYPE, "interRegion") == []


def test_ends_that_carry_more_than_was_known_are_told_so() -> None:
    known = Profile().refined("ends", 40.0, 1000.0)
    samples = learnt(*unfair(20.0, 20.0), {HOSTS: known})
    assert values(samples, HOSTS, "ends") == [pytest.approx(80.0, rel=ACCURACY)]
    assert values(samples, TYPE, "interRegion") == [pytest.approx(20.0, rel=ACCURACY)] * 3


def test_network_that_grows_slower_than_it_was_is_not_taken_for_the_ends() -> None:
    paths = {"direct": 40.0, "pair-1": 40.0}
    arrivals = Traffic(paths, {"direct": 0.0, "pair-1": 8.0}, size_mb=900).arrivals()
    for second, path in list(arrivals.per_second):
        if second > 1_000_010:
            arrivals.per_second[second, path] *= 0.3
    samples = samples_of(transfer(), arrivals, relays(1), {})
    assert (values(samples, HOSTS, "ends"), values(samples, TYPE, "interRegion")) == ([], [])


def test_what_a_limit_allowed_is_no_limit_of_the_machines() -> None:
    traffic = Traffic({"direct": 40.0, "pair-1": 40.0}, {"direct": 0.0, "pair-1": 8.0}, size_mb=900, ceiling=50.0)
    samples = samples_of(transfer(), traffic.arrivals(), relays(1), {}, lowest_limit_mbps=400)
    assert values(samples, HOSTS, "direct") == [pytest.approx(40.0, rel=ACCURACY)]
    assert (values(samples, HOSTS, "ends"), values(samples, TYPE, "interRegion")) == ([], [])


def test_pairs_without_a_direct_path() -> None:
    rates = {"pair-1": 30.0, "pair-2": 20.0}
    samples = learnt(Traffic(rates, {"pair-1": 0.0, "pair-2": 6.0}, size_mb=700), relays(2))
    assert values(samples, TYPE, "interRegion") == [pytest.approx(rate, rel=ACCURACY) for rate in (30.0, 20.0)]
    assert values(samples, HOSTS, "direct") == []
    # Of two at once nobody can tell whether the ends held them back.
    samples = learnt(Traffic(rates, dict.fromkeys(rates, 0.0), size_mb=500), relays(2))
    assert values(samples, TYPE, "interRegion") == []
    assert values(samples, TYPE, "interRegionAtLeast") == [pytest.approx(rate, rel=ACCURACY) for rate in (30.0, 20.0)]


def test_pre_test_tells_of_all_relays_also_of_the_rejected() -> None:
    kept = pair(1, measured_inter_region=39.5, measured_intra_region=300.0)
    rejected = pair(2, joined_at=None, measured_inter_region=8.0, measured_intra_region=64.0)
    samples = samples_of(transfer(), Arrivals(), [*kept, *rejected], {})
    assert values(samples, TYPE, "interRegion") == [39.5, 8.0]
    assert values(samples, TYPE, "intraRegion") == [300.0, 64.0]


def test_pair_that_was_pre_tested_and_stayed_counts_once_or_the_mean_would_drift_to_the_better_half() -> None:
    kept = pair(1, measured_inter_region=40.0, measured_intra_region=300.0)
    rejected = pair(2, joined_at=None, measured_inter_region=20.0, measured_intra_region=300.0)

    def rates(nodes: list[Node]) -> list[float]:
        traffic = Traffic({"direct": 20.0, "pair-1": 40.0}, {"direct": 0.0, "pair-1": 6.0}, size_mb=1000)
        return sorted(values(learnt(traffic, nodes), TYPE, "interRegion"))

    assert rates([*kept, *rejected]) == [20.0, 40.0]
    assert rates(pair(1)) == [pytest.approx(40.0, rel=ACCURACY)]


def test_pre_test_that_failed_or_met_the_limit_of_the_source_says_nothing_about_the_inside() -> None:
    failed = pair(1, measured_inter_region=0.0, measured_intra_region=0.0)
    starved = pair(2, measured_inter_region=40.0, measured_intra_region=20.0)
    samples = samples_of(transfer(), Arrivals(), [*failed, *starved], {})
    assert values(samples, TYPE, "interRegion") == [40.0]
    assert values(samples, TYPE, "intraRegion") == []


def test_a_pre_test_beside_another_transfer_tells_nothing_and_is_no_part_of_the_start_either() -> None:
    nodes = pair(1, ready_at=1034.0, joined_at=1060.0, measured_inter_region=39.5, measured_intra_region=300.0)

    def metrics(*beside: tuple[float, float]) -> dict[str, float]:
        return {one.metric: one.value for one in samples_of(transfer(), Arrivals(), nodes, {}, beside=beside)}

    assert metrics((1059.0, 1070.0)) == {"spawn": 34.0}
    assert metrics((1000.0, 1030.0), (1061.0, 1070.0)) == {"spawn": 34.0, "interRegion": 39.5, "intraRegion": 300.0}


def test_pair_of_two_types_tells_nothing_about_either() -> None:
    both = [node("source", joined_at=1040.0), node("destination", joined_at=1040.0, instance_type="t3.medium")]
    tested = [one.model_copy(update={"measured_inter_region": 40.0, "ready_at": 1030.0}) for one in both]
    samples = samples_of(transfer(), Arrivals(), tested, {})
    assert [sample.metric for sample in samples] == ["spawn", "spawn"]


def test_start_up_lasts_until_joined_but_for_the_pre_test() -> None:
    plain = pair(1, ready_at=1030.0, joined_at=1032.0)
    tested = pair(2, ready_at=1034.0, joined_at=1060.0, measured_inter_region=40.0)
    never = pair(3, ready_at=1050.0, joined_at=None)
    samples = samples_of(transfer(), Arrivals(), [*plain, *tested, *never], {})
    assert values(samples, TYPE, "spawn") == [32.0, 32.0, 34.0, 34.0]


def test_measured_direct_path_counts_where_no_data_tells_it() -> None:
    samples = samples_of(transfer(), Arrivals(), [], {}, 31.0)
    assert values(samples, HOSTS, "direct") == [31.0]
    moved = Traffic({"direct": 20.0}, {"direct": 0.0}, size_mb=300)
    assert values(samples_of(transfer(), moved.arrivals(), [], {}, 31.0), HOSTS, "direct") == [
        pytest.approx(20, rel=0.05)
    ]


def test_relays_that_were_pre_tested_and_never_joined_tell_their_start_up_too() -> None:
    tested = pair(1, ready_at=1034.0, joined_at=None, measured_inter_region=40.0)
    assert values(samples_of(transfer(), Arrivals(), tested, {}), TYPE, "spawn") == [34.0, 34.0]


def test_nothing_moved_nothing_learnt() -> None:
    assert samples_of(transfer(), Arrivals(), [node("source"), node("destination")], {}) == []


def test_samples_are_finite_and_positive() -> None:
    samples = learnt(Traffic({"direct": 20.0, "pair-1": 5.0}, {"direct": 0.0, "pair-1": 9.0}, size_mb=900), relays(1))
    assert samples
    assert all(0 < sample.value < inf for sample in samples)


def test_relays_of_a_mesh_are_not_told_apart() -> None:
    rates = {"direct": 20.0, "pair-1": 15.0, "pair-1-2": 15.0}
    joins = {"direct": 0.0, "pair-1": 6.0, "pair-1-2": 6.0}
    nodes = [*pair(1), node("destination", 2, state="TERMINATED", joined_at=1040.0)]
    samples = learnt(Traffic(rates, joins, size_mb=1000), nodes)
    assert values(samples, TYPE, "interRegion") == []
    assert values(samples, HOSTS, "direct") == [pytest.approx(20.0, rel=ACCURACY)]


def test_relays_of_two_slots_tell_their_rate_where_each_has_one_path() -> None:
    nodes = [pair(3)[0], pair(2)[1]]
    traffic = Traffic({"direct": 20.0, "pair-3-2": 30.0}, {"direct": 0.0, "pair-3-2": 6.0}, size_mb=600)
    assert values(learnt(traffic, nodes), TYPE, "interRegion") == [pytest.approx(30.0, rel=ACCURACY)]


def test_machine_that_lends_a_share_tells_nothing_of_its_type() -> None:
    traffic = Traffic({"direct": 20.0, "pair-1": 10.0}, {"direct": 0.0, "pair-1": 6.0}, size_mb=600)
    samples = learnt(traffic, pair(1, provider="lent"))
    assert {sample.subject for sample in samples} == {HOSTS}
