"""What a finished transfer tells about its machines: samples for their profiles."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from statistics import median

from lambdas.core.bandwidth import MBIT_PER_MB
from lambdas.core.chunks.plan import SMALL_FILE_BYTES
from lambdas.core.estimate.profile import CREDIT_OF, LASTING_OF, Metric, Profile, hosts
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.topology import leads_through, path_id, routes_of, share_relays
from lambdas.core.learning.arrivals import Arrivals
from lambdas.core.learning.bursts import fallen, split
from lambdas.core.learning.path_rates import (
    BYTES_PER_MB,
    LEAST_SECONDS,
    NOISE,
    WARM_UP_SECONDS,
    Expected,
    Rates,
    Windows,
    judge,
    windows,
)
from lambdas.core.transfer import DIRECT, AcceptedTransfer

DIRECT_SECONDS = 2
LEAST_PAIR_GAIN = 0.01
"""A further pair adds something, however the samples differ."""
LEAST_SPREAD = 0.15
"""Relays of one type differ by this share of their mean at least, in the thesis' measurements (Figures 6.3, 6.4)."""


@dataclass(frozen=True)
class Sample:
    """One measurement, in its metric's unit (MB/s, seconds), of an instance type or of the pair of hosts.

    `lasted_seconds`: for so long it was measured, where it is a rate. `link`: the region pair `from>to` on which it
    was measured; None: that of the transfer's ends.
    """

    subject: str
    metric: Metric
    value: float
    lasted_seconds: float = 0.0
    link: str | None = None


def subjects(transfer: AcceptedTransfer, nodes: Iterable[Node]) -> list[str]:
    """Whom a transfer may tell about: its pair of hosts and the types of its relays."""
    return [
        hosts(transfer.source.instance_id, transfer.destination.instance_id),
        *sorted({node.instance_type for node in nodes}),
    ]


def samples_of(
    transfer: AcceptedTransfer,
    arrivals: Arrivals,
    nodes: Iterable[Node],
    profiles: Mapping[str, Profile],
    measured_direct: float | None = None,
    lowest_limit_mbps: int | None = None,
) -> list[Sample]:
    """All samples of a transfer, succeeded or not; `profiles`: what was known of its `subjects`.

    `measured_direct`, MB/s: the direct path where nothing was moved but measured. `lowest_limit_mbps`, Mbit/s: the
    lowest bound that the sender ever had; where it was reached, machines may have been able to do more.
    """
    ends = hosts(transfer.source.instance_id, transfer.destination.instance_id)
    relays = _Relays(transfer, list(nodes), arrivals.begun)
    found = windows(arrivals, lowest_limit_mbps / MBIT_PER_MB if lowest_limit_mbps else inf)
    # What a relay carries on several paths at once is no path's own rate.
    found = {paths: seconds for paths, seconds in found.items() if not share_relays(paths)}
    found, fallen = _burst(found, ends, relays.types)
    whole = [second for seconds in found.values() for second in seconds]
    alone = [rates[DIRECT] for rates in found.pop(frozenset({DIRECT}), [])]
    tested = relays.tested()
    own = dict(tested)
    if len(alone) >= DIRECT_SECONDS:
        own[DIRECT] = median(alone)
    elif measured_direct is not None:
        own[DIRECT] = measured_direct
    known = profiles.get(ends, Profile()).known("ends")
    judgement = judge(found, Expected(own, relays.likely(profiles), known.value if known else None))
    samples = [*relays.samples(), *fallen]
    mean_mb = arrivals.bytes / arrivals.files / BYTES_PER_MB if arrivals.files else 0.0
    small = 0 < mean_mb < SMALL_FILE_BYTES / BYTES_PER_MB
    if DIRECT in own:
        samples.append(Sample(ends, "direct", own[DIRECT], _lasted(whole, DIRECT, own[DIRECT])))
    for path, kind in sorted(relays.types.items()):
        rates = [second[path] for second in judgement.free if path in second]
        # A pre-tested pair has given its sample: those that stayed would count twice, and they are the better half.
        if len(rates) >= LEAST_SECONDS and path not in tested:
            samples.append(Sample(kind, "interRegion", median(rates), _lasted(whole, path, median(rates))))
    samples += relays.gains(judgement.free, tested)
    held = [sum(second.values()) for second in judgement.held]
    if held and small:
        # Making files was the limit: of large ones the ends may move more.
        samples.append(Sample(ends, "files", median(held) / mean_mb))
    elif held:
        samples.append(Sample(ends, "ends", median(held), len(held)))
    elif known and judgement.most > (1 + NOISE) * known.value:
        samples.append(Sample(ends, "ends", judgement.most))  # more passed than was thought possible
    return [sample for sample in samples if sample.value > 0]


def _burst(found: Windows, ends: str, types: Mapping[str, str]) -> tuple[Windows, list[Sample]]:
    """The windows up to where their rates fell for good, and what the rest tells: what lasts, and the credit.

    Where all of several paths fell, it was the ends that had no more credit.
    """
    kept: Windows = {}
    samples: list[Sample] = []
    for paths, seconds in found.items():
        kept[paths], after = split(seconds)
        if not after:
            continue
        fell = fallen(kept[paths], after)
        if len(paths) > 1 and fell.keys() == paths:
            one, other = (sum(part) for part in zip(*fell.values(), strict=True))
            samples += _fall(ends, "ends", one, other, len(kept[paths]), len(after))
            continue
        for path, (one, other) in sorted(fell.items()):
            earlier = sum(len(some) for others, some in found.items() if path in others and others < paths)
            if path == DIRECT:
                samples += _fall(ends, "direct", one, other, earlier + len(kept[paths]), len(after))
            elif path in types:
                samples += _fall(types[path], "interRegion", one, other, earlier + len(kept[paths]), len(after))
    return kept, samples


def _fall(subject: str, metric: Metric, one: float, other: float, before: float, after: float) -> list[Sample]:
    """A rate of `one` MB/s that was `other` after `before` seconds, for `after` more of them."""
    credit = (one - other) * (before + WARM_UP_SECONDS)
    return [Sample(subject, LASTING_OF[metric], other, after), Sample(subject, CREDIT_OF[metric], credit)]


def _lasted(seconds: Iterable[Rates], path: str, rate: float) -> float:
    """Seconds in which the path carried its rate, with the one in which it began."""
    seen = sum(second.get(path, 0.0) >= (1 - NOISE) * rate for second in seconds)
    return seen + WARM_UP_SECONDS if seen else 0.0


def tails_of(arrivals: Arrivals, nodes: Iterable[Node]) -> list[Sample]:
    """How much longer than data moved each relay lived that was there to the end of a transfer that delivered all."""
    if arrivals.ended is None:
        return []
    moved = arrivals.ended - min(arrivals.begun.values())
    return [
        Sample(node.instance_type, "tail", max(node.ended_at - node.requested_at - moved, 0.0))
        for node in nodes
        if node.state == "TERMINATED" and node.ended_at is not None and not (node.existing or node.generation)
    ]


def repeats_of(transfer: AcceptedTransfer, arrived_bytes: int, sent_bytes: int) -> list[Sample]:
    """What a first run that delivered all sent beyond what arrived, as a share of that."""
    if not arrived_bytes or transfer.run > 1:
        return []
    ends = hosts(transfer.source.instance_id, transfer.destination.instance_id)
    return [Sample(ends, "repeated", max(sent_bytes / arrived_bytes - 1.0, 0.0))]


class _Relays:
    """Relays by path; `types`: their type, where all relays of a path are of one, and none lends but a share."""

    def __init__(self, transfer: AcceptedTransfer, nodes: list[Node], used: Iterable[str]) -> None:
        self._nodes = nodes
        self._whole = {
            path_id([node.slot] * len(route.stages), route.first)
            for route in routes_of(transfer)
            for node in route.own(nodes)
        }
        paths = {*self._whole, *used} - {DIRECT}
        through = {path: [node for node in nodes if leads_through(path, node)] for path in sorted(paths)}
        self._by_path = {path: both for path, both in through.items() if both}
        # A pair goes as fast as the slower of the two: of two types, nobody can tell which one that was.
        kinds = {path: {node.instance_type for node in both} for path, both in self._by_path.items()}
        whole = {path for path, both in self._by_path.items() if not any(node.existing for node in both)}
        self.types = {path: kind for path, (kind, *others) in kinds.items() if path in whole and not others}

    def tested(self) -> Rates:
        """Pre-tested MB/s of the pairs that kept their relays."""
        return {
            path: min(node.measured_inter_region or 0.0 for node in both)
            for path, both in self._by_path.items()
            if all(node.measured_inter_region and not node.generation for node in both)
        }

    def likely(self, profiles: Mapping[str, Profile]) -> Rates:
        """MB/s that each pair should reach at least, by what others of its type did."""
        return {
            path: max(known.value - max(known.sigma, LEAST_SPREAD * known.value), 0.0)
            for path, kind in self.types.items()
            if kind in profiles and (known := profiles[kind].known("interRegion"))
        }

    def samples(self) -> list[Sample]:
        """Start-up times of those that joined or were pre-tested, and what the pre-test found, whom it rejected too."""
        return [*self._spawns(), *self._pre_tests()]

    def gains(self, free: Iterable[Rates], tested: Rates) -> list[Sample]:
        """What pairs of one type add after the first: (rate(n)/rate(1) - 1)/(n - 1), of the most pairs (GEO-DMS)."""
        sums: dict[tuple[str, int], list[float]] = {}
        for second in free:
            kinds = {self.types.get(path) for path in second if path != DIRECT}
            pairs = [rate for path, rate in second.items() if path != DIRECT]
            if len(kinds) == 1 and (kind := kinds.pop()):
                sums.setdefault((kind, len(pairs)), []).append(sum(pairs))
        known = {key: median(rates) for key, rates in sums.items() if len(rates) >= LEAST_SECONDS}
        singles = {kind: rate for (kind, count), rate in known.items() if count == 1}
        for path, rate in tested.items():
            if path in self.types:
                singles.setdefault(self.types[path], rate)
        most = {kind: max(count for other, count in known if other == kind) for kind in {kind for kind, _ in known}}
        return [
            Sample(kind, "gain", min(1.0, max(LEAST_PAIR_GAIN, (known[kind, count] / singles[kind] - 1) / (count - 1))))
            for kind, count in sorted(most.items())
            if count > 1 and singles.get(kind)
        ]

    def _spawns(self) -> Iterable[Sample]:
        for node in self._nodes:
            # A pre-test delays joining, and the estimate counts it apart.
            serves_at = node.joined_at if node.measured_inter_region is None else node.ready_at
            if serves_at is not None and not node.existing:
                yield Sample(node.instance_type, "spawn", serves_at - node.requested_at)

    def _pre_tests(self) -> Iterable[Sample]:
        for path in sorted(self._whole & self.types.keys()):
            kind = self.types[path]
            # Both relays carry the result of their pair.
            for between, inside in {(n.measured_inter_region, n.measured_intra_region) for n in self._by_path[path]}:
                if between:
                    yield Sample(kind, "interRegion", between)
                # No machine sends less inside than outside: then it was the source that had no more to give.
                if between and inside and inside >= between:
                    yield Sample(kind, "intraRegion", inside)
