"""Pairs that full ends may hold back teach a bound, so that the rows of every other number of pairs stay honest."""

from dataclasses import dataclass, field, replace
from math import inf

import pytest

from lambdas.core.estimate import offers
from lambdas.core.estimate.estimate import Estimate, estimate
from lambdas.core.estimate.offers import Side, Terms
from lambdas.core.estimate.profile import Profile, hosts
from lambdas.core.learning.path_rates import Expected, judge
from lambdas.core.learning.sample import events
from lambdas.core.learning.samples import samples_of
from lambdas.core.models.zero_wait import Serving, zero_wait
from lambdas.core.request.request import Objective
from lambdas.core.tariff.instance_types import TypeFacts
from lambdas.core.tariff.prices import PriceBook
from tests.lambdas.builders import DESTINATION_ID, SOURCE_ID, node, transfer
from tests.lambdas.traffic import Traffic

HOSTS, END, RELAY = hosts(SOURCE_ID, DESTINATION_ID), "t3.small", "c6in.large"
HOUR, T_V = 3600.0, 8.0


def _facts(name: str, baseline: float, peak: float) -> TypeFacts:
    return TypeFacts(name, 2, "x86_64", baseline, peak, 0.0, 0.0, False, frozenset({"us-west-2a", "eu-west-1a"}))


FACTS = {END: _facts(END, 0.128, 5.0), RELAY: _facts(RELAY, 3.125, 25.0)}


@dataclass
class Place:
    """Two machines and the relays between them, MB/s; `ends`: what the two move in all. The direct path is first to
    get its share, as on the local cloud.
    """

    direct: float
    pair: float
    ends: float
    dip: float = 1.0
    """Share of the network that is left while pairs serve; the ends move what they did."""
    profiles: dict[str, Profile] = field(default_factory=dict)
    transfers: int = 0

    def moves(self, pairs: int, size_mb: float, beside: float = 0.0) -> None:
        """A transfer with so many pairs, and what it teaches; `beside`: MB/s of another transfer all the time."""
        share = min(self.pair, (self.ends - beside - self.direct) / pairs) if pairs else 0.0
        names = [f"pair-{slot}" for slot in range(1, pairs + 1)]
        rates = {"direct": self.direct, **dict.fromkeys(names, share)}
        left = {path: self.dip * rate for path, rate in rates.items()}
        falls_at = T_V if self.dip < 1 else inf
        joins = {"direct": 0.0, **dict.fromkeys(names, T_V)}
        traffic = Traffic(rates, joins, size_mb, 2.0, falls_at=falls_at, lasting=left)
        arrivals = traffic.arrivals()
        relays = [
            node(side, slot, state="TERMINATED", joined_at=1000.0 + T_V, ready_at=1007.0, instance_type=RELAY)
            for slot in range(1, pairs + 1)
            for side in ("source", "destination")
        ]
        spans = [(min(arrivals.begun.values()) - 5, (arrivals.ended or 0.0) + 5)] if beside else []
        self.transfers += 1
        for (subject, _, metric), event in events(
            samples_of(transfer(), arrivals, relays, self.profiles, beside=spans)
        ).items():
            known = self.profiles.get(subject, Profile())
            self.profiles[subject] = known.refined(metric, event, self.transfers * HOUR)

    def estimate(self, size_mb: float) -> Estimate:
        sides = [
            Side(region, f"{region}a", FACTS, None, frozenset({"x86_64"})) for region in ("us-west-2", "eu-west-1")
        ]
        terms = Terms(sides[0], sides[1], internet=False, prices=PriceBook(), market="on-demand", now=0.0)
        relay = replace_spawn(self.profiles.get(RELAY, Profile()))
        known = {END: Profile(), RELAY: relay}
        ends = offers.end_figures(terms, (END, END), self.profiles.get(HOSTS), known, [RELAY], None)
        return estimate(
            round(size_mb * 1e6),
            ends,
            [offers.offer(terms, RELAY, relay, beside=ends)],
            requested="auto",
            pre_test=False,
            objective=Objective(minimise="time"),
            most_pairs=8,
            pre_test_seconds=0.0,
            notes=[],
        )

    def takes(self, pairs: int, size_mb: float) -> float:
        """Seconds in truth."""
        paths = [Serving(self.direct), *[Serving(self.pair, T_V)] * pairs]
        return zero_wait(size_mb, paths, self.ends, self.ends)

    def misjudged(self, size_mb: float) -> dict[int, str]:
        """Rows whose range does not contain the truth."""
        rows = {row.pairs: row for row in self.estimate(size_mb).rows}
        found = {}
        for pairs in (1, 2, 4, 8):
            (best, worst), true = rows[pairs].bounds, self.takes(pairs, size_mb)
            # Nearer than a tenth a bound is not told, and a tail of a chunk or two is nobody's error.
            if not 0.9 * best <= true <= 1.1 * worst:
                found[pairs] = f"{best:.1f} to {worst:.1f} s, took {true:.1f} s"
        return found


def replace_spawn(profile: Profile) -> Profile:
    """How long relays take to start is not what is judged here."""
    return replace(profile, metrics={name: one for name, one in profile.metrics.items() if name != "spawn"},
                   configured={**profile.configured, "spawn": T_V})  # fmt: skip


def test_a_network_that_is_slow_while_all_pairs_serve_leaves_what_had_passed_before_possible() -> None:
    place = Place(direct=6.0, pair=6.0, ends=80.0)
    place.moves(8, 1000.0)
    assert place.misjudged(360.0) == {}
    place.dip = 0.2
    place.moves(8, 200.0)
    assert place.profiles[HOSTS].known("ends") is not None, "the dip was taken for full ends"
    assert place.misjudged(360.0) == {}
    found = place.estimate(360.0)
    assert found.undecided or found.chosen_pairs > 4
    assert "had passed before" in found.figures.source.note


def asym() -> Place:
    return Place(direct=12.0, pair=12.0, ends=45.0)


def test_eight_pairs_that_full_ends_hold_back_leave_every_row_within_its_range() -> None:
    place = asym()
    place.moves(8, 1200)
    assert place.profiles[RELAY].known("interRegion") is None
    assert place.misjudged(1200) == {}
    # The row that was just seen is told as it was seen.
    assert place.estimate(1200).row(8).seconds == pytest.approx(place.takes(8, 1200), rel=0.1)


@pytest.mark.parametrize("later", [(2,), (4,), (8, 8), (2, 8), (1, 8, 4)])
def test_whatever_follows_every_row_stays_within_its_range(later: tuple[int, ...]) -> None:
    place = asym()
    for pairs in (8, *later):
        place.moves(pairs, 1200)
        assert place.misjudged(1200) == {}


def test_fewer_pairs_in_a_later_transfer_teach_their_rate_and_more_of_them_then_the_limit() -> None:
    place = asym()
    for pairs in (8, 2, 8):
        place.moves(pairs, 1200)
    pair, ends = place.profiles[RELAY].known("interRegion"), place.profiles[HOSTS].known("ends")
    assert pair
    assert ends
    assert pair.value == pytest.approx(12.0, rel=0.05)
    assert pair.samples == 1
    assert ends.value == pytest.approx(45.0, rel=0.05)


def test_seconds_beside_another_transfer_between_the_same_ends_teach_nothing() -> None:
    place = Place(direct=12.0, pair=12.0, ends=60.0)
    place.moves(8, 900, beside=30.0)
    assert {metric for profile in place.profiles.values() for metric in profile.metrics} <= {"spawn"}
    assert place.misjudged(900) == {}
    place.moves(8, 900)
    assert place.misjudged(900) == {}
    place.moves(4, 900, beside=30.0)
    place.moves(2, 900)
    assert place.misjudged(900) == {}
    pair = place.profiles[RELAY].known("interRegion")
    assert pair
    assert pair.value == pytest.approx(12.0, rel=0.05)
    assert pair.samples == 1


def test_several_new_pairs_are_free_where_a_window_with_fewer_shows_that_the_sum_grows() -> None:
    direct, one = {"direct": 20.0}, {"direct": 20.0, "pair-1": 50.0}
    three = {**one, "pair-2": 48.0, "pair-3": 52.0}
    windows = {frozenset(rates): [rates] * 5 for rates in (one, three)}
    known = Expected(own=direct)
    assert judge(windows, known).bounded == []
    assert judge({frozenset(three): [three] * 5}, known).bounded == [three] * 5
    # More has passed through the same ends before, or each adds what the direct path carries.
    assert judge({frozenset(three): [three] * 5}, Expected(own=direct, passed=200.0)).bounded == []
    like = dict.fromkeys(three, 20.0)
    assert judge({frozenset(like): [like] * 5}, known).bounded == []


def test_pairs_that_are_slower_beside_more_of_them_show_that_the_ends_are_full() -> None:
    three = {"direct": 12.0, **{f"pair-{slot}": 11.0 for slot in (1, 2, 3)}}
    eight = {"direct": 12.0, **{f"pair-{slot}": 33 / 8 for slot in range(1, 9)}}
    found = judge({frozenset(rates): [rates] * 5 for rates in (three, eight)}, Expected(own={"direct": 12.0}))
    assert (found.bounded, found.held) == ([three] * 5, [eight] * 5)
