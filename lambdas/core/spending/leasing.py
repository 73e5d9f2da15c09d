"""The sender's lease: what of a budget it may use up before anybody looks at the meter again, however late that is."""

from lambdas.core.estimate.budget import LATE_SECONDS
from lambdas.core.fleet.membership import BudgetLease
from lambdas.core.spending.meter import Reading
from lambdas.core.spending.sent import Sent

# A sender that pauses tells its relays to power off: 20 s in which its last bytes arrive, half a second until it looks,
# and the rest for machines that shut down. The budget reserves 105 s of each relay, so a lease that reserves less
# always bears a transfer that goes as estimated.
RELAYS_END_SECONDS = 60.0


def lease_of(reading: Reading, most_usd: float, start: int, sent: Sent, spent_usd: float = 0.0) -> BudgetLease:
    """What `most_usd` dollars bear beyond a reading; `spent_usd`: what an earlier look had found, if that is more.

    Relays that live are paid until they have powered themselves off, the control plane's requests until a look that is
    five minutes late. Nothing is granted before there is an estimate:
    nobody knows the prices.
    """
    ended, an_hour_later = (
        reading.after(LATE_SECONDS + more, 0.0, fleet_seconds=RELAYS_END_SECONDS + more) for more in (0.0, 3600.0)
    )
    spent = max(spent_usd - reading.spent().total, 0.0) + ended.total
    return BudgetLease(
        start=start,
        at=reading.now,
        sent_bytes=sent.start_bytes if sent.start == start else 0,
        usd=max(most_usd - spent, 0.0) if reading.estimate else 0.0,
        usd_per_gb=reading.leaving_usd_per_gb
        + reading.zone_usd_per_gb
        + reading.sent_file_systems_usd_per_gb
        + reading.pool_usd_per_gb,
        usd_per_hour=an_hour_later.total - ended.total,
    )
