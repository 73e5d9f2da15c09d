"""What follows from fleets and runs. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import mean, median
from typing import Any

from lambdas.core.models.zero_wait import Serving, zero_wait


def spread(seconds: Sequence[float]) -> float:
    """By how much runs of one transfer differ: the slowest less the fastest, as a share of the mean."""
    return (max(seconds) - min(seconds)) / mean(seconds)


def steady_rate(course: Mapping[str, Any]) -> float:
    """MB/s through all relays together: the median of the intervals of the report's `course` in which all paths carry.

    The first two, in which caps let a burst pass, and the last two, in which lanes run dry, do not count.
    """
    relayed = [path["ratesMBps"] for path in course["paths"] if path["pathId"] != "direct"]
    busy = [rates for rates in zip(*relayed, strict=True) if all(rate > 0 for rate in rates)]
    return float(median(sum(rates) for rates in busy[2:-2]))


@dataclass(frozen=True)
class Mistake:
    """A pair was kept though a better one was rejected."""

    kept: int
    rejected: int


def mistakes(rates: Mapping[int, float], kept: Collection[int], noise: float) -> list[Mistake]:
    """Wrong choices by true rates of the slots; rates that differ by `noise` or less cannot be told apart."""
    rejected = rates.keys() - set(kept)
    return [
        Mistake(slot, better)
        for slot in sorted(kept)
        for better in sorted(rejected)
        if rates[better] > rates[slot] * (1 + noise)
    ]


@dataclass(frozen=True)
class Caps:
    """MB/s: of the direct path, of one relay between regions, and what the ends can move in all."""

    direct: float
    relay: float
    ends: float


def replay(
    size: float, caps: Caps, nodes: Iterable[Mapping[str, Any]], first_byte_at: float, killed: Mapping[str, float]
) -> float:
    """Seconds that the zero-wait model gives with the times at which relays really joined and left.

    `nodes`: those of a report. A relay leaves when it is killed, or else when it is known to be lost; relays of one
    kind make as many pairs as the smaller side has of them.
    """
    spans = [_span(node, first_byte_at, killed.get(node["nodeId"], inf)) for node in nodes if "joinedAt" in node]
    moments = sorted({0.0, *(second for _, joins, leaves in spans for second in (joins, leaves) if second < inf)})
    serving = [Serving(caps.direct)]
    for start, end in zip(moments, [*moments[1:], inf], strict=True):
        here = [role for role, joins, leaves in spans if joins <= start < leaves]
        if pairs := min(here.count("source"), here.count("destination")):
            serving.append(Serving(pairs * caps.relay, start, end))
    return zero_wait(size, serving, caps.ends, caps.ends)


def _span(node: Mapping[str, Any], first_byte_at: float, killed: float) -> tuple[str, float, float]:
    """Role, and seconds after the first byte from and until which the relay served."""
    lost = node["endedAt"] if node["state"] == "LOST" else inf
    joins = max(node["joinedAt"] - first_byte_at, 0.0)
    return node["role"], joins, max(min(lost, killed) - first_byte_at, joins)
