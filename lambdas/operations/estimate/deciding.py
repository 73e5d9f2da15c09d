"""The decision about relays on the way: looks at what the sender reports, another estimate, and what follows from it.

Nothing is launched here: Spawn Relays goes by the estimate that is returned and kept.
"""

from collections.abc import Sequence

from lambdas.adapters.world import World
from lambdas.core.errors import BudgetTooSmall, DeadlineUnreachable, MissingPrice, NoSuitableType
from lambdas.core.estimate import distcp, first_contact
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.figures import EndFigures
from lambdas.core.estimate.first_contact import RelayDecision, Sight, Verdict
from lambdas.core.estimate.type_choice import Offer
from lambdas.core.fleet.relay_node import Node
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Estimated
from lambdas.core.request.request import Objective
from lambdas.operations.estimate.estimation import Adjustment, estimate_for
from lambdas.operations.fence import running
from lambdas.operations.fleet import relay_end
from lambdas.operations.seats import reports

# Ends are started, and connect, before the first byte. Where none comes within this, there is nothing to learn from.
FIRST_BYTE_SECONDS = 120.0


def look(world: World, transfer_id: str, since: float | None) -> Sight | None:
    """Follow the sender's reports until they decide, `LOOK_SECONDS` of data at most; None where the transfer is over
    first, or sends nothing.

    `since`: what was reported of before (Unix seconds) tells nothing. Nor does what lanes report once all has been
    sent: they wait for their last acknowledgements.
    """
    sights: list[Sight] = []
    began, first = world.clock.monotonic(), None
    while record := running(world, transfer_id):
        progress = reports.of_sender(world, record.transfer)
        if progress and record.is_all_sent(progress.moved_bytes):
            return None
        seen = first_contact.sight(progress, since) if progress else None
        if seen and (not sights or seen.at > sights[-1].at):
            sights.append(seen)
            if decided := first_contact.evidence(sights):
                return decided
        now = world.clock.monotonic()
        if first is None and progress and progress.first_byte_at is not None:
            first = now
        if now - (began if first is None else first) >= (
            FIRST_BYTE_SECONDS if first is None else first_contact.LOOK_SECONDS
        ):
            return first_contact.expected(sights)
        world.clock.sleep(world.env.poll_seconds)
    return None


def decide_first(world: World, record: Estimated, seen: Sight) -> Estimate:
    """How many pairs, by what the direct path alone has shown; kept with its reason."""

    def adjusted(ends: EndFigures, offers: list[Offer]) -> tuple[EndFigures, list[Offer]]:
        # What the survey saw of disks and files.
        before = record.estimate.figures
        known = {name: one for name, one in before.of_ends.items() if name not in ends.of_ends}
        ends = ends.model_copy(update={**known, "file_systems": before.file_systems, **distcp.kept(before)})
        return first_contact.with_first_sight(ends, offers, seen)

    found = _estimate(world, record, record.estimate.bytes, record.transfer.request.objective, adjusted)
    if isinstance(found, str):
        found = record.estimate.model_copy(update={"chosen_pairs": 0, "reason": found})
    more = found.chosen_pairs
    found = found.model_copy(update={"on_the_way": record.estimate.on_the_way if more else None})
    reason = f"the direct path carries {seen.direct:.1f} MB/s; {found.reason}"
    return _keep(world, record, found, _decision(world, record, seen, more, reason, found.instance_type))


def decide_again(world: World, record: Estimated, seen: Sight) -> Estimate:
    """Whether more pairs pay, or those that serve do not help; kept with its reason, the latter released."""
    before, estimate = record.decisions[-1] if record.decisions else _expected(record), record.estimate
    verdict = first_contact.verdict(seen, before)
    sums = f"{estimate.figures.route.words(seen.pairs)} and the direct path carry {seen.total:.1f} MB/s"
    was = f"{before.total:.1f} MB/s passed {'without' if before.served == 0 else f'with {before.served} of'} them"
    if verdict == "unhelped" and before.served == 0:
        reason = f"relays do not help: {sums}, and {was}; they are released"
        decision = _decision(world, record, seen, 0, reason, estimate.instance_type)
        kept = _keep(world, record, _known(estimate, seen, verdict, 0), decision)
        relay_end.release_all(world, record.transfer, reason)
        return kept
    if not estimate.is_by_pairs:  # that they help is all that is to be seen here
        again = "routes are planned again each minute" if record.transfer.transit else "so they stay as they are"
        reason = f"{sums} ({was}); {again}"
        served = _decision(world, record, seen, seen.pairs, reason, estimate.instance_type)
        return _keep(world, record, estimate.model_copy(update={"on_the_way": None, "pre_test": False}), served)
    more, why = _more(world, record, seen, verdict)
    reason = f"{sums} ({was}); {why}"
    decision = _decision(world, record, seen, seen.pairs + more, reason, estimate.instance_type)
    chosen = seen.pairs + more
    known = _known(estimate.having(chosen), seen, verdict, chosen)
    return _keep(
        world, record, known if more == 0 else known.model_copy(update={"on_the_way": estimate.on_the_way}), decision
    )


def _more(world: World, record: Estimated, seen: Sight, verdict: Verdict) -> tuple[int, str]:
    """How many pairs more, and why."""
    route = record.estimate.figures.route
    if verdict in ("held", "unhelped"):
        return 0, "the end machines are full"
    if len([one for one in record.decisions if one.pairs > one.served]) >= first_contact.MOST_LAUNCHES:
        return 0, f"{first_contact.MOST_LAUNCHES} launches are the most"
    # Rows end where the ends were expected to be full; what was seen since may need more.
    is_free = record.transfer.request.relays.wanted == "auto"
    allowed = world.most_pairs(record.transfer)
    most = allowed if is_free else min(allowed, record.estimate.rows[-1].pairs)
    if seen.pairs >= most:
        return 0, f"{route.are(most)} the most"
    progress = reports.of_sender(world, record.transfer)
    known = record.estimate.figures
    left = max(record.plan.bytes - (progress.bytes if progress else 0), 0)
    kind = record.estimate.instance_type
    found = _estimate(
        world,
        record,
        left,
        _rest_of(record),
        lambda ends, offers: first_contact.with_relays(
            ends.model_copy(update={"file_systems": known.file_systems, **distcp.kept(known)}),
            offers,
            seen,
            verdict,
            kind,
        ),
    )
    if isinstance(found, str):
        return 0, found
    return min(
        found.chosen_pairs, most - seen.pairs
    ), f"of more {route.unit}s, for the {left / 1e6:,.0f} MB left: {found.reason}"


def _rest_of(record: Estimated) -> Objective:
    """Return what the request wants, less the money that has gone. A deadline counts from the start."""
    objective = record.transfer.request.objective
    changes: dict[str, object] = {}
    if objective.max_cost_usd is not None and record.spent:
        changes["max_cost_usd"] = max(objective.max_cost_usd - record.spent.total, 1e-6)
    return objective.model_copy(update=changes)


def _estimate(
    world: World,
    record: Estimated,
    size_bytes: int,
    objective: Objective,
    adjusted: Adjustment,
) -> Estimate | str:
    """Another estimate; as fast as can be where a deadline cannot be met any more; why there is none, in words."""
    transfer = record.transfer
    for wish in (objective, objective.model_copy(update={"deadline_seconds": None, "minimise": "time"})):
        asked = transfer.request.model_copy(update={"objective": wish})
        try:
            wished = transfer.model_copy(update={"request": asked})
            is_moving = size_bytes < (record.plan.bytes if record.plan else 0)
            return estimate_for(
                wished, size_bytes, world, adjusted=adjusted, is_moving=is_moving, pool_price=record.pool_price
            )
        except DeadlineUnreachable:
            continue
        except (BudgetTooSmall, MissingPrice, NoSuitableType) as error:
            return str(error)
    return "no number of relays meets the deadline"


def _known(estimate: Estimate, seen: Sight, verdict: Verdict, pairs: int) -> Estimate:
    """The estimate with what has been measured, which the meter and the watch go by; later pairs are not pre-tested."""
    figures = estimate.figures
    ends = first_contact.full_ends(figures, seen) if verdict in ("held", "unhelped") else {}
    pair = (
        {"pair": first_contact.measured(seen.pair, figures.route.words(seen.pairs))}
        if seen.pairs and verdict == "free"
        else {}
    )
    return estimate.model_copy(
        update={
            "figures": figures.model_copy(update={**ends, **pair}),
            "chosen_pairs": pairs,
            "pre_test": False,
            "on_the_way": None,
        }
    )


def _expected(record: Estimated) -> RelayDecision:
    """What stands for an earlier decision where the estimate itself chose relays: nothing was seen before them."""
    direct = record.estimate.figures.direct.value
    return RelayDecision(
        at=0.0, after=0.0, served=0, pairs=record.estimate.chosen_pairs, last_slot=0,
        instance_type=record.estimate.instance_type, direct=direct, total=direct, reason="",
    )  # fmt: skip


def _decision(
    world: World, record: Estimated, seen: Sight, pairs: int, reason: str, instance_type: str
) -> RelayDecision:
    return RelayDecision(
        at=world.clock.now(),
        after=round(seen.after, 3),
        served=seen.pairs,
        pairs=pairs,
        last_slot=_last_slot(world.nodes.of(record.transfer.transfer_id)),
        instance_type=instance_type,
        direct=round(seen.direct, 3),
        total=round(seen.total, 3),
        reason=reason,
    )


def _last_slot(nodes: Sequence[Node]) -> int:
    return max((node.slot for node in nodes), default=0)


def _keep(world: World, record: Estimated, estimate: Estimate, decision: RelayDecision) -> Estimate:
    """Both in one change; then people hear of it."""
    estimate = estimate.after(record.estimate if record.decisions or decision.served else None)
    taken = [one.to_document() for one in (*record.decisions, decision)]
    if world.transfers.change(record.transfer, transfer_life.note(estimate=estimate, decisions=taken)):
        world.events.put("Relays Decided", {"transferId": record.transfer.transfer_id, **decision.news()})
    return estimate
