"""What each of several senders may use of a transfer's bounds; one sender has the bounds themselves."""

from collections.abc import Mapping, Sequence

from lambdas.core.fleet.layout import Layout
from lambdas.core.fleet.membership import BudgetLease, LimitLease, Membership, Share


def shares_of(
    layout: Layout, mbps: int | None, leases: Mapping[str, BudgetLease], common: LimitLease | None = None
) -> list[Share] | None:
    """The limits in equal parts, and each living sender's lease, if it has one; None where nothing is to be shared.

    `common`: the transfer's part of a limit over several transfers.
    """
    senders = layout.living_senders
    if len(layout.senders) == 1 or (mbps is None and not leases and common is None):
        return None
    part_of_common = _part(common, len(senders)) if common else None
    return [
        Share(seat_id=seat_id, bandwidth_limit_mbps=part, budget_lease=leases.get(seat_id), limit_lease=part_of_common)
        for seat_id, part in zip(senders, _parts(mbps, len(senders)), strict=True)
    ]


def leases_of(current: Membership) -> dict[str, BudgetLease]:
    """The leases that senders have, by seat."""
    return {share.seat_id: share.budget_lease for share in current.shares or () if share.budget_lease}


def divided(lease: BudgetLease, starts: Mapping[str, int], sent: Mapping[str, int]) -> dict[str, BudgetLease]:
    """A lease for all as one for each: they bear together what it bears.

    `starts`: whose processes hold it, by seat; `sent`: bytes that these have reported. What an hour costs is paid once.
    """
    count = len(starts)
    return {
        seat_id: lease.model_copy(
            update={
                "start": start,
                "sent_bytes": sent.get(seat_id, 0),
                "usd": lease.usd / count,
                "usd_per_hour": lease.usd_per_hour / count,
            }
        )
        for seat_id, start in starts.items()
    }


def _part(common: LimitLease, count: int) -> LimitLease:
    return common.model_copy(update={"mbps": common.mbps / count, "safe_mbps": common.safe_mbps / count})


def _parts(mbps: int | None, count: int) -> Sequence[float | None]:
    """Equal ones, whose sum is the whole to the last bit."""
    if mbps is None:
        return [None] * count
    part = mbps / count
    return [*[part] * (count - 1), mbps - part * (count - 1)]
