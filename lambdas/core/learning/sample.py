"""One measurement that a finished transfer teaches."""

from dataclasses import dataclass

from lambdas.core.estimate.profile import Metric


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
