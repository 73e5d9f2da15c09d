"""What transfers have taught about an instance type or a pair of hosts, on one region pair."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Literal

from lambdas.core.ends.bucket import BucketEnd
from lambdas.core.estimate.history import Event, History, integrate
from lambdas.core.transfer.accepted import AcceptedTransfer

Metric = Literal[
    "interRegion",
    "intraRegion",
    "spawn",
    "tail",
    "direct",
    "ends",
    "interRegionLasting",
    "interRegionCredit",
    "directLasting",
    "directCredit",
    "endsLasting",
    "endsCredit",
    "interRegionAtLeast",
    "endsAtLeast",
    "endsSuspected",
    "gain",
    "files",
    "repeated",
    "survey",
    "planning",
    "closing",
    "accuracy",
    "rateDirect",
    "rateLaunched",
    "ratePooled",
]
"""Of an instance type: `interRegion` (v_e) and `intraRegion` (v_i) of its relays, MB/s, `spawn` (T_v), s, `tail`, how
much longer they live than data moves, s, and `gain`, what each of its pairs after the first adds in shares of that.

Of a pair of hosts: `direct`, the rate of the path without relays, and `ends`, the rate at which the two machines
themselves were the limit, min(V_src, V_dst), both MB/s; `files`, how many small files they move in a second;
`repeated`, the share of bytes that are sent beyond those that arrive.

`...Lasting` is the rate, MB/s, that remained after a burst, and `...Credit` the MB that passed beyond it until then.

`...AtLeast`, MB/s, is the most that was seen where nobody can tell whether it was the limit. `endsSuspected` is what
passed while several new pairs were there at once: if a pair can do more than it did, the ends were full.

Of all transfers between two regions: `survey` (from the start to the estimate), `planning` (from there to the first
byte) and `closing` (from the last byte to the report), s, and `accuracy`, the data time over the estimated one. Where
nobody held them back, `rateDirect` of those without relays, `rateLaunched` of those whose relays were all launched, and
`ratePooled` of those that had leases in the pool alone, MB/s.
"""

LASTING_OF: Mapping[Metric, Metric] = {
    "interRegion": "interRegionLasting",
    "direct": "directLasting",
    "ends": "endsLasting",
}
CREDIT_OF: Mapping[Metric, Metric] = {
    "interRegion": "interRegionCredit",
    "direct": "directCredit",
    "ends": "endsCredit",
}
AT_LEAST: frozenset[Metric] = frozenset({"interRegionAtLeast", "endsAtLeast"})
"""Lower bounds, of which the highest counts and no mean."""
BOUND_HOLDS_SECONDS = 24 * 3600.0
"""An older bound gives way to the next one: a network has a daily course, and machines are replaced."""
MOST: Mapping[Metric, float] = {"repeated": 1.0}
"""What a metric can be at most. Each byte sent twice is more than lossy paths, lost relays and hedged chunks have made;
what is above was learnt of runs that cannot measure it."""


def hosts(source_id: str, destination_id: str) -> str:
    """Subject of a profile about two end machines, e.g. `i-0aaaaaaaaaaaaaaa1>i-0bbbbbbbbbbbbbbb2`."""
    return f"{source_id}>{destination_id}"


def hosts_of(transfer: AcceptedTransfer) -> str:
    """Subject of a profile about all machines at the ends of a transfer together; a bucket is one as it stands."""
    source, destination = (
        end.where if isinstance(end, BucketEnd) else "+".join(seat.machine.instance_id for seat in seats)
        for end, seats in (
            (transfer.request.source, transfer.senders),
            (transfer.request.destination, transfer.receivers),
        )
    )
    return hosts(source, destination)


@dataclass(frozen=True)
class Known:
    """A metric's value in its unit; `at_seconds` is the Unix time of the last sample, None where configured.

    `longest_seconds`: for so long a rate was seen at a stretch, at the longest; 0 where nobody noted it. `samples`: of
    so many transfers, `measurements`: so many values of theirs, None for one of each. `weight`: what they weigh
    together, 1 for each that tells all; None where each did.
    """

    value: float
    sigma: float
    samples: int
    at_seconds: float | None
    origin: Literal["measured", "configured"]
    longest_seconds: float = 0.0
    measurements: int | None = None
    weight: float | None = None


@dataclass(frozen=True)
class Profile:
    """Histories by metric, and what the operator configured."""

    metrics: Mapping[Metric, History] = field(default_factory=dict)
    configured: Mapping[Metric, float] = field(default_factory=dict)

    def known(self, metric: Metric) -> Known | None:
        """What was measured; else what was configured; else None."""
        if history := self._plausible(metric):
            return Known(
                history.mean,
                history.sigma,
                history.samples,
                history.at_seconds,
                "measured",
                history.longest_seconds,
                history.measurements,
                history.weight,
            )
        if metric in self.configured:
            return Known(self.configured[metric], 0.0, 0, None, "configured")
        return None

    def refined(
        self, metric: Metric, sample: float | Event, at_seconds: float, lasted_seconds: float = 0.0
    ) -> "Profile":
        """With one more sample, in the metric's unit, of a rate that lasted so long; raises ValueError for a negative
        or infinite one. Of lower bounds the highest of a day stays.
        """
        before = self._plausible(metric)
        if before and metric in AT_LEAST:
            mean = sample.mean if isinstance(sample, Event) else sample
            if mean < before.mean and at_seconds - before.at_seconds <= BOUND_HOLDS_SECONDS:
                return self
            before = None
        refined = integrate(before, sample, at_seconds, lasted_seconds=lasted_seconds)
        return replace(self, metrics={**self.metrics, metric: refined})

    def _plausible(self, metric: Metric) -> History | None:
        """The history of a metric; None also where its mean is none that can be: it is learnt anew."""
        history = self.metrics.get(metric)
        return None if history is None or history.mean > MOST.get(metric, inf) else history
