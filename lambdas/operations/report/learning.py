"""Profiles learn from a finished transfer."""

from collections.abc import Sequence

from pydantic import ValidationError

from lambdas.adapters.borne import AWS_ERRORS, logger
from lambdas.adapters.world import World
from lambdas.core.errors import CptError
from lambdas.core.estimate.profile import Profile
from lambdas.core.fleet.relay_node import Node
from lambdas.core.learning.arrivals import Arrivals
from lambdas.core.learning.path_links import links_in_use
from lambdas.core.learning.sample import events
from lambdas.core.learning.samples import links_of, repeats_of, samples_of, subjects, tails_of
from lambdas.core.record.transfer_record import Beside, TransferRecord
from lambdas.core.report.gain_samples import gain_samples
from lambdas.core.report.stage_samples import stage_samples
from lambdas.core.report.tally import Tally
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.report import beside

# The stage of a transfer whose listing was followed.
FOLLOWED = "Extend Plan"
# Rates are of payload. Where a larger share of it did not cross the network, they say nothing of the network.
MOST_SAVED = 0.02


_FAILURES = (CptError, *AWS_ERRORS, ValidationError)


def look_beside(world: World, record: TransferRecord, tally: Tally) -> list[Beside] | None:
    """Which transfers used the same ends, before this one is closed; None where nobody can tell."""
    try:
        return beside.find(world, record, tally.first, tally.last)
    except _FAILURES:
        logger.warning("what ran beside the transfer is not known, so nothing is learnt", exc_info=True)
        return None


def learn(
    world: World, record: TransferRecord, tally: Tally, nodes: list[Node], others: Sequence[Beside] | None
) -> None:
    """Integrate what the transfer measured; where the store fails it is logged, and what is left is not learnt.

    `record`: as it was closed. `others`: what `look_beside` had found; for None nothing is learnt.
    Where data waited for the listing, a person paused it, or several transfers shared a limit, paths were held back in
    seconds that look like any other: no rate is learnt. Nor is one where much was packed, or while another transfer
    used the same ends.
    """
    if others is None:
        return
    transfer, limit, measured = record.transfer, record.limit.lowest_mbps, record.measured
    pair, now = transfer.region_pair, world.clock.now()
    try:
        found = {subject: world.profiles.get(subject, pair) for subject in subjects(transfer, nodes)}
        profiles = {subject: profile for subject, profile in found.items() if profile}
        uneven = FOLLOWED in record.stages or record.pause is not None or record.shared or _saved_much(record)
        rates = Arrivals() if uneven else tally.arrivals
        spans = [(one.since, one.until) for one in (*record.beside, *others)]
        # Probes take seconds, and their times are not kept: beside another transfer none of them counts.
        direct = measured.direct if measured and not spans else None
        links = _other_links(world, transfer, nodes)
        samples = samples_of(transfer, rates, nodes, profiles, direct, limit, links, spans)
        samples += [] if spans else links_of(transfer, measured)
        if record.delivered:
            samples += tails_of(transfer, rates, nodes)
        if record.delivered and record.status == "SUCCEEDED":
            samples += repeats_of(transfer, record.delivered)
        if tally.first is not None and tally.last is not None:
            shown = stage_samples(record, tally.first, tally.last, now)
            samples += [one for one in shown if one.metric != "accuracy" or not spans]
            samples += [] if spans or uneven else gain_samples(record, tally.bytes, tally.seconds, nodes)
        for (subject, link, metric), event in events(samples).items():
            world.profiles.integrate(subject, link or pair, metric, event, now)
    except _FAILURES:
        # A finished transfer is not to fail for it, and trying on would keep its execution waiting.
        logger.warning("what the transfer measured was not learnt", exc_info=True)


def _other_links(world: World, transfer: AcceptedTransfer, nodes: list[Node]) -> dict[tuple[str, str], Profile]:
    """What was known of the links of routes through third regions, by the types of their relays."""
    kinds = {node.instance_type for node in nodes}
    keys = [(kind, link) for kind in sorted(kinds) for link in links_in_use(transfer, nodes)]
    return {key: profile for key in keys if (profile := world.profiles.get(*key))}


def _saved_much(record: TransferRecord) -> bool:
    delivered = record.delivered
    return delivered is not None and (delivered.saved_bytes or 0) > MOST_SAVED * delivered.sent_bytes
