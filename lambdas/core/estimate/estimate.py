"""The estimate: the type of the relays, one row per number of pairs, the choice among them and why."""

from typing import Literal

from pydantic import Field

from lambdas.core.documents import Count, Document
from lambdas.core.errors import NoSuitableType
from lambdas.core.estimate.budget import within
from lambdas.core.estimate.figures import EndFigures, Figures
from lambdas.core.estimate.pair_choice import choose
from lambdas.core.estimate.rows import Row, build_rows, seconds_for
from lambdas.core.estimate.type_choice import Candidate, Offer, rank
from lambdas.core.fleet.relay_counts import PAIRS, RelayCounts
from lambdas.core.request import Objective

DEFAULT_MOST_PAIRS = 8
# Mean of the better half of a normal distribution, in standard deviations above the mean: sqrt(2 / pi).
BETTER_HALF = 0.798


class Estimate(Document):
    """Contract `estimate`."""

    schema_version: Literal[1] = 1
    bytes: Count
    rows: list[Row] = Field(min_length=1)
    chosen_pairs: Count
    pre_test: bool
    reason: str
    figures: Figures
    instance_type: str
    candidates: list[Candidate] = Field(min_length=1)
    notes: list[str]

    def row(self, pairs: int) -> Row:
        """The row of `pairs`; raises LookupError."""
        return next(row for row in self.rows if row.pairs == pairs)


def pre_test_pays(size_bytes: int, pairs: int, figures: Figures, pre_test_seconds: float) -> bool:
    """Whether choosing the better half of 2p pairs saves more seconds than the other half is up for.

    Then it costs nothing either: the p pairs that stay are needed for so much less time (Eq. 4.2).
    """
    plain = seconds_for(size_bytes, pairs, figures)
    gain = BETTER_HALF * figures.pair_spread.value
    tested = seconds_for(size_bytes, pairs, figures, pre_test_seconds, gain)
    return plain - tested > figures.spawn.value + pre_test_seconds


def is_pre_test_wanted(
    asked: bool | Literal["auto"],
    size_bytes: int,
    pairs: int,
    figures: Figures,
    pre_test_seconds: float,
    most_usd: float | None,
) -> bool:
    """As the request has `asked`; without relays never, and not where nobody asked and the budget does not bear it."""
    if pairs == 0 or asked != "auto":
        return pairs > 0 and asked is True
    tested = build_rows(size_bytes, pairs, figures, pre_test_seconds)[-1]
    return bool(within([tested], most_usd, figures, pre_test=True)) and pre_test_pays(
        size_bytes, pairs, figures, pre_test_seconds
    )


def estimate(
    size_bytes: int,
    ends: EndFigures,
    offers: list[Offer],
    *,
    requested: int | Literal["auto"],
    pre_test: bool | Literal["auto"],
    objective: Objective,
    most_pairs: int,
    pre_test_seconds: float,
    notes: list[str],
    relay_counts: RelayCounts = PAIRS,
) -> Estimate:
    """The whole estimate. `ends`: figures of the end machines; those of relays come from the best of `offers`.

    `most_pairs`: the deployment's limit, `pre_test_seconds`: both hops of one pre-test. Raises NoSuitableType,
    BudgetTooSmall or DeadlineUnreachable.
    """
    wanted = min(most_pairs, max(DEFAULT_MOST_PAIRS, requested if requested != "auto" else 0))
    candidates = rank(size_bytes, ends, offers, wanted)
    offer = _best(candidates, offers, requested)
    figures = offer.figures(ends)
    most = 0 if offer.refusal else min(wanted, offer.most_pairs)
    rows = build_rows(size_bytes, most, figures, pre_test_seconds if pre_test is True else 0.0, relay_counts)
    asked = requested if requested == "auto" else min(requested, most)
    pairs, reason = choose(rows, asked, objective, figures, pre_test=pre_test is True)
    if requested != "auto" and requested > most:
        reason = f"{requested} pairs were asked for; the quota of vCPUs leaves {most}"
    elif requested == "auto" and not candidates[0].suitable:
        reason = f"relays do not help: {'; '.join(dict.fromkeys(one.reason for one in candidates))}"
    return Estimate(
        bytes=size_bytes,
        rows=rows,
        chosen_pairs=pairs,
        pre_test=is_pre_test_wanted(pre_test, size_bytes, pairs, figures, pre_test_seconds, objective.max_cost_usd),
        reason=reason,
        figures=figures,
        instance_type=offer.instance_type,
        candidates=candidates,
        notes=[*notes, *_quota_notes(offer, pairs, wanted), *relay_counts.notes(pairs)],
    )


def _quota_notes(offer: Offer, pairs: int, wanted: int) -> list[str]:
    """Whether more pairs might have been chosen, had the quota left them."""
    if pairs == 0 or pairs != offer.most_pairs or pairs >= wanted:
        return []
    return [f"the quota of vCPUs leaves {pairs} pairs of {offer.instance_type}; a larger one allows more"]


def _best(candidates: list[Candidate], offers: list[Offer], requested: int | Literal["auto"]) -> Offer:
    """The first that can be launched, suitable or not; relays that were asked for and cannot be are an error."""
    by_type = {offer.instance_type: offer for offer in offers}
    ranked = [by_type[candidate.instance_type] for candidate in candidates]
    usable = [offer for offer in ranked if not offer.refusal]
    if requested not in ("auto", 0) and not usable:
        why = "; ".join(f"{offer.instance_type}: {offer.refusal}" for offer in ranked)
        raise NoSuitableType(f"$.relays.instanceTypes: none can be launched ({why}); name others, or ask for 0 pairs")
    return (usable or ranked)[0]
