"""Machines of the user that serve as relays: they carry their share of what AWS publishes, from the first slots on."""

from lambdas.core.estimate.figures import Figure, LentPair, least
from lambdas.core.estimate.offers import Terms
from lambdas.core.transfer import ExistingRelay


def lent_pairs(terms: Terms, machines: list[ExistingRelay], share: float) -> list[LentPair]:
    """The pairs that have such machines at one side or at both, by slot: a pair carries what the slower one does.

    As `operations.fleet.existing` enlists them, with `share` of the rate as the bound that their daemons keep.
    """
    rates: tuple[list[Figure], ...] = tuple(
        [_rate(terms, stage, machine, share) for machine in machines if machine.stage == stage]
        for stage, _ in enumerate(terms.sides)
    )
    slots = range(max(map(len, rates)))
    lent = [[side[slot] for side in rates if slot < len(side)] for slot in slots]
    return [LentPair(rate=least(*both), launches_one=len(both) < len(terms.sides)) for both in lent]


def _rate(terms: Terms, stage: int, machine: ExistingRelay, share: float) -> Figure:
    published = terms.outward(terms.sides[stage], machine.instance_type)
    note = f"{machine.instance_id}: {share:g} of {published.value:.1f} MB/s ({published.note})"
    # Its daemon is held to the share of what lasts, so a burst of the machine is no use to the transfer.
    low = None if published.low is None else share * published.low
    return Figure(value=share * published.value, low=low, origin=published.origin, note=note)
