"""What a budget bears of relays that are launched where the first choice has no capacity: of another type, in another
market or zone. It passes the same check as the first choice: the chosen row has to fit with them. Dollars.
"""

from collections.abc import Iterable
from math import inf

from lambdas.core.estimate.budget import HELD_SECONDS, needed
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.fleet.launch_plan import Step
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.topology import Stage, stage_at
from lambdas.core.spending import cross_zone
from lambdas.core.spending.relay_price import hour_usd
from lambdas.core.tariff import cost
from lambdas.core.transfer.accepted import AcceptedTransfer


def step_hour_usd(step: Step, stage: Stage, transfer: AcceptedTransfer, estimate: Estimate) -> float:
    """Dollars for an hour of one relay of a step."""
    asked = transfer.request.relays.market
    return hour_usd(step.instance_type, stage.region, step.market, stage.index, estimate, asked)


def bearable(
    step: Step, stage: Stage, wanted: int, nodes: Iterable[Node], transfer: AcceptedTransfer, estimate: Estimate
) -> int:
    """How many of `wanted` relays of a step the budget bears until the end of the transfer, as it was estimated.

    `nodes`: of the transfer. Stages launch side by side, so each has its share of what the chosen row leaves free.
    """
    limit = transfer.request.objective.max_cost_usd
    if limit is None:
        return wanted
    relays = [node for node in nodes if node.is_ours]
    planned = estimate.hour_usd(stage.index)
    each = _more(step_hour_usd(step, stage, transfer, estimate), planned, estimate)
    elsewhere = bool(stage.end) and step.subnet.zone != stage.zone
    if each <= 0 and not elsewhere:
        return wanted
    free = limit - needed(estimate.chosen, estimate.figures)
    if elsewhere or any(_is_elsewhere(node, transfer) for node in relays):
        free -= cross_zone.surcharge(transfer, estimate.bytes)
    room = free * _share(estimate) - sum(
        _taken(node, transfer, estimate) for node in relays if node.stage == stage.index
    )
    if room < 0:
        return 0
    return wanted if each <= 0 else min(wanted, int(room / each))


def _more(hour: float, planned: float, estimate: Estimate, seconds: float = inf) -> float:
    """What one relay costs more than one that was planned, until the meter can have ended it."""
    lived = min(estimate.chosen.seconds + estimate.figures.tail_seconds, seconds)
    held = HELD_SECONDS if seconds == inf else 0.0
    return cost.relays(1, lived, hour) - cost.relays(1, lived, planned) + (hour - planned) * held / 3600


def _taken(node: Node, transfer: AcceptedTransfer, estimate: Estimate) -> float:
    """What a relay that was launched takes of the room for dearer ones."""
    asked = transfer.request.relays.market
    hour = hour_usd(node.instance_type, node.region, node.market, node.stage, estimate, asked)
    seconds = inf if node.ended_at is None else node.ended_at - node.requested_at
    return max(_more(hour, estimate.hour_usd(node.stage), estimate, seconds), 0.0)


def _is_elsewhere(node: Node, transfer: AcceptedTransfer) -> bool:
    stage = stage_at(transfer, node.stage)
    return bool(stage.end) and node.availability_zone != stage.zone


def _share(estimate: Estimate) -> float:
    return 1 / max(sum(len(use.stages()) for use in estimate.routes), 1)
