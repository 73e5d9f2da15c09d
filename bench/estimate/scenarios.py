"""What is measured: transfers between emulated machines whose caps only the emulation knows."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import fsum, inf

from lambdas.core.estimate import pre_tests
from lambdas.core.models.zero_wait import Serving, zero_wait
from lambdas.core.routes.network_map import Link, NetworkMap
from lambdas.core.routes.selection import select
from tests.e2e.account import HOME, OTHER

# What two cores move through relays without being the limit themselves, MB/s.
MACHINE_LIMIT = 180.0
# From the request of an emulated VM to its place in the membership, beyond its boot, s.
START_SECONDS = 1.2
# As the deployment has it: so long each hop is measured, s.
PROBE_SECONDS = 1
# Data time that a generated scenario should take by its caps, s.
SHORTEST, LONGEST = 8.0, 18.0
SMALL_FILE_MB = 0.02
# Generated scenarios with links of their own, and what their routes are worth beside pairs at least.
DRAWN_LINKS, LEAST_PLANNED = 3, 1.3
# Their published figures are far above all caps here: they tell nothing.
SOURCE_TYPE, DESTINATION_TYPE = "c6in.4xlarge", "m6in.4xlarge"
# Of these AWS publishes what lasts, MB/s, and that 40 times as much may pass: the limits of generated ends lie between.
BURSTING_TYPES, BURSTING_LASTS = ("t3.small", "t3a.small"), 16.0


@dataclass(frozen=True)
class Credit:
    """What a machine moves in all, MB/s, until it has moved so many MB more than its baseline."""

    burst: float
    size: float


@dataclass(frozen=True)
class Machine:
    """Caps in MB/s: out of the region (v_e), and in all (V of an end, v_i of a relay), with `credit` its baseline.

    `changes`: so many seconds after the launch other traffic leaves a share of v_e.
    """

    inter: float
    intra: float
    credit: Credit | None = None
    changes: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Dip:
    """From `after` to `until`, seconds after the first byte of each transfer, a `share` of v_e is left to all."""

    after: float
    until: float
    share: float


@dataclass(frozen=True)
class Slower:
    """Every n-th relay of either side has its caps times `factor`."""

    every: int
    factor: float


@dataclass(frozen=True)
class Scenario:
    """One transfer; `size` in MB. `measured_pairs`: those of the earlier transfer, from which the estimator learns."""

    name: str
    size: int
    pairs: int
    source: Machine
    destination: Machine
    relay: Machine
    boot_seconds: float = 1.0
    files: int = 1
    slower: tuple[Slower, ...] = ()
    measured_pairs: int = 2
    explored: int | None = None
    """Run with every number of pairs up to this, to see what the recommendation is worth."""
    lent_pairs: int = 0
    """So many of the pairs are machines of the user."""
    lent_rate: float = 0.0
    """What each of these may pass by its share, MB/s."""
    pre_test: bool = False
    """Twice as many pairs are tested, for `PROBE_SECONDS` each hop."""
    in_zones: bool = False
    """Both ends are in one region, in two zones of it."""
    end_types: tuple[str, str] = (SOURCE_TYPE, DESTINATION_TYPE)
    links: tuple[tuple[str, str, float], ...] = ()
    """What each machine, of whatever type, sends from one region to another, and takes there, MB/s: then relays may
    stand in third regions.
    """
    second_type: str = ""
    """What relays are instead where their first type has no capacity; empty: it has."""
    dip: Dip | None = None

    @property
    def regions(self) -> tuple[str, ...]:
        """All that have relays, the ends' first."""
        named = [region for link in self.links for region in link[:2]]
        return tuple(dict.fromkeys([HOME, OTHER, *named]))

    @property
    def direct(self) -> float:
        """What the direct path carries, MB/s."""
        if self.links:
            return min(self.ends, *(rate for *ends, rate in self.links if ends == [HOME, OTHER]))
        return self.ends if self.in_zones else min(self.source.inter, self.destination.inter, self.ends)

    @property
    def ends(self) -> float:
        """What the two end machines can move, MB/s."""
        return min(self.source.intra, self.destination.intra)

    def rate(self, pairs: int) -> float:
        """What the caps allow with so many pairs, MB/s; of unequal relays the mean counts."""
        if self.links:
            network = NetworkMap.of(Link(sender, receiver, rate) for sender, receiver, rate in self.links)
            return min(self.ends, self.direct + select(network, HOME, OTHER, 2 * pairs).rate(network))
        lent = min(self.lent_pairs, pairs)
        return min(self.ends, self.direct + lent * self.lent_rate + (pairs - lent) * self.pair)

    @property
    def ends_unmet(self) -> bool:
        """Whether its ends hold it back, and did not hold back the earlier transfer: nothing tells their limit."""
        return self.rate(self.pairs) >= self.ends > self.rate(self.measured_pairs)

    @property
    def pair(self) -> float:
        """Mean of the pairs' rates, MB/s."""
        cycle = 1
        for one in self.slower:
            cycle *= one.every
        factors = []
        for launch in range(1, cycle + 1):
            factor = 1.0
            for one in self.slower:
                factor *= one.factor if launch % one.every == 0 else 1.0
            factors.append(factor)
        return min(self.relay.inter, self.relay.intra) * fsum(factors) / cycle

    def seconds(self, pairs: int) -> float:
        """Data time by the caps: what to expect, not what the estimator is held against."""
        joins = self.boot_seconds + START_SECONDS + (pre_tests.seconds(PROBE_SECONDS, pairs) if self.pre_test else 0.0)
        if self.links:
            relays = Serving(self.rate(pairs) - self.direct, joins)
            return zero_wait(self.size, [Serving(self.direct), relays], self.ends, inf)
        rates = [self.lent_rate if pair < self.lent_pairs else self.pair for pair in range(pairs)]
        paths = [Serving(self.direct), *(Serving(rate, joins) for rate in rates)]
        return zero_wait(self.size, paths, self.ends, inf)

    @property
    def measured_size(self) -> int:
        """MB of the earlier transfer: some seconds on the direct path, some with all of its pairs."""
        alone = self.boot_seconds + START_SECONDS + PRE_TEST_SECONDS if self.measured_pairs else 0.0
        return round(alone * self.direct + MEASURED_SECONDS * self.rate(self.measured_pairs))


# A pre-test of 1 s each way, and what the control plane needs beside: on two cores pairs join so much later.
PRE_TEST_SECONDS = 7.0
MEASURED_SECONDS = 7.0

THIRD = ("eu-central-1", "ap-northeast-1")
# No machine's own cap is the limit there, but this machine's may be: bytes pass three machines and more.
WITHIN = Machine(100, 100)


def _through(name: str, size: int, pairs: int, rates: Mapping[tuple[str, str], float]) -> Scenario:
    """A scenario with links of their own between the regions; links of which nothing is said are slow."""
    regions = list(dict.fromkeys(region for pair in rates for region in pair))
    links = tuple((one, other, rates.get((one, other), 2.0)) for one in regions for other in regions if one != other)
    return Scenario(name, size, pairs, WITHIN, WITHIN, WITHIN, 1.5, links=links)


NAMED = (
    Scenario("direct-100-mb", 100, 0, Machine(10, 80), Machine(10, 80), Machine(10, 80), measured_pairs=0),
    Scenario("direct-slow-destination", 400, 0, Machine(60, 200), Machine(30, 90), Machine(20, 160), measured_pairs=0),
    Scenario("one-pair", 250, 1, Machine(15, 120), Machine(15, 120), Machine(15, 120), 1.5, measured_pairs=1),
    Scenario("two-pairs", 600, 2, Machine(20, 160), Machine(20, 160), Machine(20, 160), 2.0),
    Scenario("four-pairs", 1200, 4, Machine(20, 160), Machine(25, 200), Machine(20, 160), 2.0),
    Scenario("eight-pairs-4-gb", 4000, 8, Machine(18, 220), Machine(18, 220), Machine(18, 150), 2.0),
    Scenario("source-is-the-limit", 800, 3, Machine(40, 100), Machine(45, 200), Machine(40, 160), explored=3),
    Scenario("destination-is-the-limit", 800, 3, Machine(30, 200), Machine(20, 60), Machine(25, 120)),
    Scenario("fast-relays", 1000, 2, Machine(10, 200), Machine(12, 180), Machine(40, 200)),
    Scenario("slow-relays", 900, 4, Machine(40, 200), Machine(40, 200), Machine(10, 100)),
    Scenario("relays-of-one-cap", 900, 3, Machine(20, 200), Machine(20, 200), Machine(25, 25)),
    Scenario("late-relays", 1100, 4, Machine(25, 200), Machine(25, 200), Machine(25, 200), 5.0),
    Scenario("relays-too-late", 240, 2, Machine(45, 200), Machine(45, 200), Machine(25, 200), 5.0, explored=3),
    Scenario(
        "unequal-relays",
        1000,
        4,
        Machine(30, 160),
        Machine(30, 160),
        Machine(30, 160),
        slower=(Slower(2, 0.5),),
        explored=3,
    ),
    Scenario(
        "small-files", 200, 0, Machine(20, 120), Machine(20, 120), Machine(20, 120), files=10_000, measured_pairs=0
    ),
    Scenario(
        "hundred-thousand-files",
        300,
        0,
        Machine(20, 120),
        Machine(20, 120),
        Machine(20, 120),
        files=100_000,
        measured_pairs=0,
    ),
    Scenario("small-files-two-pairs", 400, 2, Machine(15, 120), Machine(15, 120), Machine(15, 120), files=20_000),
    Scenario("two-zones", 500, 0, Machine(20, 60), Machine(20, 50), Machine(20, 120), measured_pairs=0, in_zones=True),
    Scenario("pre-test-of-two-pairs", 900, 2, Machine(20, 160), Machine(20, 160), Machine(20, 160), pre_test=True),
    Scenario("pre-test-of-eight-pairs", 1500, 8, Machine(9, 160), Machine(9, 160), Machine(9, 80), pre_test=True),
    Scenario("lent-machines", 500, 2, Machine(15, 120), Machine(15, 120), Machine(20, 120), lent_pairs=1, lent_rate=10),
    _through("third-region", 400, 2, {(HOME, OTHER): 4, (HOME, THIRD[0]): 25, (THIRD[0], OTHER): 25}),
    _through("third-region-and-pairs", 600, 3, {(HOME, OTHER): 10, (HOME, THIRD[0]): 24, (THIRD[0], OTHER): 18}),
    _through(
        "two-third-regions",
        600,
        3,
        {
            (HOME, OTHER): 5,
            (HOME, THIRD[0]): 20,
            (THIRD[0], OTHER): 8,
            (THIRD[0], THIRD[1]): 22,
            (THIRD[1], OTHER): 24,
            (HOME, THIRD[1]): 6,
        },
    ),
)


def generated(seed: int, count: int) -> list[Scenario]:
    """Scenarios that nobody has seen: the same for the same seed."""
    randomness = random.Random(seed)
    plain = [_generate(randomness, f"generated-{number}") for number in range(1, count + 1)]
    return [*plain, *(_drawn_links(randomness, f"generated-links-{number}") for number in range(1, DRAWN_LINKS + 1))]


def _drawn_links(randomness: random.Random, name: str) -> Scenario:
    """Links of all rates between four regions; one third region, at least, is worth its relays."""
    regions = (HOME, OTHER, *THIRD)
    while True:
        pairs = randomness.randint(2, 3)
        rates = {
            (one, other): round(randomness.uniform(4, 25), 1) for one in regions for other in regions if one != other
        }
        shape = _through(name, 1, pairs, rates)
        joined = randomness.uniform(SHORTEST, LONGEST) - shape.boot_seconds - START_SECONDS
        size = round(shape.direct * (shape.boot_seconds + START_SECONDS) + shape.rate(pairs) * joined)
        alone = shape.direct * (1 + pairs)
        if shape.rate(pairs) > LEAST_PLANNED * alone and shape.rate(pairs) <= WITHIN.inter:
            return replace(shape, size=size)


def _generate(randomness: random.Random, name: str) -> Scenario:
    return next(scenario for scenario in _draws(randomness, name) if 100 <= scenario.size <= 4000)


def _draws(randomness: random.Random, name: str) -> Iterator[Scenario]:
    while True:
        pairs = randomness.randint(0, 8)
        measured_pairs = min(pairs, randomness.randint(1, 3))
        source, destination, relay = (round(randomness.uniform(10, 40), 1) for _ in range(3))
        slower = (Slower(2, round(randomness.uniform(0.5, 0.9), 2)),) if randomness.random() < 0.3 else ()
        direct, most = min(source, destination), min(MACHINE_LIMIT, min(source, destination) + pairs * relay)
        # Anywhere between the direct path's rate and what all pairs would carry, whether an earlier transfer meets it
        # or not.
        ends = round(max(randomness.uniform(direct, most * 1.3), BURSTING_LASTS), 1)
        other = round(ends * randomness.uniform(1.0, 1.5), 1)
        inside = (ends, other) if randomness.random() < 0.5 else (other, ends)
        shape = Scenario(
            name,
            size=1,
            pairs=pairs,
            source=Machine(source, inside[0]),
            destination=Machine(destination, inside[1]),
            relay=Machine(relay, round(relay * randomness.uniform(3, 6), 1)),
            boot_seconds=round(randomness.uniform(1, 4), 1),
            slower=slower,
            measured_pairs=measured_pairs,
            end_types=BURSTING_TYPES,
        )
        joined = max(randomness.uniform(SHORTEST, LONGEST) - shape.boot_seconds - START_SECONDS, 0.0)
        size = round(shape.direct * (shape.boot_seconds + START_SECONDS) + shape.rate(pairs) * joined)
        small = pairs <= 2 and randomness.random() < 0.3
        if direct + pairs * relay <= MACHINE_LIMIT:
            yield Scenario(**{**vars(shape), "size": size, "files": round(size / SMALL_FILE_MB) if small else 1})
