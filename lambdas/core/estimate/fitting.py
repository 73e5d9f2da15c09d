"""An estimate small enough for the transfer's record and for the state of its execution, both of which carry it."""

import json

from lambdas.core.estimate.estimate import Estimate

MOST_BYTES = 32 * 1024
"""An eighth of what Step Functions passes from state to state; the listing's figures and the paths come beside it."""
MOST_CANDIDATES = 12
"""Types that are shown: the best ones. A list for each side may have 20, which makes 400 combinations."""


def size_of(estimate: Estimate) -> int:
    """Bytes of the document."""
    return len(json.dumps(estimate.to_document()).encode())


def fitted(estimate: Estimate) -> Estimate:
    """At most `MOST_BYTES`: the best candidates, then fewer rows, then prices of the dearest relays alone.

    What is left out is in the notes. The chosen row stays, as do its neighbours and the rows that may become the best.
    """
    more = len(estimate.candidates) - MOST_CANDIDATES
    if more > 0:
        candidates = estimate.candidates[:MOST_CANDIDATES]
        estimate = _noted(estimate, f"{more} more types of relays are allowed", candidates=candidates)
    dropped: list[int] = []
    while size_of(estimate) > MOST_BYTES and (row := _least_needed(estimate)) is not None:
        dropped.insert(0, row)
        left = [one for one in estimate.rows if one.pairs != row]
        estimate = estimate.model_copy(update={"rows": left})
    if dropped:
        estimate = _noted(estimate, f"rows that did not fit: {', '.join(map(str, dropped))} pairs")
    return _with_dearest_prices(estimate)


def _noted(estimate: Estimate, note: str, **changes: object) -> Estimate:
    return estimate.model_copy(update={**changes, "notes": [*estimate.notes, note]})


def _least_needed(estimate: Estimate) -> int | None:
    """The last row that nobody needs."""
    counts = [row.pairs for row in estimate.rows]
    place = counts.index(estimate.chosen_pairs)
    needed = {counts[0], counts[-1], *counts[max(place - 1, 0) : place + 2]}
    needed |= set(estimate.undecided.pairs if estimate.undecided else [])
    return next((pairs for pairs in reversed(counts) if pairs not in needed), None)


def _with_dearest_prices(estimate: Estimate) -> Estimate:
    """Relays whose price is left out count at the dearest one that is there, so these stay, and the chosen types'."""
    chosen = {estimate.instance_type, estimate.destination_type or estimate.instance_type}
    prices = estimate.relay_prices or []
    cheapest = iter(sorted(prices, key=lambda one: one.on_demand_usd))
    while size_of(estimate) > MOST_BYTES and (least := next(cheapest, None)):
        if least.instance_type not in chosen:
            prices = [one for one in prices if one is not least]
            estimate = estimate.model_copy(update={"relay_prices": prices})
    return estimate
