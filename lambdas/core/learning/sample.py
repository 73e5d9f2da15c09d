"""One measurement that a finished transfer teaches."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

from lambdas.core.estimate.history import Event
from lambdas.core.estimate.profile import Metric


@dataclass(frozen=True)
class Sample:
    """One measurement, in its metric's unit (MB/s, seconds), of an instance type or of the pair of hosts.

    `lasted_seconds`: for so long it was measured, where it is a rate. `link`: the region pair `from>to` on which it
    was measured; None: that of the transfer's ends. `weight`: how much it tells, from 0 to 1.
    """

    subject: str
    metric: Metric
    value: float
    lasted_seconds: float = 0.0
    link: str | None = None
    weight: float = 1.0


def events(samples: Iterable[Sample]) -> dict[tuple[str, str | None, Metric], Event]:
    """One transfer is one sample of each metric: the mean of what it showed, and how much that differed.

    By subject, link and metric. Eight pairs in the same minutes on the same two ends are no eight independent samples.
    """
    found: dict[tuple[str, str | None, Metric], list[Sample]] = {}
    for sample in samples:
        found.setdefault((sample.subject, sample.link, sample.metric), []).append(sample)
    return {key: _event(same) for key, same in found.items()}


def _event(same: Sequence[Sample]) -> Event:
    values = [sample.value for sample in same]
    return Event(
        mean=fmean(values),
        sigma=pstdev(values),
        count=len(values),
        weight=max(sample.weight for sample in same),
        lasted_seconds=max(sample.lasted_seconds for sample in same),
    )
