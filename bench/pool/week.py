"""A week of a standing pool in simulation: 10 000 transfers of 50 tenants, beside relays launched for each.

`python -m bench.pool.week`. Nothing is measured: nodes carry 100 MB/s, both ends 300, the direct path 20, and a machine
boots for 60 s; all decisions are the core's. A limit is followed a second after it was told.
"""

import argparse
import sys
from dataclasses import dataclass, field
from math import ceil, inf
from random import Random
from secrets import randbelow
from statistics import median, quantiles

from bench.options import count
from bench.pool.draws import PATIENCE_SECONDS, TENANTS, WEEK_SECONDS, Asked, week
from bench.pool.state import BOOT_SECONDS, DEMAND_MB_S, DIRECT_MB_S, ENDS_MB_S, NODE_MB_S, SETTINGS, Pool, Running
from bench.results import Result, publish, say
from lambdas.core.models.zero_wait import Serving, zero_wait
from lambdas.core.pool.energy import transfer_wh
from lambdas.core.pool.month import MICRO, Span, month
from lambdas.core.pool.price import PriceWish, begins, price_range, usd_per_gb
from lambdas.core.pool.queue import Terms, Use, Waiting, admitted_now, ordered
from lambdas.core.tariff.fallback_prices import LARGE_HOUR

TRANSFERS = 10_000
VM_USD_PER_SECOND = LARGE_HOUR["c6in"]["eu-west-1"] / 3600
# So many relays a user would launch, for the upper bound of the price.
EXTRA_VMS = 5
RANGE = price_range(VM_USD_PER_SECOND, EXTRA_VMS)
MINUTE = 60.0
# In the middle of the range at the demand's rate: whoever is patient waits for less.
WISHED = usd_per_gb((RANGE.low + RANGE.high) / 2, ENDS_MB_S)


@dataclass
class Seen:
    """What the week was like."""

    waits: dict[bool, list[float]] = field(default_factory=lambda: {False: [], True: []})
    prices: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    launched: list[float] = field(default_factory=list)
    launched_relay_seconds: float = 0.0
    machine_seconds: float = 0.0
    capacity_mb: float = 0.0
    wanted_mb: float = 0.0
    pool_mb: float = 0.0
    charges: list[tuple[str, float]] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    most_over: float = 0.0


class Week:
    """The simulation: from event to event, with constant rates between two of them."""

    def __init__(self, asked: list[Asked]) -> None:
        self._asked, self._next = asked, 0
        self._waiting: dict[str, tuple[Asked, float]] = {}
        self._pool, self._now, self.seen = Pool(), 0.0, Seen()
        self._uses: dict[str, Use] = {}
        self._terms = {f"tenant{number}": Terms() for number in range(TENANTS)}

    def run(self) -> Seen:
        """Until all transfers have ended."""
        while self._next < len(self._asked) or self._waiting or self._pool.running:
            self._pass(self._next_event())
            self._come_and_go()
            self._pool.resize(len(self._pool.running) + len(self._waiting), self._now)
            self._admit()
            self._pool.widen(self._now)
            self._pool.refresh(self._now)
        return self.seen

    def _next_event(self) -> float:
        arrives = self._asked[self._next].at if self._next < len(self._asked) else inf
        rates = self._pool.rates
        ends = [self._now + one.left / (DIRECT_MB_S + rates[name]) for name, one in self._pool.running.items()]
        ends += [self._now + left / DIRECT_MB_S for _, left in self._waiting.values()]
        follows = self._now + 1.0 if self._pool.owed else inf
        minute = self._now + MINUTE
        return min([arrives, follows, minute, *ends])

    def _pass(self, until: float) -> None:
        """Let time pass; the direct path carries for whoever waits."""
        lasted, self._now = until - self._now, until
        pool, seen = self._pool, self.seen
        sent: dict[str, float] = {}
        for name, one in pool.running.items():
            moved = pool.rates[name] * lasted
            one.left -= moved + DIRECT_MB_S * lasted
            one.through_pool += moved
            sent[one.asked.tenant] = sent.get(one.asked.tenant, 0.0) + moved
        for name, (asked, left) in self._waiting.items():
            self._waiting[name] = asked, left - DIRECT_MB_S * lasted
        total = sum(pool.rates.values())
        seen.most_over = max(seen.most_over, total / pool.capacity - 1 if pool.capacity else 0.0)
        seen.capacity_mb += pool.capacity * lasted
        seen.wanted_mb += min(pool.capacity, DEMAND_MB_S * len(pool.running)) * lasted
        seen.pool_mb += total * lasted
        seen.machine_seconds += pool.machines * lasted
        cost = pool.machines * lasted * VM_USD_PER_SECOND
        seen.spans.append(Span(cost, pool.capacity * lasted, sent))
        for tenant, moved in sent.items():
            use = self._uses.get(tenant) or Use(at=self._now)
            self._uses[tenant] = use.plus(moved, self._now)

    def _come_and_go(self) -> None:
        while self._next < len(self._asked) and self._asked[self._next].at <= self._now:
            one = self._asked[self._next]
            self._waiting[one.name] = one, one.size_mb
            self._next += 1
        for name in [name for name, one in self._pool.running.items() if one.left <= 1e-6]:
            self._ended(self._pool.end(name, self._now))
        for name in [name for name, (_, left) in self._waiting.items() if left <= 1e-6]:
            asked, _ = self._waiting.pop(name)
            self.seen.waits[asked.is_patient].append(self._now - asked.at)
            self._ended(Running(asked, 0.0, 0.0, self._now))

    def _ended(self, one: Running) -> None:
        seen, asked = self.seen, one.asked
        seen.seconds.append(self._now - asked.at)
        seen.charges.append((asked.tenant, one.usd_per_gb * one.through_pool / 1000))
        relays = ceil(DEMAND_MB_S / NODE_MB_S)
        paths = [Serving(DIRECT_MB_S), *[Serving(NODE_MB_S, joins=BOOT_SECONDS)] * relays]
        alone = zero_wait(asked.size_mb, paths, ENDS_MB_S, ENDS_MB_S)
        seen.launched.append(alone)
        # EC2 bills a minute at least.
        seen.launched_relay_seconds += relays * max(alone, 60.0)

    def _admit(self) -> None:
        pool = self._pool
        capacity = sum(node.capacity_mb_s for node in pool.open_nodes)
        used = min(1.0, sum(pool.rates.values()) / capacity) if capacity else 1.0
        rate = DIRECT_MB_S + min(DEMAND_MB_S, capacity / (len(pool.running) + 1))
        usd = usd_per_gb(RANGE.at(used), rate)
        self.seen.prices.append(usd)
        ready = [
            Waiting(name, one.tenant, one.at, left, left / rate)
            for name, (one, left) in self._waiting.items()
            if not one.is_patient or begins(PriceWish(WISHED, one.at + PATIENCE_SECONDS), usd, self._now) != "wait"
        ]
        active: dict[str, int] = {}
        for one in pool.running.values():
            active[one.asked.tenant] = active.get(one.asked.tenant, 0) + 1
        free = len(pool.open_nodes) * SETTINGS.leases_per_node - len(pool.running)
        for turn in admitted_now(ordered(ready, self._uses, self._terms, self._now), free, active, self._terms):
            asked, left = self._waiting.pop(turn.transfer)
            self.seen.waits[asked.is_patient].append(self._now - asked.at)
            pool.running[asked.name] = Running(asked, left, usd, self._now)


def rows(seen: Seen, asked: list[Asked]) -> list[Result]:
    """What is held against a bar, and what is only said."""
    found = month(seen.spans, seen.charges)
    waits, patient = (quantiles(seen.waits[is_patient], n=100) for is_patient in (False, True))
    moved = sum(one.size_mb for one in asked)
    wh = transfer_wh(2, sum(seen.seconds), (), seen.machine_seconds)
    launched_wh = transfer_wh(2, sum(seen.launched), [seen.launched_relay_seconds])
    pool_usd, launched_usd = found.cost / MICRO, seen.launched_relay_seconds * VM_USD_PER_SECOND
    return [
        Result("transfers that ended", len(seen.seconds), "transfers", len(asked), "higher", f"{moved / 1e6:.1f} TB"),
        Result("rates told beyond the capacity, most", max(seen.most_over, 0.0), "of it", 1e-6),
        Result("rates told over what can be used", seen.pool_mb / seen.wanted_mb, "of it", 0.95, "higher"),
        Result("utilisation of the nodes", seen.pool_mb / seen.capacity_mb, "of it"),
        Result("wait for the pool, median", median(seen.waits[False]), "s", note="the direct path carries meanwhile"),
        Result("wait for the pool, 90 % within", waits[89], "s"),
        Result("wait for the pool, 99 % within", waits[98], "s", note=f"most {max(seen.waits[False]):.0f} s"),
        Result("wait for a price, median", median(seen.waits[True]), "s", note=f"90 % within {patient[89]:.0f} s"),
        Result("price, lowest", 1000 * min(seen.prices), "$/TB"),
        Result("price, median", 1000 * median(seen.prices), "$/TB"),
        Result("price, highest", 1000 * max(seen.prices), "$/TB"),
        Result("seconds of a transfer, median", median(seen.seconds), "s"),
        Result("the same with launched relays", median(seen.launched), "s"),
        Result("machines of the pool", pool_usd, "$", note=f"idle ${found.idle / MICRO:.2f}"),
        Result("shares and idle beside that", abs(found.cost - round(pool_usd * MICRO)), "micro-dollars", 0),
        Result("launched relays for each", launched_usd, "$"),
        Result("charged", sum(found.charged.values()) / MICRO, "$", note=f"over cost: ${found.margin / MICRO:.2f}"),
        Result(
            "energy with the pool", wh / 1000, "kWh", note="both ends, also while a price is awaited, and all nodes"
        ),
        Result("energy with launched relays", launched_wh / 1000, "kWh", note="both ends and all relays"),
    ]


def simulated(seed: int, transfers: int) -> list[Result]:
    """The rows of one week; with fewer transfers, of as much shorter a time."""
    asked = week(Random(seed), transfers, WEEK_SECONDS * transfers / TRANSFERS)
    return rows(Week(asked).run(), asked)


def main() -> int:
    """Simulate a week, and write the results."""
    parser = argparse.ArgumentParser(prog="bench-pool-week")
    parser.add_argument("--seed", type=int, default=randbelow(2**32), help="of everything that is drawn")
    parser.add_argument("--transfers", type=count, default=TRANSFERS, help="fewer try the harness")
    asked = parser.parse_args()
    say(f"seed {asked.seed}")
    command = f"python -m bench.pool.week --seed {asked.seed} --transfers {asked.transfers}"
    return publish("pool-week", simulated(asked.seed, asked.transfers), command)


if __name__ == "__main__":
    sys.exit(main())
