"""How long the data of a transfer takes, by its figures: expected, at best and at worst, and what limits it."""

from collections.abc import Sequence
from math import inf

from lambdas.core.chunks import plan
from lambdas.core.estimate.figures import Figure, Figures
from lambdas.core.models.zero_wait import Limit, Serving, zero_wait

# Of a limit that the user gave; the machine or the path could do more.
LIMIT_WORDS = "the limit in the request is"
_WORDS = {
    "store": "S3 takes and serves at most",
    "source": "the source machine sends at most",
    "source_disk": "the source's disk reads at most",
    "source_processor": "the source's processors hash and encrypt at most",
    "source_mount": "the mount of the source's file system carries at most",
    "source_file_system": "the source's file system serves at most",
    "destination": "the destination machine receives at most",
    "destination_disk": "the destination's disk writes at most",
    "destination_processor": "the destination's processors decrypt and hash at most",
    "destination_mount": "the mount of the destination's file system carries at most",
    "destination_file_system": "the destination's file system takes at most",
    "files": "files as small as these go at most at",
    "direct": "the direct path carries",
}
# Where there are so many machines at that end.
_WORDS_OF_SEVERAL = {
    "source": "the {} source machines send at most",
    "source_disk": "the disk of the {} source machines reads at most",
    "source_processor": "the processors of the {} source machines hash and encrypt at most",
    "source_mount": "the mounts of the {} source machines carry at most",
    "source_file_system": "the file system of the {} source machines serves at most",
    "destination": "the {} destination machines receive at most",
    "destination_disk": "the disk of the {} destination machines writes at most",
    "destination_processor": "the processors of the {} destination machines decrypt and hash at most",
    "destination_mount": "the mounts of the {} destination machines carry at most",
    "destination_file_system": "the file system of the {} destination machines takes at most",
}
NEAR = 1e-6


def _words(name: str, machines: Sequence[int] | None) -> str:
    """What a figure limits, in words."""
    sides = dict(zip(("source", "destination"), machines or (1, 1), strict=True))
    if name == "direct" and max(sides.values()) > 1:
        return f"the {max(sides.values())} direct paths carry"
    count = sides.get(name.partition("_")[0], 1)
    return _WORDS_OF_SEVERAL[name].format(count) if count > 1 else _WORDS[name]


def seconds_for(
    size_bytes: int,
    pairs: int,
    figures: Figures,
    wait_seconds: float = 0.0,
    gain: float = 0.0,
) -> float:
    """Zero-wait data time and its tail; `wait_seconds`: the pre-test, after which the pairs join; `gain`: by how much
    more than the mean pair they then carry.

    Never more than without relays: what would be late goes by the direct path.
    """
    return seconds_through(size_bytes, pair_servings(pairs, figures, wait_seconds, gain), figures)


def seconds_through(size_bytes: int, relayed: Sequence[Serving], figures: Figures) -> float:
    """The same for any paths beside the direct one."""
    ends, caps = [figure.limit for figure in figures.of_ends.values()], figures.caps
    direct = _serving(figures.direct, 1.0, 0.0)
    alone = zero_wait(size_bytes / 1e6, [direct], *ends, caps=caps)
    if not relayed:
        return alone
    together = zero_wait(size_bytes / 1e6, [direct, *relayed], *ends, caps=caps)
    if together <= relayed[0].joins or together >= alone:
        return min(together, alone)
    return min(together + _tail_seconds(size_bytes, relayed, figures, together), alone)


def _tail_seconds(size_bytes: int, relayed: Sequence[Serving], figures: Figures, seconds: float) -> float:
    """At the end a lane waits half a chunk's time on average for those that are not done; a single one for nobody."""
    if figures.lanes is None:
        return 0.0
    fastest = max(figures.direct.now, *(path.limit.allows(path.credit) for path in relayed))
    planned = plan.lanes_per_path(fastest, size_bytes, files=1) * (1 + len(relayed))
    chunk_seconds = plan.chunk_size(size_bytes, planned, None) * planned * figures.lanes.value * seconds / size_bytes
    return chunk_seconds / 2 * (1 - 1 / planned)


def limit_through(size_bytes: int, seconds: float, relayed: Sequence[Serving], figures: Figures, what: str = "") -> str:
    """What a transfer that takes `seconds` is limited by: the one thing that alone would make it take the longest.

    `relayed`: paths beside the direct one; `what` names them where they are no pairs.
    """
    if relayed and seconds <= relayed[0].joins:
        return f"done before relays serve ({relayed[0].joins:.0f} s)"
    size, paths = size_bytes / 1e6, [_serving(figures.direct, 1.0, 0.0), *relayed]
    longest, words, limits = zero_wait(size, paths, inf), "", [path.limit for path in paths]
    together = sum(limit.allows(limit.credit) for limit in limits)
    for name, figure in figures.of_ends.items():
        alone = zero_wait(size, paths, figure.limit)
        fills = not words and figure.now <= together * (1 + NEAR)
        if fills or alone > longest * (1 + NEAR):
            longest, limits = alone, [figure.limit]
            words = LIMIT_WORDS if figure.is_set_by_request else _words(name, figures.machines)
    caps = [cap for cap in figures.caps if cap.joins < seconds]
    if caps and zero_wait(size, paths, inf, caps=caps) > longest * (1 + NEAR):
        return f"the request's timetable, which lets {min(cap.rate for cap in caps):.1f} MB/s pass at times"
    if not words and relayed:
        # No end is full, so nothing limits them: the paths add up.
        first, rest = (sum(one.allows(one.credit) for one in some) for some in (limits[:1], limits[1:]))
        words = f"paths: {first:.1f} direct + {rest:.1f}{f' by {what}' if what else ''} ="
    elif not words:
        name = "store" if figures.direct.is_set_by_store else "direct"
        words = LIMIT_WORDS if figures.direct.is_set_by_request else _words(name, figures.machines)
    now, lasting = (sum(part) for part in zip(*((one.allows(one.credit), one.rate) for one in limits), strict=True))
    never_ends = [Serving(path.limit.allows(path.credit), path.joins) for path in paths]
    bursts_on = zero_wait(size, never_ends, *(Limit(figure.now) for figure in figures.of_ends.values()))
    if now <= lasting or seconds <= bursts_on * (1 + NEAR):
        return f"{words} {now:.1f} MB/s"
    return f"{words} {now:.1f} MB/s, {lasting:.1f} once credits are used up"


def pair_servings(pairs: int, figures: Figures, wait_seconds: float, gain: float) -> list[Serving]:
    """When each of so many pairs carries what."""
    share = share_of_each(pairs, figures)
    return [
        _serving(
            figures.pair_at(slot),
            share if slot < len(figures.lent) else share * (1 + gain),
            figures.joins(slot) + wait_seconds,
        )
        for slot in range(pairs)
    ]


def _serving(figure: Figure, factor: float, joins: float) -> Serving:
    limit = figure.limit
    return Serving(limit.rate * factor, joins, burst=limit.burst * factor, credit=limit.credit * factor)


def share_of_each(pairs: int, figures: Figures) -> float:
    """What each of the pairs carries, in shares of a single one: p pairs carry 1 + (p - 1)·gain (GEO-DMS, Eq. 5)."""
    return (1 + (pairs - 1) * figures.gain.value) / pairs if pairs and figures.gain else 1.0
