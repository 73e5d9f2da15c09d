"""What transfers have taught about an instance type or a pair of hosts, on one region pair."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from lambdas.core.estimate.history import History, integrate

Metric = Literal["interRegion", "intraRegion", "spawn", "direct", "ends"]
"""Of an instance type: `interRegion` (v_e) and `intraRegion` (v_i) of its relays, MB/s, and `spawn` (T_v), s.

Of a pair of hosts: `direct`, the rate of the path without relays, and `ends`, the rate at which the two machines
themselves were the limit, min(V_src, V_dst), both MB/s.
"""


def hosts(source_id: str, destination_id: str) -> str:
    """Subject of a profile about two end machines, e.g. `i-0aaaaaaaaaaaaaaa1>i-0bbbbbbbbbbbbbbb2`."""
    return f"{source_id}>{destination_id}"


@dataclass(frozen=True)
class Known:
    """A metric's value in its unit; `at_seconds` is the Unix time of the last sample, None where configured."""

    value: float
    sigma: float
    samples: int
    at_seconds: float | None
    origin: Literal["measured", "configured"]


@dataclass(frozen=True)
class Profile:
    """Histories by metric, and what the operator configured."""

    metrics: Mapping[Metric, History] = field(default_factory=dict)
    configured: Mapping[Metric, float] = field(default_factory=dict)

    def known(self, metric: Metric) -> Known | None:
        """What was measured; else what was configured; else None."""
        if history := self.metrics.get(metric):
            return Known(history.mean, history.sigma, history.samples, history.at_seconds, "measured")
        if metric in self.configured:
            return Known(self.configured[metric], 0.0, 0, None, "configured")
        return None

    def refined(self, metric: Metric, sample: float, at_seconds: float) -> "Profile":
        """With one more sample, in the metric's unit; raises ValueError for a negative or infinite one."""
        refined = integrate(self.metrics.get(metric), sample, at_seconds)
        return replace(self, metrics={**self.metrics, metric: refined})
