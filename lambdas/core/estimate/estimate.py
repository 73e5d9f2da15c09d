"""The estimate: the type of the relays, one row per number of pairs, the choice among them and why."""

from collections.abc import Callable, Iterable
from typing import Annotated, Literal

from pydantic import Field

from lambdas.core.documents import Count, Document, InstanceType, Region
from lambdas.core.errors import NoSuitableType
from lambdas.core.estimate import row_counts
from lambdas.core.estimate.alternative import Alternative
from lambdas.core.estimate.figures import EndFigures, Figures
from lambdas.core.estimate.packing import Packing
from lambdas.core.estimate.pair_choice import choose, promise, unknown
from lambdas.core.estimate.pair_route import PairRoute
from lambdas.core.estimate.route_rows import PairsAlone
from lambdas.core.estimate.route_use import RouteUse, in_words
from lambdas.core.estimate.row_table import RowTable
from lambdas.core.estimate.rows import Row, build_row
from lambdas.core.estimate.side_by_side import OfKind, side_by_side
from lambdas.core.estimate.steps import beside
from lambdas.core.estimate.type_choice import Candidate, Offer, offer_of, rank
from lambdas.core.estimate.undecided import Undecided, undecided
from lambdas.core.estimate.ways import Ways
from lambdas.core.estimate.whole_time import WholeTime
from lambdas.core.pool.region_price import PoolPrice
from lambdas.core.request.request import Objective
from lambdas.core.tariff.relay_prices import RelayPrice


class Estimate(Document):
    """Contract `estimate`; `undecided` is absent where the choice is the same whatever the ranges of the figures."""

    schema_version: Literal[1] = 1
    bytes: Count
    rows: list[Row] = Field(min_length=1)
    chosen_pairs: Count
    first_choice: Row | None = None
    """The row that was chosen first, which the report compares with; absent where that is still the chosen one."""
    pre_test: bool
    reason: str
    undecided: Undecided | None = None
    figures: Figures
    instance_type: str
    destination_type: str | None = None
    candidates: list[Candidate] = Field(min_length=1)
    relay_prices: list[RelayPrice] | None = None
    """Of every type that the request allows, in every region and market in which relays may be launched."""
    weighted_types: dict[Region, Annotated[list[InstanceType], Field(min_length=1)]] | None = Field(
        default=None, min_length=1
    )
    """Of these, by region, those that can be launched with more for their network than for their disks; they are."""
    pool_price: PoolPrice | None = None
    """What the pool costs the transfer; absent where it may have no lease."""
    side_by_side: list[OfKind] | None = None
    """Direct, lent, of the pool and launched, each by itself; absent where there is no pool."""
    notes: list[str]
    on_the_way: str | None = None
    """Why the first seconds of the transfer decide about relays, in words; absent where that is decided beforehand."""
    packing: Packing | None = None
    """What packing may save; absent where the request does not ask for it, or nothing was sampled."""
    alternatives: list[Alternative] | None = None
    """What would do in place of relays, for people who ask beforehand; never chosen, and absent in a transfer."""

    def type_of(self, stage: int) -> str:
        """The type of a stage's relays: each side may have its own, and third regions have that of the source's."""
        use = self.use_of(stage)
        beside = use.is_beside(stage, -1) if use else stage == 1
        return self.destination_type or self.instance_type if beside else self.instance_type

    def favours_network(self, instance_type: str, region: str) -> bool:
        """Whether relays of the type count, and are launched, with more for their network than for their disks."""
        return instance_type in (self.weighted_types or {}).get(region, [])

    @property
    def chosen(self) -> Row:
        """The row that was chosen."""
        return self.row(self.chosen_pairs)

    @property
    def chosen_first(self) -> Row:
        """The row that was chosen before anything was decided again."""
        return self.first_choice or self.chosen

    def after(self, before: "Estimate | None") -> "Estimate":
        """With the first choice of an estimate that had chosen relays before; None: this is the first to choose."""
        first = before.chosen_first if before else None
        return self.model_copy(update={"first_choice": first if first != self.chosen else None})

    @property
    def routes(self) -> list[RouteUse]:
        """Where relays are to be: every way that the chosen row uses beside the direct path."""
        return self.chosen.uses(self.figures)

    @property
    def is_by_pairs(self) -> bool:
        """Return whether what one pair carries tells of all of its relays: then more of them are decided by that."""
        return all(use.by_pairs for use in self.routes)

    def hour_usd(self, stage: int) -> float:
        """Dollars for an hour of one relay of a stage."""
        use = self.use_of(stage)
        return use.hours_usd[stage - use.stage] if use else self.figures.hour_usd(stage)

    def gb_usd_of(self, stage: int) -> float:
        """Dollars per GB that is sent on the route of a stage, whatever row was chosen since."""
        use = self.use_of(stage)
        return use.usd_per_gb if use else self.figures.leaving_gb_usd

    def use_of(self, stage: int) -> RouteUse | None:
        """The route of the chosen row, or else of another one, that has relays at a stage."""
        for row in (self.chosen, *self.rows):
            found = [use for use in row.uses(self.figures) if use.has(stage)]
            if found:
                # The nearest: after a route that was left, and sent straight to the receiver, another one begins at
                # once.
                return max(found, key=lambda use: use.stage)
        return None

    def row(self, pairs: int) -> Row:
        """The row of `pairs`; raises LookupError."""
        found = next((row for row in self.rows if row.pairs == pairs), None)
        if found is None:
            raise LookupError(f"the estimate has no row of {pairs} pairs")
        return found

    def having(self, pairs: int) -> "Estimate":
        """With a row of `pairs`, as it would have been: what is decided while data moves may lie between two rows."""
        if any(row.pairs == pairs for row in self.rows):
            return self
        rows = [*self.rows, build_row(self.bytes, pairs, self.figures)]
        return self.model_copy(update={"rows": sorted(rows, key=lambda row: row.pairs)})


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
    whole: WholeTime | None = None,
    ways: Callable[[Offer], Ways | None] = lambda _: None,
    also: Iterable[int] = (),
) -> Estimate:
    """The whole estimate. `ends`: figures of the end machines; those of relays come from the best of `offers`.

    `most_pairs`: the deployment's limit, `pre_test_seconds`: for how long a pre-test measures each hop, `whole`: what
    is around the data, `ways`: what routes and unequal sides are planned from, `also`: numbers of pairs that have a row
    as far as the quotas leave them. Raises NoSuitableType, BudgetTooSmall or DeadlineUnreachable.
    """
    limit = most_pairs if requested == "auto" else min(most_pairs, max(row_counts.EACH_TO, requested))
    judged = min(limit, max(row_counts.EACH_TO, requested if requested != "auto" else 0))
    candidates = rank(size_bytes, ends, offers, judged)
    offer = _best(candidates, offers, requested)
    figures = offer.figures(ends)
    most = figures.lent_whole if offer.refusal else min(limit, offer.most_pairs + figures.lent_whole)
    open_choice = undecided(size_bytes, most, figures)
    table = RowTable(
        size_bytes=size_bytes,
        figures=figures,
        objective=objective,
        pre_test=pre_test,
        pre_test_seconds=pre_test_seconds,
        most_tested=offer.most_pairs,
        whole=whole,
        planner=ways(offer) or PairsAlone(),
    )
    rows = table.rows(most, limit, requested, [*also, *(open_choice.pairs if open_choice else [])])
    asked = requested if requested == "auto" else min(requested, most)
    pairs, reason = choose(rows, asked, objective, figures)
    if requested != "auto" and requested > most:
        reason = f"{figures.route.are(requested, 'was', 'were')} asked for; the quota of vCPUs leaves {most}"
    elif requested == "auto" and not candidates[0].suitable and not pairs:
        unhelpful = f"relays do not help: {'; '.join(dict.fromkeys(one.reason for one in candidates))}"
        # Whether DistCp is met is what was asked.
        reason = f"{reason}; {unhelpful}" if objective.minimise == "pairs" else unhelpful
    row = next(row for row in rows if row.pairs == pairs)
    if ways_in_words := in_words(row.uses(figures)):
        reason += f"; as many relays as that, {ways_in_words}"
    reason += _pre_test_words(row, figures)
    if requested == "auto" and (steps := beside(rows, pairs, objective, figures)):
        reason += f"; {steps}"
    if requested == "auto" and open_choice:
        question = open_choice.question
        reason = f"not known yet, the first seconds of data decide: {question}; by what is expected, {reason}"
    return Estimate(
        bytes=size_bytes,
        rows=rows,
        chosen_pairs=pairs,
        pre_test=row.pre_test,
        reason=reason,
        undecided=open_choice,
        figures=figures,
        instance_type=offer.instance_type,
        destination_type=offer.destination_type or None,
        candidates=candidates,
        side_by_side=side_by_side(size_bytes, figures, objective, min(limit, offer.most_pairs)) or None,
        notes=[
            *notes,
            *promise(row, objective, figures),
            *_most_notes(rows, pairs, offer, limit, figures.route, is_free=requested == "auto"),
        ],
        on_the_way=(open_choice.question if open_choice else unknown(row, figures))
        if requested == "auto" and most
        else None,
    )


def _pre_test_words(row: Row, figures: Figures) -> str:
    """What a pre-test of the row does: it keeps the better ones where more are launched than are wanted."""
    uses = row.uses(figures)
    wanted, launched = (sum(use.paths for use in some) for some in (uses, [use.tested for use in uses]))
    if not row.pre_test:
        return ""
    if launched > wanted:
        return f"; with a pre-test, which keeps the better {wanted} of {launched} pairs"
    return "; with a pre-test of every hop"


def _most_notes(rows: list[Row], pairs: int, offer: Offer, limit: int, route: PairRoute, *, is_free: bool) -> list[str]:
    """Whether more pairs might have been chosen, had the quota or the deployment left them; `is_free`: nobody asked for
    a number.
    """
    if pairs == 0 or pairs != rows[-1].pairs:
        return []
    if pairs == offer.most_pairs and pairs < limit:
        return [f"the quota of vCPUs leaves {route.words(pairs)} of {offer.name}; a larger one allows more"]
    if pairs == limit and is_free:
        return [
            f"the last row is the best one: this deployment allows {route.words(pairs)} (maxPairs), and more may be "
            "better"
        ]
    return []


def _best(candidates: list[Candidate], offers: list[Offer], requested: int | Literal["auto"]) -> Offer:
    """The first that can be launched, suitable or not; relays that were asked for and cannot be are an error."""
    ranked = [offer_of(candidate, offers) for candidate in candidates]
    usable = [offer for offer in ranked if not offer.refusal]
    if requested not in ("auto", 0) and not usable:
        why = "; ".join(f"{offer.name}: {offer.refusal}" for offer in ranked)
        raise NoSuitableType(f"$.relays.instanceTypes: none can be launched ({why}); name others, or ask for 0 pairs")
    return (usable or ranked)[0]
