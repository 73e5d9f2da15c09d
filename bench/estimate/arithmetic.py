"""What follows from estimates, runs and prices. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from statistics import median
from typing import Any

LEAST_BILLED_SECONDS = 60


def relative_error(estimated: float, measured: float) -> float:
    """Of an estimate against what was measured, which is not 0; positive: too much was estimated."""
    return (estimated - measured) / measured


def percentile(values: Iterable[float], share: float) -> float:
    """The least of `values` that `share` of them, 0 to 1, do not exceed; raises ValueError for none."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("values: none; a percentile needs at least one")
    return ordered[max(ceil(share * len(ordered)), 1) - 1]


@dataclass(frozen=True)
class Tariff:
    """Dollars: of a relay's hour by region, with address and disk; of a GB that leaves; of each call by its name.

    `further_gb`: of a GB that leaves a third region. `other_hour`: of relays of other types, by type and region.
    """

    relay_hour: Mapping[str, float]
    leaving_gb: float
    call: Mapping[str, float]
    further_gb: Mapping[str, float] = field(default_factory=dict)
    other_hour: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def hour(self, node: Mapping[str, Any]) -> float:
        """Of a relay that a report names."""
        return self.other_hour.get((node.get("instanceType", ""), node["region"]), self.relay_hour[node["region"]])


def probed(report: Mapping[str, Any], probe_seconds: float) -> int:
    """Bytes that a pre-test sent between regions: what each hop's relay measured, for so long.

    Both relays of a pair have the rate of the one hop between them; relays of a route each that of the hop they feed.
    """
    rates = 0.0
    for node in report["nodes"]:
        if "measuredHopMBps" in node:
            rates += node["measuredHopMBps"]
        elif node.get("stage") == 0:
            rates += node.get("measuredInterRegionMBps", 0.0)
    return round(rates * 1e6 * probe_seconds)


def bill(
    report: Mapping[str, Any],
    calls: Mapping[str, float],
    tariff: Tariff,
    lent: Collection[str] = (),
    left_bytes: int | None = None,
) -> float:
    """Dollars for what a report says ran and moved, and for the calls that were counted meanwhile.

    Each relay by the second, a minute at least; `lent` machines cost nothing. `left_bytes`: all that left the source's
    region, with what was sent again and with probes; without it what arrived.
    """
    relays = 0.0
    for node in report["nodes"]:
        if node["instanceId"] in lent:
            continue
        seconds = max(ceil(node["endedAt"] - node["requestedAt"]), LEAST_BILLED_SECONDS)
        relays += seconds * tariff.hour(node) / 3600
    moved: int = report["bytes"] if left_bytes is None else left_bytes
    per_gb = tariff.leaving_gb
    for way in report.get("routes", []):
        per_gb += way["share"] * sum(tariff.further_gb[region] for region in way["regions"][1:-1])
    return relays + moved / 1e9 * per_gb + sum(count * tariff.call[name] for name, count in calls.items())


def regret(chosen: int, seconds: Mapping[int, Sequence[float]]) -> float:
    """How much longer the chosen number of pairs takes than the best one, as a share; medians of the runs count."""
    medians = {pairs: median(runs) for pairs, runs in seconds.items()}
    return medians[chosen] / min(medians.values()) - 1
