"""The estimate: the type of the relays, one row per number of pairs, the choice among them and why."""

from collections.abc import Callable
from typing import Literal

from pydantic import Field

from lambdas.core.documents import MAX_STAGES, Count, Document
from lambdas.core.errors import NoSuitableType
from lambdas.core.estimate import first_contact, route_rows
from lambdas.core.estimate.figures import EndFigures, Figures
from lambdas.core.estimate.packing import Packing
from lambdas.core.estimate.pair_choice import choose
from lambdas.core.estimate.pre_test_choice import better_of
from lambdas.core.estimate.route_use import RouteUse, in_words
from lambdas.core.estimate.rows import Row, build_rows
from lambdas.core.estimate.type_choice import Candidate, Offer, offer_of, rank
from lambdas.core.estimate.undecided import Undecided, undecided
from lambdas.core.estimate.ways import Ways
from lambdas.core.estimate.whole_time import WholeTime
from lambdas.core.fleet.relay_counts import PAIRS, RelayCounts
from lambdas.core.request import Objective

DEFAULT_MOST_PAIRS = 8
HOPS_OF_ROUTE = MAX_STAGES - 1
"""Between its relays, of the longest route: before the plan is made nobody knows which it has."""


class Estimate(Document):
    """Contract `estimate`; `undecided` is absent where the choice is the same whatever the ranges of the figures."""

    schema_version: Literal[1] = 1
    bytes: Count
    rows: list[Row] = Field(min_length=1)
    chosen_pairs: Count
    pre_test: bool
    reason: str
    undecided: Undecided | None = None
    figures: Figures
    instance_type: str
    destination_type: str | None = None
    candidates: list[Candidate] = Field(min_length=1)
    notes: list[str]
    on_the_way: str | None = None
    """Why the first seconds of the transfer decide about relays, in words; absent where that is decided beforehand."""
    packing: Packing | None = None
    """What packing may save; absent where the request does not ask for it, or nothing was sampled."""

    def type_of(self, stage: int) -> str:
        """The type of a stage's relays: each side may have its own, and third regions have that of the source's."""
        use = self._use_of(stage)
        beside = use.is_beside(stage, -1) if use else stage == 1
        return self.destination_type or self.instance_type if beside else self.instance_type

    @property
    def chosen(self) -> Row:
        """The row that was chosen."""
        return self.row(self.chosen_pairs)

    @property
    def routes(self) -> list[RouteUse]:
        """Where relays are to be, if not in pairs alone."""
        return self.chosen.routes or []

    def hour_usd(self, stage: int) -> float:
        """Dollars for an hour of one relay of a stage."""
        use = self._use_of(stage)
        return use.hours_usd[stage - use.stage] if use else self.figures.hour_usd(stage)

    def gb_usd_of(self, stage: int) -> float:
        """Dollars per GB that is sent on the route of a stage, whatever row was chosen since."""
        use = self._use_of(stage)
        return use.usd_per_gb if use else self.figures.leaving_gb_usd

    def _use_of(self, stage: int) -> RouteUse | None:
        """The route of the chosen row, or of another one, that has relays at a stage."""
        rows = (self.chosen, *self.rows)
        found = (use for row in rows for use in row.routes or [] if use.has(stage))
        # The nearest: after a route that was left, and sent straight to the receiver, another one begins at once.
        return max(found, key=lambda use: use.stage, default=None)

    def row(self, pairs: int) -> Row:
        """The row of `pairs`; raises LookupError."""
        return next(row for row in self.rows if row.pairs == pairs)


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
    whole: WholeTime | None = None,
    ways: Callable[[Offer], Ways | None] = lambda _: None,
) -> Estimate:
    """The whole estimate. `ends`: figures of the end machines; those of relays come from the best of `offers`.

    `most_pairs`: the deployment's limit, `pre_test_seconds`: both hops of one pre-test, `whole`: what is around
    the data, `ways`: what routes and unequal sides are planned from. Raises NoSuitableType, BudgetTooSmall or
    DeadlineUnreachable.
    """
    wanted = min(most_pairs, max(DEFAULT_MOST_PAIRS, requested if requested != "auto" else 0))
    candidates = rank(size_bytes, ends, offers, wanted)
    offer = _best(candidates, offers, requested)
    figures = offer.figures(ends)
    most = figures.lent_whole if offer.refusal else min(wanted, offer.most_pairs + figures.lent_whole)

    def rows_with(test_seconds: float) -> list[Row]:
        rows = build_rows(size_bytes, most, figures, test_seconds, relay_counts)
        return [row.in_time(whole, objective.confidence) for row in rows] if whole else rows

    plain, tested = rows_with(0.0), rows_with(pre_test_seconds if pre_test else 0.0)
    rows = tested if pre_test is True else better_of(plain, tested, objective, figures, offer.most_pairs)
    planned = ways(offer)
    # Of unequal sides none is tested: the better half of pairs is what was asked for.
    if planned and not (pre_test is True and planned.is_pair_alone):
        # Every hop is measured, one after the other, before relays of routes join.
        wait = pre_test_seconds / 2 * HOPS_OF_ROUTE if pre_test is True else 0.0
        through = route_rows.routed(planned, size_bytes, plain, figures.joining_later(wait))
        through = [row.model_copy(update={"pre_test": True}) if wait and row.routes else row for row in through]
        through = [row.in_time(whole, objective.confidence) for row in through] if whole else through
        rows = route_rows.better_of(rows, through, objective, figures)
        if requested == "auto":
            more = route_rows.beyond(planned, size_bytes, plain, wanted, figures)
            rows += [row.in_time(whole, objective.confidence) for row in more] if whole else more
    asked = requested if requested == "auto" else min(requested, most)
    pairs, reason = choose(rows, asked, objective, figures)
    if requested != "auto" and requested > most:
        reason = f"{requested} pairs were asked for; the quota of vCPUs leaves {most}"
    elif requested == "auto" and not candidates[0].suitable and not pairs:
        reason = f"relays do not help: {'; '.join(dict.fromkeys(one.reason for one in candidates))}"
    row = next(row for row in rows if row.pairs == pairs)
    if row.routes:
        reason += f"; as many relays as that, {in_words(row.routes)}"
    if row.pre_test and row.routes:
        reason += "; with a pre-test of every hop"
    elif row.pre_test:
        reason += f"; with a pre-test, which keeps the better {pairs} of {2 * pairs} pairs"
    unknown = undecided(size_bytes, most, figures)
    if requested == "auto" and unknown:
        reason = f"{unknown.question}; by what is expected, {reason}"
    return Estimate(
        bytes=size_bytes,
        rows=rows,
        chosen_pairs=pairs,
        pre_test=row.pre_test,
        reason=reason,
        undecided=unknown,
        figures=figures,
        instance_type=offer.instance_type,
        destination_type=offer.destination_type or None,
        candidates=candidates,
        notes=[*notes, *_quota_notes(offer, pairs, wanted), *relay_counts.notes(pairs)],
        on_the_way=(unknown.question if unknown else first_contact.unmeasured(ends))
        if requested == "auto" and most
        else None,
    )


def _quota_notes(offer: Offer, pairs: int, wanted: int) -> list[str]:
    """Whether more pairs might have been chosen, had the quota left them."""
    if pairs == 0 or pairs != offer.most_pairs or pairs >= wanted:
        return []
    return [f"the quota of vCPUs leaves {pairs} pairs of {offer.name}; a larger one allows more"]


def _best(candidates: list[Candidate], offers: list[Offer], requested: int | Literal["auto"]) -> Offer:
    """The first that can be launched, suitable or not; relays that were asked for and cannot be are an error."""
    ranked = [offer_of(candidate, offers) for candidate in candidates]
    usable = [offer for offer in ranked if not offer.refusal]
    if requested not in ("auto", 0) and not usable:
        why = "; ".join(f"{offer.name}: {offer.refusal}" for offer in ranked)
        raise NoSuitableType(f"$.relays.instanceTypes: none can be launched ({why}); name others, or ask for 0 pairs")
    return (usable or ranked)[0]
