"""Limit Transfer: invoked by people; changes what a sender may send, through the membership that it follows."""

from collections.abc import Mapping
from typing import Any

from lambdas.adapters.world import World
from lambdas.core.errors import InvalidRequest, NotMoving
from lambdas.core.request.bandwidth import BandwidthLimit, LimitRequest, limit_at, rate_or_none
from lambdas.operations import named
from lambdas.operations.fleet import membership
from lambdas.operations.spending import metering
from lambdas.runtime.dashboard import also_by_click
from lambdas.runtime.handler import user_call


def limit_transfer(event: LimitRequest, world: World) -> dict[str, Any]:
    """The limit that holds now; raises NoSuchTransfer, NotMoving, or InvalidRequest.

    The latter where there is no timetable, and where the budget could be passed before the meter looks again.
    """
    transfer_id, wanted = event.transfer_id, event.bandwidth_limit_mbps
    record = named.transfer(world, transfer_id)
    if why := record.transfer.errand.why_not_limited:
        raise NotMoving(f"'{transfer_id}' {why}")
    if not record.moving:
        raise NotMoving(f"'{transfer_id}' is over, or is being taken down; nothing was changed")
    if world.agents.membership(record.transfer.partition) is None:
        raise NotMoving(
            f"'{transfer_id}' moves nothing yet; limit it when it does, or put bandwidthLimitMbps into the request"
        )
    timetable = record.transfer.request.timetable
    if wanted == "timetable" and timetable is None:
        raise InvalidRequest(
            f"$.bandwidthLimitMbps: the request of '{transfer_id}' has no timetable; give Mbit/s or none"
        )

    mbps = limit_at(timetable, world.clock.now()) if wanted == "timetable" else wanted
    if _is_higher(mbps, record.limit.mbps) and not metering.bears(world, record, mbps):
        most, wish = record.transfer.request.objective.max_cost_usd, "no limit" if mbps is None else f"{mbps} Mbit/s"
        raise InvalidRequest(
            f"$.bandwidthLimitMbps: with {wish} the budget, {most} dollars, could be passed before the meter looks "
            "again; give less"
        )

    def edited(limit: BandwidthLimit) -> BandwidthLimit:
        now = world.clock.now()
        if wanted == "timetable":
            return limit.changed_to(limit_at(timetable, now), now, "timetable")
        return limit.changed_to(wanted, now)

    return {"transferId": transfer_id, "bandwidthLimitMbps": membership.set_limit(world, record.transfer, edited)}


def _is_higher(one: int | None, other: int | None) -> bool:
    return other is not None and (one is None or one > other)


def _words(done: Mapping[str, Any]) -> str:
    return f"'{done['transferId']}' goes on with {rate_or_none(done['bandwidthLimitMbps'])}."


handler = also_by_click(user_call(LimitRequest, limit_transfer), _words, fields=["bandwidthLimitMbps"])
