"""The decision about relays on the way: what the first seconds of a transfer show, and the estimate that follows.

MB/s (10^6 bytes), seconds. A sight is what the sender reported of its paths; figures that AWS publishes give way to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Annotated, Literal

from pydantic import Field

from lambdas.core.chunks.progress import Progress
from lambdas.core.documents import Count, Document
from lambdas.core.estimate import unmeasured as unmeasured_paths
from lambdas.core.estimate.figures import Burst, EndFigures, Figure, Figures
from lambdas.core.estimate.type_choice import Offer
from lambdas.core.fleet.layout import is_direct
from lambdas.core.fleet.topology import strength_of
from lambdas.core.models.models import LEAST_GAIN

BYTES_PER_MB = 1e6
# TCP opens its window, and a cap lets a burst pass; a report covers the two seconds before it.
WARM_UP_SECONDS, REPORT_SECONDS = 1.0, 2.0
# Two reports that differ by less agree: the evidence decides.
STEADY = 0.15
# After so much data, what is still unknown is decided by its expected value.
LOOK_SECONDS = 20.0
# Launches in one transfer: the first choice, and two that follow from what it showed. T_v passes before each.
MOST_LAUNCHES = 3
# A direct path that keeps this share of its rate beside relays is not held back by the ends.
FREE = 0.85
# A sum that is not above what passed before by so many times is no news: two measurements differ by less.
SEEN = 1.07
_UNMEASURED = frozenset({"published", "assumed"})
_ASSUMED = {"origin": "assumed"}
_TOTALS = ("source", "destination")

NonNegative = Annotated[float, Field(ge=0)]


class RelayDecision(Document):
    """Contract `report`, `decisions`: one decision on the way. `at` in Unix seconds; `after`: seconds of data.

    `pairs`: as many are to serve from now on, `served`: as many did. `last_slot`: the highest that was taken before, so
    that a launch repeated for the same decision is the same launch. Rates in MB/s.
    """

    at: float
    after: NonNegative = Field(alias="afterSeconds")
    served: Count
    pairs: Count
    last_slot: Count
    instance_type: str
    direct: NonNegative = Field(alias="directMBps")
    total: NonNegative = Field(alias="totalMBps")
    reason: str

    def news(self) -> dict[str, object]:
        """Detail of the event `Relays Decided`, without the transfer: what people hear."""
        told = {"served": self.served, "pairs": self.pairs, "instanceType": self.instance_type}
        rates = {"directMBps": self.direct, "totalMBps": self.total}
        return {**told, **rates, "afterSeconds": self.after, "reason": self.reason[:1000]}

    def words(self) -> str:
        """One line for people, e.g. `3 pairs after 6 s of data: …`."""
        return f"{self.pairs} pair{'' if self.pairs == 1 else 's'} after {self.after:.0f} s of data: {self.reason}"


def unmeasured(ends: EndFigures, pairs: int = 0) -> str | None:
    """Return in words why the first seconds of a transfer tell more than its estimate; None where they do not.

    `pairs`: of the chosen row, which may rest on what relays were never seen to carry, or ends to let pass.
    """
    if ends.direct.origin_now in _UNMEASURED:
        return "the direct path of these machines was never measured"
    if not isinstance(ends, Figures) or pairs <= ends.lent_whole:
        return None
    if ends.pair.origin_now in _UNMEASURED and ends.pair.now > SEEN * ends.pair.least_now:
        return f"what {ends.route.one_of} these relays carries was never measured"
    together = ends.direct.now + sum(ends.pair_at(slot).now for slot in range(pairs))
    totals = [figure for name in _TOTALS if (figure := getattr(ends, name)).origin_now in _UNMEASURED]
    if any(figure.is_open and min(figure.now, together) > SEEN * figure.least_now for figure in totals):
        return f"so much was never seen to pass through {'this machine' if ends.store else 'these two machines'}"
    return None


@dataclass(frozen=True)
class Sight:
    """One report: MB/s of the direct path, of all paths, and of how many pairs. `after`: seconds of data.

    `pairs`: paths that share no relay; a mesh has more paths than its smaller side has relays. `mean`: MB/s of all
    paths since the first byte.
    """

    at: float
    after: float
    direct: float
    total: float
    pairs: int
    mean: float = 0.0

    @property
    def pair(self) -> float:
        """The mean of the pairs; 0 without them."""
        return (self.total - self.direct) / self.pairs if self.pairs else 0.0


def sight(progress: Progress, since: float | None = None) -> Sight | None:
    """What a report shows; None where part of it was before the first byte, or before `since` (Unix s), and a warm-up.

    Lanes that still connect have no rate, and do not count.
    """
    if progress.first_byte_at is None:
        return None
    if progress.at - max(progress.first_byte_at, since or 0.0) < WARM_UP_SECONDS + REPORT_SECONDS:
        return None
    direct = sum(lane.rate for lane in progress.lanes if is_direct(lane.path_id))
    relayed = {lane.path_id for lane in progress.lanes if not is_direct(lane.path_id) and lane.rate > 0}
    total = sum(lane.rate for lane in progress.lanes)
    after = progress.at - progress.first_byte_at
    return Sight(progress.at, after, direct, total, strength_of(relayed), progress.moved_bytes / BYTES_PER_MB / after)


def evidence(sights: Sequence[Sight]) -> Sight | None:
    """The mean of the last two reports where they agree; None while more is to be waited for.

    One report is enough where the direct path has carried as much since the first byte.
    """
    if sights and not sights[-1].pairs and _near(sights[-1].mean, sights[-1].total):
        return expected(sights)
    if len(sights) < 2:
        return None
    before, last = sights[-2:]
    if before.pairs != last.pairs or not (_near(before.direct, last.direct) and _near(before.total, last.total)):
        return None
    return expected(sights)


def expected(sights: Sequence[Sight]) -> Sight | None:
    """The mean of the last reports with as many paths as the last one, three at most; None where there is none."""
    if not sights:
        return None
    last = sights[-1]
    like = [one for one in sights if one.pairs == last.pairs][-3:]
    direct, total = (sum(values) / len(like) for values in ([s.direct for s in like], [s.total for s in like]))
    return replace(last, direct=direct, total=total)


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= STEADY * max(one, other)


Verdict = Literal["unhelped", "held", "free", "fell"]


def verdict(seen: Sight, before: RelayDecision) -> Verdict:
    """What relays have changed since `before`.

    `unhelped`: the sum is what the direct path carried alone, so the ends are full. `held`: the sum grew, and the
    direct path gave some of its rate away: the ends are the limit. `free`: it kept it, so the ends can do more.
    `fell`: less than before passes in all. Relays did not bring that about, but the end of a burst or other traffic.
    """
    if seen.total < (1 - LEAST_GAIN) * before.total:
        return "fell"
    if seen.total <= (1 + LEAST_GAIN) * before.total:
        return "unhelped"
    return "free" if seen.direct >= FREE * before.direct else "held"


def with_first_sight(ends: EndFigures, offers: list[Offer], seen: Sight) -> tuple[EndFigures, list[Offer]]:
    """Figures and offers for the whole transfer as the direct path alone has shown them; relays come from now on.

    A pair of which nothing was measured counts as what the direct path carries, as in the papers' model, where all
    paths are alike; where relays are smaller than the ends, as the same share of what is published of it. It may carry
    all that is published.
    """
    published = _published(ends.direct) if ends.direct.origin_now in _UNMEASURED else 0.0
    share = min(seen.direct / published, 1.0) if published else 1.0
    note = f"the first {seen.after:.0f} s of this transfer"
    totals = {name: _at_least(getattr(ends, name), seen.direct) for name in _TOTALS}
    ends = ends.model_copy(update={"direct": _passing(ends.direct, seen.direct, note), **totals})
    return ends, [_from_now_on(offer, share, seen) for offer in offers]


def with_relays(
    ends: EndFigures, offers: list[Offer], seen: Sight, found: Verdict, instance_type: str
) -> tuple[EndFigures, list[Offer]]:
    """Figures and offers for the bytes left: all that serves now stands for the direct path, more pairs come beside it.

    Only relays of the type that serves are offered: of others less is known.
    """
    served = ends.route.words(seen.pairs)
    note = f"the direct path and {served} of this transfer"
    totals = {name: _at_least(getattr(ends, name), seen.total) for name in _TOTALS}
    full = full_ends(ends, seen) if found in ("held", "unhelped") else totals
    pair = measured(seen.pair, f"{served} of this transfer")
    same = [
        replace(offer, pair=pair) if pair.value else offer for offer in offers if offer.instance_type == instance_type
    ]
    return ends.model_copy(update={"direct": measured(seen.total, note), **full}), same or offers


def full_ends(ends: EndFigures, seen: Sight) -> dict[str, Figure]:
    """The totals of both ends, which together carry what passes and no more."""
    note = f"with {ends.route.words(seen.pairs)} the ends were the limit"
    return {name: _passing(getattr(ends, name), seen.total, note) for name in _TOTALS}


def measured(value: float, note: str) -> Figure:
    """A figure that this transfer has shown."""
    return Figure(value=value, origin="measured", note=note)


def _published(direct: Figure) -> float:
    """What the machines may send by what AWS publishes of them; the least of it where that is a range of its own."""
    return direct.greatest if direct.origin == "published" and direct.burst is None else direct.least_now


def _passing(figure: Figure, rate: float, note: str) -> Figure:
    """The figure of which `rate` MB/s pass now and no more; above what lasts it is a burst, of unseen credit."""
    if figure.burst and rate > figure.value:
        return figure.model_copy(update={"burst": Burst(rate=measured(rate, note), credit=figure.burst.credit)})
    return measured(rate, note)


def _at_least(figure: Figure, rate: float) -> Figure:
    """The figure of which `rate` MB/s were seen to pass: a lower bound, of a burst too."""
    if rate <= figure.least_now:
        return figure
    if figure.burst and figure.burst.rate.greatest > rate:
        most = figure.burst.rate.greatest
        note = f"{figure.burst.rate.note}; {rate:.4g} MB/s pass"
        changes = {"low": rate, "value": sqrt(rate * most), "high": most, "note": note}
        return figure.model_copy(
            update={"burst": Burst(rate=figure.burst.rate.model_copy(update=changes), credit=figure.burst.credit)}
        )
    if rate <= figure.greatest:
        return figure.model_copy(update={"low": rate, "value": max(figure.value, rate), "high": figure.greatest})
    return measured(rate, "passed in this transfer")


def _from_now_on(offer: Offer, share: float, seen: Sight) -> Offer:
    spawn = offer.spawn.later(seen.after, f"{offer.spawn.note}, after {seen.after:.0f} s of data")
    if offer.pair.origin_now not in _UNMEASURED:
        return replace(offer, spawn=spawn)
    published = offer.published or offer.pair
    pair = unmeasured_paths.pair(published, measured(seen.direct, "the direct path"), offer.at_least, share)
    burst = pair.burst and pair.burst.model_copy(update={"rate": pair.burst.rate.model_copy(update=_ASSUMED)})
    return replace(offer, spawn=spawn, pair=pair.model_copy(update={**_ASSUMED, "burst": burst}))
