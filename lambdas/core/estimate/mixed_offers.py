"""Relays of another type on each side: a pair carries what the slower does (Table 4.2) and costs what both cost.

Where the numbers of relays may differ too, each side is known by what one of its relays carries.
"""

from dataclasses import replace
from itertools import product

from lambdas.core.estimate.figures import least, most
from lambdas.core.estimate.type_choice import Offer


def mixed_offers(source: list[Offer], destination: list[Offer], *, unequal: bool = False) -> list[Offer]:
    """Every pair of a type of the source's side and one of the destination's; each offer is of its own side alone.

    `unequal`: the sides may have different numbers of relays.
    """
    return [_pair(one, other, unequal=unequal) for one, other in product(source, destination)]


def _pair(source: Offer, destination: Offer, *, unequal: bool) -> Offer:
    hours = (*source.hours, *destination.hours)
    mean = (source.hour.value + destination.hour.value) / 2
    note = f"{source.hour.note}; {destination.hour.note}; mean of both"
    gains = [offer.gain for offer in (source, destination) if offer.gain]
    tails = [offer.tail for offer in (source, destination) if offer.tail]
    is_measured = source.published is None and destination.published is None
    bounds = [offer.at_least for offer in (source, destination) if offer.at_least]
    other = destination.instance_type
    return replace(
        source,
        destination_type="" if other == source.instance_type else other,
        sides=(source.pair, destination.pair) if unequal else (),
        pair=least(source.pair, destination.pair),
        published=None if is_measured else least(*(one.published or one.pair for one in (source, destination))),
        at_least=least(*bounds) if len(bounds) == 2 else None,
        # Either side's differences show in the pair: the wider ones are counted on.
        spread=most(source.spread, destination.spread),
        spawn=most(source.spawn, destination.spawn),
        hour=source.hour.model_copy(update={"value": mean, "note": note}),
        hours=hours if len(hours) == 2 else (),
        most_pairs=min(source.most_pairs, destination.most_pairs),
        refusal=source.refusal or destination.refusal,
        gain=least(*gains) if gains else None,
        tail=most(*tails) if tails else None,
    )
