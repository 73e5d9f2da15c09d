"""DistCp's time beside the rows of an estimate between two HDFS ends: what it follows from, and who says so."""

from collections.abc import Sequence
from math import ceil

from lambdas.core.estimate import measured
from lambdas.core.estimate.figures import Figure, Figures, Origin
from lambdas.core.estimate.profile import Profile
from lambdas.core.estimate.rows import Row
from lambdas.core.models.distcp import (
    FITTED_MAP_MB_PER_SECOND,
    FITTED_START_SECONDS,
    PUBLISHED_MAPS,
    DistCp,
)
from lambdas.core.request.distcp_request import DistCpRequest
from lambdas.core.words import duration, many, size

FIELDS = ("distcp", "distcp_maps", "distcp_map_rate", "distcp_start")
"""Those of the figures that are DistCp's."""
_BEST_KNOWN_FIRST: tuple[Origin, ...] = ("measured", "configured", "published", "assumed")
_FITTED = "fitted to Figures 6.5 to 6.9 of the dissertation, which prints none"


def figures(
    asked: DistCpRequest | None, files: int, size_bytes: int, workers: int, shown: Profile | None
) -> dict[str, Figure]:
    """T_0 + ⌈N/M⌉·f/v_map for `files` files (N) of equal size (f), and M, v_map and T_0, by the fields of `Figures`.

    Each of the three is the request's; else v_map is learnt from `shown`, what the workers' own paths carried in
    earlier transfers; else it is the dissertation's. `workers`: those of the smaller cluster. Raises ValueError for
    fewer than one file, worker or byte.
    """
    given = asked or DistCpRequest()
    maps = _given(given.maps, "maps") or Figure(
        value=PUBLISHED_MAPS,
        origin="published",
        note="map tasks at once on two workers of m4.large (dissertation, 6.2.2)",
    )
    at_once = min(files, round(maps.value))
    map_rate = (
        _given(given.map_rate, "mapMBps")
        or _learnt(shown, at_once, workers)
        or Figure(value=FITTED_MAP_MB_PER_SECOND, origin="assumed", note=_FITTED)
    )
    start = _given(given.start_seconds, "startSeconds") or Figure(
        value=FITTED_START_SECONDS, origin="assumed", note=_FITTED
    )
    file_mb = size_bytes / 1e6 / files
    seconds = DistCp(start.value, map_rate.value, round(maps.value)).seconds(files, file_mb)
    rounds = ceil(files / maps.value)
    note = (
        f"{many(files, 'file')} of {size(size_bytes / files)} in {many(rounds, 'round')} of {many(at_once, 'map task')}"
    )
    least_known = max((one.origin for one in (maps, map_rate, start)), key=_BEST_KNOWN_FIRST.index)
    whole = Figure(value=round(seconds, 3), origin=least_known, note=note)
    return dict(zip(FIELDS, (whole, maps, map_rate, start), strict=True))


def most_seconds(found: Figures) -> float:
    """What a row is to take at most to be as fast as DistCp, s; 0 where nothing is known of it, so the fastest wins."""
    return found.distcp.value if found.distcp else 0.0


def after(found: Figures, elapsed_seconds: float) -> Figures:
    """The figures for what is left of a transfer that began so long ago: DistCp would have begun with it."""
    if found.distcp is None:
        return found
    left = max(found.distcp.value - elapsed_seconds, 0.0)
    return found.model_copy(update={"distcp": found.distcp.model_copy(update={"value": left})})


def kept(before: Figures) -> dict[str, Figure | None]:
    """DistCp's figures of an earlier estimate of the same transfer, where nobody counts its files again."""
    return {name: getattr(before, name) for name in FIELDS}


def note(rows: Sequence[Row], found: Figures) -> list[str]:
    """For people: how long DistCp takes, and the fewest pairs with which a row takes at most that long."""
    if found.distcp is None:
        return []
    enough = [row for row in rows if row.expected_seconds <= found.distcp.value]
    route = found.route
    if not enough:
        which = "no row takes at most as long"
    elif not (fewest := min(row.pairs for row in enough)):
        which = f"no {route.unit} is needed to take at most as long"
    else:
        which = f"{route.are(fewest, 'is the fewest that takes', 'are the fewest that take')} at most as long"
    return [f"DistCp would take {duration(found.distcp.value)}, {found.distcp.told}; {which}"]


def _given(value: float | None, key: str) -> Figure | None:
    return None if value is None else Figure(value=value, origin="configured", note=f"$.distcp.{key}")


def _learnt(shown: Profile | None, at_once: int, workers: int) -> Figure | None:
    """v_map where the map tasks share what the workers' own paths carry; no task has more than one worker's path."""
    paths = measured.figure(shown, "direct", "the workers' own paths")
    if paths is None or not paths.value:
        return None
    sharing = max(at_once, workers)
    told = f"{paths.value:.4g} MB/s of {paths.note}, shared by {sharing}"
    return Figure(value=paths.value / sharing, origin=paths.origin, note=told)
