"""Shares of a limit over several transfers: never more than it in all, whoever is cut off, dies or comes."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from random import Random

import pytest

from lambdas.core.fleet.common_limit import LEASE_SECONDS, RENEWED_AFTER_SECONDS, CommonLimits, Sharer, scope_of, shared
from lambdas.core.fleet.membership import LimitLease

LIMIT = 240
READ_SECONDS, REPORT_SECONDS, LOOK_SECONDS = 0.5, 2.0, 5.0


@dataclass
class Sender:
    """One transfer's sender as the daemon is: it reads, follows, reports, and its lease ends by itself."""

    label: str | None = None
    wants: float = inf
    lease: LimitLease | None = None
    since: float = 0.0
    version: int = 0
    reported: int | None = None
    reported_rate: float | None = None
    is_cut_off: bool = False
    # The record that it reads.
    record: LimitLease | None = None
    record_version: int = 1

    def share(self, now: float) -> float:
        """Mbit/s that it may send."""
        if self.lease is None:
            return inf
        holds = now - self.since < self.lease.seconds
        return self.lease.mbps if holds else min(self.lease.mbps, self.lease.safe_mbps)

    def sends(self, now: float) -> float:
        return min(self.share(now), self.wants)

    def read(self, now: float) -> None:
        if self.is_cut_off:
            return
        self.version = self.record_version
        if self.lease != self.record:
            self.lease, self.since = self.record, now

    def report(self, now: float) -> None:
        if not self.is_cut_off:
            self.reported, self.reported_rate = self.version, self.sends(now)

    def seen(self) -> Sharer:
        number = self.record.number if self.record else None
        return Sharer(self.label, self.reported_rate, inf, self.record_version, number, self.reported)

    def told(self, lease: LimitLease | None) -> None:
        if lease != self.record:
            self.record, self.record_version = lease, self.record_version + 1


@dataclass
class World:
    """A deployment's transfers under common limits, in steps of half a second."""

    state: CommonLimits
    senders: dict[str, Sender] = field(default_factory=dict)
    now: float = 0.0
    most: float = 0.0

    def look(self, edit: Callable[[CommonLimits], CommonLimits] = lambda state: state) -> None:
        self.state = shared(edit(self.state), {name: one.seen() for name, one in self.senders.items()}, self.now).next
        for name, one in self.senders.items():
            grant = self.state.grants.get(name)
            one.told(grant.lease if grant else None)

    def starts(self, name: str, sender: Sender) -> None:
        self.senders[name] = sender
        self.look()
        sender.read(self.now)

    def passes(self, seconds: float, *, looks: bool = True) -> None:
        for _ in range(round(seconds / READ_SECONDS)):
            self.now += READ_SECONDS
            for one in self.senders.values():
                one.read(self.now)
                if self.now % REPORT_SECONDS == 0:
                    one.report(self.now)
            if looks and self.now % LOOK_SECONDS == 0:
                self.look()
            self.most = max(self.most, self.sum)

    @property
    def sum(self) -> float:
        return sum(one.sends(self.now) for one in self.senders.values())

    @property
    def rates(self) -> dict[str, float]:
        return {name: one.sends(self.now) for name, one in self.senders.items()}


def under(limit: int = LIMIT, *names: str) -> World:
    world = World(CommonLimits().limited(scope_of(None), limit))
    for name in names:
        world.starts(name, Sender())
    return world


def test_one_alone_has_all_of_it_at_once_and_three_a_third_each() -> None:
    world = under(LIMIT, "one")
    assert world.sum == LIMIT
    world.starts("two", Sender())
    assert world.rates["two"] == 0.0, "the first one has not said yet that it follows less"
    world.starts("three", Sender())
    world.passes(20)
    assert world.rates == pytest.approx(dict.fromkeys(("one", "two", "three"), LIMIT / 3), abs=0.01)
    assert world.most <= LIMIT


def test_what_an_idle_one_does_not_send_goes_to_the_others_and_back_when_it_needs_it() -> None:
    world = under(LIMIT, "one", "two", "idle")
    world.senders["idle"].wants = 4.0
    world.passes(60)
    assert world.rates["one"] > 0.47 * LIMIT
    world.senders["idle"].wants = inf
    world.passes(30)
    assert world.rates == pytest.approx(dict.fromkeys(world.senders, LIMIT / 3), rel=0.05)
    assert world.most <= LIMIT


def test_another_limit_holds_within_a_look_and_lifting_it_takes_the_leases_away() -> None:
    world = under(LIMIT, "one", "two", "three")
    world.passes(30)
    world.look(lambda state: state.limited(scope_of(None), 90))
    world.passes(1)
    assert world.sum <= 90
    world.passes(20)
    assert world.sum >= 0.95 * 90
    world.look(lambda state: state.limited(scope_of(None), 480))
    world.passes(1)
    assert 0.95 * 480 <= world.sum <= 480
    world.look(lambda state: state.limited(scope_of(None), None))
    world.passes(1)
    assert (world.sum, world.state.grants) == (inf, {})


def test_without_whoever_shares_the_sum_stays_below_and_a_start_finds_room() -> None:
    world = under(LIMIT, "one", "two", "three")
    world.passes(60)
    world.passes(LEASE_SECONDS + 10, looks=False)
    assert world.sum == pytest.approx(LIMIT * 3 / 4), "each has what it would have beside one more"
    world.starts("four", Sender())
    world.passes(60, looks=False)
    assert world.most <= LIMIT
    world.passes(30)
    assert world.rates == pytest.approx(dict.fromkeys(world.senders, LIMIT / 4), rel=0.05)


def test_one_that_is_cut_off_keeps_its_share_until_its_lease_ends() -> None:
    world = under(LIMIT, "one", "two")
    world.passes(30)
    world.senders["one"].is_cut_off = True
    world.starts("three", Sender())
    # Its lease may have been renewed that long before.
    world.passes(LEASE_SECONDS - RENEWED_AFTER_SECONDS - LOOK_SECONDS)
    assert world.rates["one"] == LIMIT / 2
    world.passes(100)
    assert world.rates["one"] == pytest.approx(LIMIT / 3), "its safe share"
    assert world.most <= LIMIT
    assert world.sum >= 0.95 * LIMIT


def test_a_limit_of_a_label_holds_within_that_of_all() -> None:
    world = under(LIMIT)
    world.state = world.state.limited(scope_of("night"), 40)
    for name, label in (("a", "night"), ("b", "night"), ("c", "day")):
        world.starts(name, Sender(label=label))
    world.passes(30)
    assert world.rates == pytest.approx({"a": 20.0, "b": 20.0, "c": 200.0}, abs=0.1)
    world.look(lambda state: state.limited(scope_of(None), None))
    world.passes(10)
    assert world.rates == pytest.approx({"a": 20.0, "b": 20.0, "c": inf}, abs=0.1)


def test_of_one_that_is_taken_down_the_share_is_kept_until_it_is_gone() -> None:
    world = under(LIMIT, "one", "two")
    world.passes(20)
    left = {"two": world.senders["two"].seen()}
    kept = shared(world.state, left, world.now, leaving={"one"})
    assert kept.grants["two"].mbps == pytest.approx(LIMIT / 2, rel=0.03)
    assert shared(kept, left, world.now).grants["two"].mbps == LIMIT


def test_a_transfer_with_a_limit_of_its_own_leaves_the_rest() -> None:
    sharers = {"slow": Sharer(None, None, 10.0), "fast": Sharer(None, None, inf)}
    grants = shared(CommonLimits().limited(scope_of(None), 100), sharers, 0.0).grants
    assert (grants["slow"].mbps, grants["fast"].mbps) == (10.0, 90.0)


@pytest.mark.parametrize("seed", range(20))
def test_the_sum_never_passes_the_limit(seed: int) -> None:
    """Senders come, idle, are cut off and come back, looks are missing; the limit is raised, and never lowered."""
    random, limit, served = Random(seed), LIMIT, []
    world = under(limit)
    for step in range(120):
        event = random.choice(("start", "idle", "cut", "end", "raise", "outage", "time", "time"))
        names = sorted(world.senders)
        if event == "start" and len(names) < 8:
            world.starts(f"t{step}", Sender(wants=random.choice((inf, inf, 30.0, 0.0))))
        elif event == "idle" and names:
            world.senders[random.choice(names)].wants = random.choice((0.0, 5.0, 60.0, inf))
        elif event == "cut" and names:
            one = world.senders[random.choice(names)]
            one.is_cut_off = not one.is_cut_off
        elif event == "end" and names:
            del world.senders[random.choice(names)]
        elif event == "raise":
            limit += random.choice((0, 10))
            world.look(lambda state, most=limit: state.limited(scope_of(None), most))  # type: ignore[misc]
        world.passes(random.choice((5, 20, 60)), looks=event != "outage")
        assert world.sum <= limit + 1e-6, (seed, step, event, world.rates)
        assert world.most <= limit + 1e-6, (seed, step, event)
        if all(one.wants == inf and not one.is_cut_off for one in world.senders.values()) and world.senders:
            served.append(world.sum / limit)
    assert not served or max(served) > 0.95


def test_a_look_that_finds_nothing_new_changes_nothing() -> None:
    world = under(LIMIT, "one", "two")
    world.passes(30)
    sharers = {name: one.seen() for name, one in world.senders.items()}
    state = shared(world.state, sharers, world.now)
    assert shared(state, sharers, world.now + 1) == state
    later = shared(state, sharers, world.now + 60)
    assert {name: grant.mbps for name, grant in later.grants.items()} == {n: g.mbps for n, g in state.grants.items()}
    assert all(later.grants[name].number == grant.number + 1 for name, grant in state.grants.items()), "renewed"
    assert replace(sharers["one"], rate=0.0) != sharers["one"]
