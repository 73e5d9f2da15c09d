"""The meter against a simulated transfer that knows nothing of it: whatever happens, the bill is within the budget."""

import random
from dataclasses import dataclass, field, replace
from math import inf

from hypothesis import example, given, settings
from hypothesis import strategies as st

from lambdas.core.estimate.budget import HELD_SECONDS, LATE_SECONDS, RELEASE_SECONDS, held_back, most_rate
from lambdas.core.estimate.figures import LIMIT_NOTE, Figures
from lambdas.core.estimate.pair_route import PairRoute
from lambdas.core.estimate.pair_use import pair_uses
from lambdas.core.estimate.published_limits import capped
from lambdas.core.fleet.membership import BudgetLease
from lambdas.core.fleet.relay_node import Node
from lambdas.core.request.request import Objective
from lambdas.core.spending.leasing import lease_of
from lambdas.core.spending.meter import Decision, Reading, affordable, control_dollars, decide
from lambdas.core.spending.sent import Sent
from lambdas.core.tariff import cost
from tests.lambdas.builders import IRELAND, WEST, estimate, figure, figures, node

# Some minutes at the rates below, so that the meter looks several times.
LONG = 6 * 10**9
EGRESS_GB, DIRECT, PAIR, ENDS = 0.02, 20.0, 20.0, 160.0  # as in builders.figures
# As the daemon's `DRAIN_TIMEOUT`: then relays power off, here within the next minute.
PAUSE_SECONDS = 20
CHUNK = 64e6


@dataclass
class Simulation:
    """Second by second: rates and relays come and go as `chance` has it, looks come late, stops take their time.

    The sender has a lease, as the daemon's does: it sends nothing that this does not bear, and once it has paused for
    20 s its relays power off. `file_gb`: what file systems charge for a GB that is moved; `packs`: any share of that
    crosses the network. `sides`: relays of a pair, which is one where the transfer has a bucket.
    """

    chance: random.Random
    pairs: int
    most: float
    on_budget: str
    lost: float
    zone_gb: float = 0.0
    burst: float = 1.0
    limited: bool = False
    latest: float = 60.0
    file_gb: float = 0.0
    packs: bool = False
    sides: int = 2
    now: float = 1000.0
    sent: float = 0.0
    moved: float = 0.0
    delivered: float = 0.0
    rate: float = DIRECT
    stopped_at: float | None = None
    released: bool = False
    nodes: list[Node] = field(default_factory=list)
    highest: float = 0.0
    lease: BudgetLease = field(init=False)
    paused: int = 0

    def run(self) -> None:
        self.renew()
        look_at = self.now + self.chance.uniform(0, self.latest)
        for _ in range(self.pairs):
            self.launch()
        while self.delivered < LONG and self.stopped_at is None:
            self.second()
            if self.now >= look_at:
                self.look()
                look_at = self.now + self.chance.uniform(self.latest - 10, self.latest)

    def second(self) -> None:
        live = sum(n.ended_at is None for n in self.nodes if n.stage == 0)
        self.rate = self.chance.uniform(0.1, 1.0) * min(self.burst * (DIRECT + live * PAIR), ENDS)
        moved = min(self.rate * 1e6, (LONG - self.delivered) / (1 - self.lost))
        seconds = self.now + 1 - self.lease.at
        # Chunk by chunk: it sends as many as the lease bears.
        chunks = [chunk for chunk in (moved, moved // CHUNK * CHUNK, CHUNK) if 0 < chunk <= moved]
        wire = self.chance.uniform(0.001, 1.0) if self.packs else 1.0
        moved = next((more for more in chunks if self.lease.bears(round(self.sent + more * wire), seconds)), 0.0)
        self.paused = self.paused + 1 if moved == 0 else 0
        if self.paused == PAUSE_SECONDS:
            self.end_all()
        self.sent += moved * wire
        self.moved += moved
        self.delivered += moved * (1 - self.lost)  # the rest is sent again
        self.now += 1
        self.highest = max(self.highest, self.reading().spent().total)
        if live and self.chance.random() < 0.01:
            self.end(self.chance.randrange(len(self.nodes)))
            if not self.released and affordable(self.reading(), self.objective, self.sides) == self.sides:
                self.launch()

    def launch(self) -> None:
        slot = len(self.nodes) // self.sides + 1
        self.nodes += [node(stage, slot, state="JOINED", requested_at=self.now) for stage in range(self.sides)]
        self.renew()

    def renew(self) -> None:
        self.lease = lease_of(self.reading(), self.most, 1, Sent(start=1, start_bytes=round(self.sent)))

    def end(self, which: int) -> None:
        if self.nodes[which].ended_at is None:
            self.nodes[which] = self.nodes[which].model_copy(update={"ended_at": self.now})

    def look(self) -> None:
        decision = decide(self.reading(), self.objective)
        if decision is Decision.STOP:
            self.finish(self.chance.uniform(0, 15))
        elif decision is Decision.RELEASE_FLEET:
            self.released = True
            for _ in range(round(self.chance.uniform(0, RELEASE_SECONDS - 1))):
                self.second()
            self.end_all()
        if decision is not Decision.STOP:
            self.renew()

    def end_all(self) -> None:
        for which in range(len(self.nodes)):
            self.end(which)

    def finish(self, seconds: float) -> None:
        for _ in range(round(seconds)):
            self.second()
        self.stopped_at = self.now
        self.end_all()

    def reading(self) -> Reading:
        left = round((LONG - self.delivered) / (1 - self.lost))
        nodes = tuple(self.nodes)
        priced = bursting(self.zone_gb, self.burst, self.file_gb, limited=self.limited, sides=self.sides)
        known = estimate(self.pairs).model_copy(update={"figures": priced})
        found = Reading(self.now, nodes, known, 100, 1000.0, round(self.sent), left, self.rate)
        moved = replace(found, moved_bytes=round(self.moved), may_save=self.packs)
        return replace(moved, zone_usd_per_gb=self.zone_gb, limit=inf if self.limited else None)

    @property
    def objective(self) -> Objective:
        return Objective.from_document({"maxCostUsd": self.most, "onBudget": self.on_budget})


def bursting(zone_gb: float, burst: float, file_gb: float = 0.0, *, limited: bool = False, sides: int = 2) -> Figures:
    """Figures whose paths may go `burst` times as fast as is expected, between zones and file systems at so many
    dollars per GB.

    `limited`: the request holds the source to a quarter of the direct path, which somebody has lifted since. `sides`:
    those with relays.
    """
    paths = {name: figure(20.0).model_copy(update={"high": 20.0 * burst}) for name in ("direct", "pair")}
    source = {"source": capped(figure(ENDS), DIRECT / 4, LIMIT_NOTE)} if limited else {}
    prices = {"cross_zone": figure(zone_gb), "file_systems": figure(file_gb)}
    route = {"pair_route": PairRoute(regions=[WEST, IRELAND][:sides])}
    return figures().model_copy(update={**paths, **source, **prices, **route})


@settings(max_examples=25)
# A quarter is sent again, and the first look comes when nearly all is spent.
@example(9893617, 1, 0.25, 0.0, "direct", 0.02, 4.0, False, 0.0, 2)
@example(9893617, 1, 0.25, 0.0, "direct", 0.02, 4.0, False, 0.09, 2)
@given(
    st.integers(0, 2**32),
    st.integers(0, 8),
    st.floats(0, 0.3),
    st.floats(0, 0.03),
    st.sampled_from(["direct", "stop"]),
    # Of no hop, of one between two zones, and of three.
    st.sampled_from([0.0, 0.02, 0.06]),
    st.sampled_from([1.0, 4.0]),
    st.booleans(),
    st.sampled_from([0.0, 0.09]),
    st.sampled_from([1, 2]),
)
def test_the_bill_is_never_above_the_budget_and_the_transfer_not_stopped_before_it_must(
    seed: int,
    pairs: int,
    lost: float,
    spare: float,
    on_budget: str,
    zone_gb: float,
    burst: float,
    limited: bool,
    file_gb: float,
    sides: int,
) -> None:
    """At no second of a transfer, whatever its rates, losses, relays, zones, bursts, and a limit that was lifted."""
    known, gb_usd = bursting(zone_gb, burst, file_gb, sides=sides), EGRESS_GB + zone_gb + file_gb
    least = cost.egress(LONG, gb_usd) + control_dollars(100, [node()], 3600, estimate())
    most = least + held_back(pairs, pair_uses(pairs, known), known, pre_test=False) + spare
    chance = random.Random(seed)
    simulation = Simulation(chance, pairs, most, on_budget, lost, zone_gb, burst, limited, file_gb=file_gb, sides=sides)
    simulation.run()
    bill = simulation.reading().spent().total
    assert max(bill, simulation.highest) <= most
    if simulation.stopped_at is not None:
        wait = cost.egress(most_rate(pairs * known.pair.most, known) * 1e6 * HELD_SECONDS, gb_usd)
        assert bill >= most - wait - held_back(pairs + 1, pair_uses(pairs + 1, known), known, pre_test=False)


@settings(max_examples=25)
@given(
    st.integers(0, 2**32),
    st.integers(0, 8),
    st.floats(0, 0.5),
    st.floats(0, 0.1),
    st.sampled_from(["direct", "stop"]),
    st.sampled_from([0.0, 0.06]),
    st.sampled_from([60.0, LATE_SECONDS, 3600.0]),
    st.booleans(),
)
def test_looks_that_come_minutes_or_an_hour_late_pass_no_budget(
    seed: int, pairs: int, lost: float, spare: float, on_budget: str, zone_gb: float, latest: float, packs: bool
) -> None:
    """The sender pauses by itself, and the relays end by themselves; heartbeats of an hour are not reserved."""
    file_gb = 0.09
    most = (cost.egress(LONG, EGRESS_GB + zone_gb + file_gb) + spare) * random.Random(seed).uniform(0.2, 1.2)
    simulation = Simulation(
        random.Random(seed),
        pairs,
        most,
        on_budget,
        lost,
        zone_gb,
        burst=4.0,
        limited=True,
        latest=latest,
        file_gb=file_gb,
        packs=packs,
    )
    # What relays cost in their first minutes is no question of the lease: a launch is refused that is not affordable.
    simulation.pairs = affordable(simulation.reading(), simulation.objective, 2 * pairs) // 2
    simulation.run()
    spent = simulation.reading().spent()
    assert spent.total - (spent.control_plane if latest > LATE_SECONDS else 0) <= most
    assert simulation.highest <= most or latest > LATE_SECONDS
