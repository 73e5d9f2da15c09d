"""What a finished transfer tells about its machines: samples for their profiles."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, inf
from statistics import median

from lambdas.core.arrivals import DIRECT, Arrivals
from lambdas.core.fleet import Node, path_id
from lambdas.core.profile import Metric, hosts
from lambdas.core.transfer import AcceptedTransfer

BYTES_PER_MB = 1e6
MBIT_PER_MB = 8
WARM_UP_SECONDS = 1.0
"""A path's first second tells little: TCP opens its window, and a cap lets a burst pass."""
DIRECT_SECONDS = 2
PAIR_SECONDS = 3
NOISE = 0.07
"""Two measurements of the same thing differ by less; a sum that lacks more than this share was held back."""

Rates = dict[str, float]


@dataclass(frozen=True)
class Sample:
    """One measurement, in its metric's unit (MB/s, seconds), of an instance type or of the pair of hosts."""

    subject: str
    metric: Metric
    value: float


def samples_of(transfer: AcceptedTransfer, arrivals: Arrivals, nodes: Iterable[Node]) -> list[Sample]:
    """All samples of a transfer, succeeded or not."""
    ends = hosts(transfer.source.instance_id, transfer.destination.instance_id)
    limit = transfer.request.bandwidth_limit_mbps
    relays = _Relays(list(nodes))
    windows = _windows(arrivals, limit / MBIT_PER_MB if limit else inf)
    alone = [rates[DIRECT] for rates in windows.pop(frozenset({DIRECT}), [])]
    own = relays.tested()
    if len(alone) >= DIRECT_SECONDS:
        own[DIRECT] = median(alone)
    free, held = _judged(windows, own)
    samples = relays.samples()
    if DIRECT in own:
        samples.append(Sample(ends, "direct", own[DIRECT]))
    for path, kind in sorted(relays.types.items()):
        rates = [second[path] for second in free if path in second]
        if len(rates) >= PAIR_SECONDS:
            samples.append(Sample(kind, "interRegion", median(rates)))
    if held:
        samples.append(Sample(ends, "ends", median(sum(second.values()) for second in held)))
    return [sample for sample in samples if sample.value > 0]


class _Relays:
    """Relays by path; `types`: their type, for paths of which all relays are of one type."""

    def __init__(self, nodes: list[Node]) -> None:
        self._nodes = nodes
        self._by_path: dict[str, list[Node]] = {}
        for node in nodes:
            self._by_path.setdefault(path_id(node.slot), []).append(node)
        # A pair goes as fast as the slower of the two: of two types, nobody can tell which one that was.
        kinds = {path: {node.instance_type for node in both} for path, both in self._by_path.items()}
        self.types = {path: kind for path, (kind, *others) in kinds.items() if not others}

    def tested(self) -> Rates:
        """Pre-tested MB/s of the pairs that kept their relays."""
        return {
            path: both[0].measured_inter_region
            for path, both in self._by_path.items()
            if both[0].measured_inter_region and not any(node.generation for node in both)
        }

    def samples(self) -> list[Sample]:
        """Start-up times of those that joined, and what the pre-test found, also of those that it rejected."""
        return [*self._spawns(), *self._pre_tests()]

    def _spawns(self) -> Iterable[Sample]:
        for node in self._nodes:
            # A pre-test delays joining, and the estimate counts it apart.
            serves_at = node.joined_at if node.measured_inter_region is None else node.ready_at
            if node.joined_at is not None and serves_at is not None:
                yield Sample(node.instance_type, "spawn", serves_at - node.requested_at)

    def _pre_tests(self) -> Iterable[Sample]:
        for path, kind in self.types.items():
            # Both relays carry the result of their pair.
            for between, inside in {(n.measured_inter_region, n.measured_intra_region) for n in self._by_path[path]}:
                if between:
                    yield Sample(kind, "interRegion", between)
                # No machine sends less inside than outside: then it was the source that had no more to give.
                if between and inside and inside >= between:
                    yield Sample(kind, "intraRegion", inside)


def _windows(arrivals: Arrivals, limit: float) -> dict[frozenset[str], list[Rates]]:
    """Rates in MB/s of whole seconds in which no path began and none ran dry, by the set of paths in use.

    Seconds in which the paths reached `limit`, MB/s in all, tell only what the request allowed.
    """
    windows: dict[frozenset[str], list[Rates]] = {}
    if not arrivals.begun or arrivals.drained is None:
        return windows
    for second in range(ceil(min(arrivals.begun.values()) + WARM_UP_SECONDS), int(arrivals.drained)):
        if any(second - WARM_UP_SECONDS < at < second + 1 for at in arrivals.begun.values()):
            continue
        found = {path: arrivals.per_second.get((second, path), 0.0) / BYTES_PER_MB for path in arrivals.begun}
        rates = {path: rate for path, rate in found.items() if rate > 0}
        if rates and sum(rates.values()) < limit * (1 - NOISE):
            windows.setdefault(frozenset(rates), []).append(rates)
    return windows


def _judged(windows: dict[frozenset[str], list[Rates]], own: Rates) -> tuple[list[Rates], list[Rates]]:
    """Seconds in which every path had its own rate, and seconds in which the ends held all of them back.

    `own` is what paths do unhindered, MB/s. Fewer paths first: what they do tells when more of them are held back.
    """
    free: list[Rates] = []
    held: list[Rates] = []
    own, most = dict(own), own.get(DIRECT, 0.0)
    for paths, seconds in sorted(windows.items(), key=lambda item: (len(item[0]), sorted(item[0]))):
        if len(seconds) < PAIR_SECONDS:
            continue
        known = paths & own.keys()
        total = median(sum(rates.values()) for rates in seconds)
        together = median(sum(rates[path] for path in known) for rates in seconds)
        if together < (1 - NOISE) * sum(own[path] for path in known):
            # Ends that carried more before are not what holds back now.
            held += seconds if total > (1 - NOISE) * most else []
            continue
        free += seconds
        most = max(most, total)
        for path in paths - known:
            own[path] = median(rates[path] for rates in seconds)
    return free, held
