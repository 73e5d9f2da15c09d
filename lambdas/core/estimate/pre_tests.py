"""A pre-test as a step of a transfer: how long it takes, and what its probes send. Seconds, MB/s, dollars."""

from collections.abc import Iterable
from typing import NamedTuple

from lambdas.core.estimate.figures import Figure, Figures
from lambdas.core.tariff import cost

# Of a probe's seconds: `INTRA_PROBE_SHARE` of the daemon.
INNER_SHARE = 0.25
# Twice as many pairs are tested as are kept.
TESTED = 2


class Probes(NamedTuple):
    """Dollars for what the probes send out of regions: as expected, and at the highest rate that is possible."""

    usd: float = 0.0
    most_usd: float = 0.0

    def beside(self, other: "Probes") -> "Probes":
        """Return the dollars of these probes and the other ones together."""
        return Probes(self.usd + other.usd, self.most_usd + other.most_usd)


def seconds(probe_seconds: float, pairs: int, hops: int = 1) -> float:
    """How long the pre-test of so many pairs takes, or of so many paths with `hops` hops between relays.

    All paths are measured at once, the hops of one after another. Then one probe within the source's region says what
    the source sends there, which is the same to any relay (`relay-ami/relay/src/send/streams/pretest.rs`).
    """
    return (hops + INNER_SHARE) * probe_seconds if pairs else 0.0


def of_pairs(pairs: int, figures: Figures, probe_seconds: float) -> Probes:
    """The probes of the pre-test that keeps `pairs` pairs: all that are tested send at once, for `probe_seconds`."""
    tested = [figures.pair_at(slot) for slot in range(TESTED * pairs)]
    return of_rates(tested, probe_seconds, figures.sent_gb_usd(pairs))


def of_rates(rates: Iterable[Figure], probe_seconds: float, usd_per_gb: float) -> Probes:
    """One probe at each of `rates`."""
    sent = [(one.now, one.most) for one in rates]
    now, most = (sum(side) * 1e6 * probe_seconds for side in zip(*sent, strict=True)) if sent else (0.0, 0.0)
    return Probes(cost.egress(now, usd_per_gb), cost.egress(most, usd_per_gb))
