"""Machines of the user that serve as relays: they carry their share of what AWS publishes, from the first slots on."""

from collections.abc import Mapping

from lambdas.core.estimate import published_limits
from lambdas.core.estimate.figures import Figure, LentPair, least
from lambdas.core.estimate.offers import Terms
from lambdas.core.places.machines import ExistingRelay
from lambdas.core.tariff.instance_types import TypeFacts


def lent_pairs(terms: Terms, machines: list[ExistingRelay], share: float) -> list[LentPair]:
    """The pairs that have such machines at one side or at both, by slot: a pair carries what the slower one does.

    As `operations.fleet.providers.lent` leases them, with `share` of the rate as the bound that their daemons keep.
    """
    rates: tuple[list[Figure], ...] = tuple(
        lent_rates(
            machines,
            stage,
            side.facts,
            share,
            between_regions=terms.between_regions,
            internet=terms.internet,
        )
        for stage, side in enumerate(terms.sides)
    )
    slots = range(max(map(len, rates)))
    lent = [[side[slot] for side in rates if slot < len(side)] for slot in slots]
    return [LentPair(rate=least(*both), launches_one=len(both) < len(terms.sides)) for both in lent]


def lent_rates(
    machines: list[ExistingRelay],
    stage: int,
    facts: Mapping[str, TypeFacts],
    share: float,
    *,
    between_regions: bool,
    internet: bool,
) -> list[Figure]:
    """What each such machine of a stage carries, MB/s, by slot. `facts`: of types in the stage's region."""
    return [
        _rate(
            machine,
            published_limits.outward(
                facts.get(machine.instance_type),
                machine.instance_type,
                between_regions=between_regions,
                internet=internet,
            ),
            share,
        )
        for machine in machines
        if machine.stage == stage
    ]


def _rate(machine: ExistingRelay, published: Figure, share: float) -> Figure:
    note = f"{machine.instance_id}: {share:g} of {published.value:.1f} MB/s ({published.note})"
    # Its daemon is held to the share of what lasts, so a burst of the machine is no use to the transfer.
    low = None if published.low is None else share * published.low
    return Figure(value=share * published.value, low=low, origin=published.origin, note=note)
