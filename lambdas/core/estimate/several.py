"""Figures of ends with several machines: sums over them, each by the rates of its own type.

What was measured is known of all machines of both ends together, and stays as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lambdas.core.estimate import published_limits
from lambdas.core.estimate.figures import EndFigures, Figure
from lambdas.core.estimate.profile import Metric, Profile
from lambdas.core.tariff.instance_types import TypeFacts


@dataclass(frozen=True)
class End:
    """The machines of one end: what EC2 says of each one's type, and MB/s that each may send out of its region."""

    facts: Sequence[TypeFacts | None]
    outward: Sequence[float]

    @property
    def count(self) -> int:
        """How many they are."""
        return len(self.facts)

    @property
    def network(self) -> float:
        """How many times as much they move together as the first one does."""
        return _times([one.network if one else None for one in self.facts])

    @property
    def processors(self) -> float:
        """The same of what they hash."""
        return _times([one.vcpus if one else None for one in self.facts])


def together(ends: EndFigures, source: End, destination: End, shown: Profile | None) -> EndFigures:
    """`ends`, of which each figure is of the first machines, for all of them; `shown`: what all have shown together."""
    changes: dict[str, object] = {"machines": [source.count, destination.count]}
    for side, end in (("source", source), ("destination", destination)):
        if not _knows(shown, "ends", "endsSuspected", "endsLasting"):
            changes[side] = _scaled(getattr(ends, side), end.network, end)
    if not _knows(shown, "direct"):
        changes["direct"] = _direct(ends.direct, source, destination)
    return ends.model_copy(update=changes)


def with_hosts(ends: EndFigures, source: End, destination: End) -> EndFigures:
    """`ends`, whose processors and disks were those of the first machines.

    Whether one file system lets several machines read or write more than one nobody knows: they may not.
    """
    changes: dict[str, Figure] = {}
    for side, end in (("source", source), ("destination", destination)):
        if processor := getattr(ends, f"{side}_processor"):
            changes[f"{side}_processor"] = _scaled(processor, end.processors, end)
        if end.count > 1 and (disk := getattr(ends, f"{side}_disk")):
            changes[f"{side}_disk"] = _scaled(disk, end.count, end).model_copy(update={"low": disk.least})
    return ends.model_copy(update=changes)


def _direct(one: Figure, source: End, destination: End) -> Figure:
    """As many paths as the larger end has machines, of which the smaller one lets no more pass than it can."""
    paths = max(source.count, destination.count)
    found = one.scaled(paths, f"{paths} direct paths: {one.note}")
    smaller = min((source, destination), key=lambda end: sum(end.outward))
    most = sum(smaller.outward)
    return published_limits.capped(found, most, f"{found.note}; {smaller.count} machines let {most:.4g} MB/s pass")


def _scaled(figure: Figure, times: float, end: End) -> Figure:
    return figure if end.count == 1 else figure.scaled(times, f"{end.count} machines, the first {figure.note}")


def _times(values: Sequence[float | None]) -> float:
    """How many times the first one all are; as many as there are where one is not known."""
    known = [value for value in values if value]
    return sum(known) / known[0] if known and len(known) == len(values) else float(len(values))


def _knows(shown: Profile | None, *metrics: Metric) -> bool:
    return shown is not None and any(shown.known(metric) for metric in metrics)
