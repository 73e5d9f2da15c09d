"""What would do in place of relays, or better: peered VPCs, larger ends, checksums, a bucket, DataSync; never chosen.

MB/s, seconds of data time, dollars. What AWS publishes of machines is the most that they carry, so times are at best.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil

from lambdas.core.estimate import published_limits, row_cost
from lambdas.core.estimate.alternative import Alternative
from lambdas.core.estimate.data_time import seconds_for
from lambdas.core.estimate.end_limits import CHECKSUM_GAIN, with_checksums
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.figures import Figure, Figures, least
from lambdas.core.estimate.pair_use import pair_uses
from lambdas.core.estimate.rows import Row
from lambdas.core.models.models import LEAST_GAIN
from lambdas.core.tariff import cost, fallback_prices
from lambdas.core.tariff.instance_types import TypeFacts

# A direct path that carries this share of what an end moves is held back by that end.
FULL = 0.9
# A bucket holds the data for a day: lifecycle rules know no shorter time.
DAYS_IN_BUCKET, DAYS_A_MONTH = 1, 30
# What the AWS command line sends in one request, by default.
PART_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True)
class LargerEnd:
    """A type that an end may be instead; `hour_usd`: dollars more for an hour than the end costs now."""

    facts: TypeFacts
    hour_usd: float


@dataclass(frozen=True)
class Ends:
    """The two ends as they are, source first. `larger`: of each what it may be instead, the smallest first.

    `through`: what joins them; `peerable`: they are in two VPCs, of two regions; `checksum`: they do not hash.
    """

    facts: tuple[TypeFacts | None, TypeFacts | None]
    larger: tuple[tuple[LargerEnd, ...], tuple[LargerEnd, ...]]
    through: str
    peerable: bool
    checksum: bool = False


def alternatives(found: Estimate, ends: Ends, usd_per_hour: float) -> list[Alternative]:
    """Those that are shorter or cheaper than what the estimate chose; `usd_per_hour`: what an hour is worth."""
    size, figures = found.bytes, found.figures
    if not size:
        return []
    every = [_peering(size, figures, ends), *_larger(found, ends, usd_per_hour), _checksum(found, ends), *_small(found)]
    return [_weighed(one, usd_per_hour) for one in every if one]


def _weighed(one: Alternative, usd_per_hour: float) -> Alternative:
    total = one.cost_usd + cost.worth(one.seconds, usd_per_hour)
    changes = {"seconds": round(one.seconds, 3), "cost_usd": round(one.cost_usd, 6)}
    return one.model_copy(update={**changes, "cost_and_time_usd": round(total, 6)})


def _peering(size: int, figures: Figures, ends: Ends) -> Alternative | None:
    """The direct path over peering, which holds no machine back: it passes what both send and receive anyway."""
    if not ends.peerable or ends.through == "peering":
        return None
    direct = least(figures.source, figures.destination)
    peered = figures.model_copy(update={"direct": direct, "gateway": None})
    now, seconds = (seconds_for(size, 0, one) for one in (figures, peered))
    before, dollars = (_dollars(size, one, taken) for one, taken in ((figures, now), (peered, seconds)))
    if seconds > now * (1 - LEAST_GAIN) and dollars > before * (1 - LEAST_GAIN):
        return None
    return Alternative(
        kind="peering",
        what="peer the two VPCs",
        seconds=seconds,
        cost_usd=dollars,
        cost_and_time_usd=0.0,
        note=f"{_why_peering(figures, ends)}. It needs address ranges that do not overlap, routes, and interRegionPath "
        '"peering". At best: nobody has measured it',
    )


def _why_peering(figures: Figures, ends: Ends) -> str:
    if ends.through != "internet":
        return "a transit gateway costs by the GB, peering does not"
    passed = [published_limits.outward(one, "", between_regions=True, internet=True).now for one in ends.facts if one]
    if passed and figures.direct.now < FULL * min(passed) and figures.direct.origin_now not in ("published", "assumed"):
        return (
            f"an internet gateway would pass {min(passed):.0f} MB/s, so it may not be what holds the direct path to "
            f"{figures.direct.now:.0f}; measure before you count on it"
        )
    return "an internet gateway passes 5 Gbit/s of a machine, or half of what large ones have; peering passes all"


def _larger(found: Estimate, ends: Ends, usd_per_hour: float) -> Iterator[Alternative]:
    """The first larger ends that shorten the chosen row."""
    longest = found.chosen.seconds
    for sides in _steps(ends):
        one = _of(found, ends, sides, usd_per_hour)
        if one and one.seconds <= longest * (1 - LEAST_GAIN):
            yield one
            return


def _checksum(found: Estimate, ends: Ends) -> Alternative | None:
    """The chosen row with checksums, where the ends' processors hold it back."""
    if ends.checksum:
        return None
    pairs, figures = found.chosen.pairs, with_checksums(found.figures)
    now, seconds = (seconds_for(found.bytes, pairs, one) for one in (found.figures, figures))
    if seconds > now * (1 - LEAST_GAIN):
        return None
    return Alternative(
        kind="checksum",
        what='verify: "crc64" in the request',
        seconds=seconds,
        cost_usd=_dollars(found.bytes, figures, seconds, pairs),
        cost_and_time_usd=0.0,
        note=f"the ends' processors hold the transfer back, and checksum {CHECKSUM_GAIN:g} times as much as they hash. "
        "A checksum finds what was spoiled on the way, and not what was made to fit",
    )


def _steps(ends: Ends) -> Iterator[Mapping[int, LargerEnd]]:
    """The source larger, the destination larger, both; then the same with the next size."""
    for place in range(max(map(len, ends.larger))):
        at = {side: larger[place] for side, larger in enumerate(ends.larger) if place < len(larger)}
        yield from ({side: one} for side, one in at.items())
        if len(at) > 1:
            yield at


def _of(found: Estimate, ends: Ends, larger: Mapping[int, LargerEnd], usd_per_hour: float) -> Alternative | None:
    """The estimate's numbers of pairs with larger ends: that which costs least with its hours' worth."""
    figures = _with(found.figures, ends, larger)
    if figures is None:
        return None
    hour = sum(one.hour_usd for one in larger.values())

    def priced(row: Row) -> Alternative:
        seconds = seconds_for(found.bytes, row.pairs, figures)
        dollars = _dollars(found.bytes, figures, seconds, row.pairs) + max(hour, 0.0) * seconds / 3600
        names = [f"{one.facts.instance_type} as the {('source', 'destination')[side]}" for side, one in larger.items()]
        pairs = f"{row.pairs} pair{'' if row.pairs == 1 else 's'}" if row.pairs else "no relays"
        return Alternative(
            kind="larger-ends",
            what=f"{' and '.join(names)}, with {pairs}",
            seconds=seconds,
            cost_usd=dollars,
            cost_and_time_usd=0.0,
            note=f"${hour:.4g} more for each hour that the ends run, counted while data moves. At best: by what AWS "
            "publishes of the larger type",
        )

    return min(map(priced, found.rows), key=lambda one: one.cost_usd + cost.worth(one.seconds, usd_per_hour))


def _with(figures: Figures, ends: Ends, larger: Mapping[int, LargerEnd]) -> Figures | None:
    """The figures of larger ends: as many times what their networks and processors move as AWS publishes more."""
    changes: dict[str, Figure] = {}
    names = ("source", "destination")
    internet = ends.through == "internet"
    outward = []
    for side, name in enumerate(names):
        old, new = ends.facts[side], larger[side].facts if side in larger else ends.facts[side]
        if old is None or new is None:
            return None
        outward.append(
            published_limits.outward(new, new.instance_type, between_regions=ends.peerable, internet=internet)
        )
        if side not in larger:
            continue
        before, after = (published_limits.in_all(one, one.instance_type) for one in (old, new))
        known: Figure = getattr(figures, name)
        times = after.now / before.now if before.now else 1.0
        changes[name] = after if known.origin_now == "published" else known.scaled(max(times, 1.0), known.note)
        if processor := getattr(figures, f"{name}_processor"):
            changes[f"{name}_processor"] = processor.scaled(max(new.vcpus / old.vcpus, 1.0), processor.note)
    changed = figures.model_copy(update=changes)
    if figures.direct.origin_now in ("published", "assumed"):
        return changed.model_copy(update={"direct": least(*outward)})
    smallest = min(figures.source.now, figures.destination.now)
    if figures.direct.now >= FULL * smallest:
        times = min(changed.source.now, changed.destination.now) / smallest
        direct = least(figures.direct.scaled(max(times, 1.0), figures.direct.note), *outward)
        return changed.model_copy(update={"direct": direct})
    return changed


def _small(found: Estimate) -> Iterator[Alternative]:
    """For what the direct path has moved before a relay serves: the services that everybody has."""
    direct, figures = found.row(0), found.figures
    if direct.seconds > figures.spawn.now or not figures.direct.now:
        return
    size, gb = found.bytes, found.bytes / 1e9
    egress = cost.egress(size, figures.leaving_gb_usd)
    requests = max(ceil(size / PART_BYTES), figures.entries or 1)
    stored = gb * fallback_prices.BUCKET_GB_MONTH * DAYS_IN_BUCKET / DAYS_A_MONTH
    yield Alternative(
        kind="s3",
        what="copy through a bucket",
        seconds=size / 1e6 / figures.ends + direct.seconds,
        cost_usd=egress + stored + requests * (fallback_prices.OBJECT_PUT + fallback_prices.OBJECT_GET),
        cost_and_time_usd=0.0,
        note="aws s3 cp into a bucket of the source's region and out of it at the destination, kept for a day. At best",
    )
    yield Alternative(
        kind="datasync",
        what="AWS DataSync",
        seconds=direct.seconds,
        cost_usd=egress + gb * fallback_prices.DATASYNC_GB,
        cost_and_time_usd=0.0,
        note=f"${fallback_prices.DATASYNC_GB} per GB beside what leaves the region; needs an agent, and file systems "
        "that it can mount. At best: as the direct path, without the minutes in which a task starts",
    )


def _dollars(size: int, figures: Figures, seconds: float, pairs: int = 0) -> float:
    return row_cost.dollars(size, seconds, pair_uses(pairs, figures), figures, 0.0)[1]
