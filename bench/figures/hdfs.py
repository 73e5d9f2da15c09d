"""Figures 6.5 to 6.9 as model: DistCp beside the staged mode, and beside CPT without staging.

The dissertation prints no T_0, v_map, v_x and v_m, and no v_e and T_v of m4.large. Those here are fitted: with them
most of what it prints of these figures holds at once. `hdfs_outcomes.py` has what does and what cannot.
"""

from collections.abc import Callable, Sequence

from bench.figures.published import M4_LARGE_HOUR, M4_LARGE_INTRA, T2_MICRO_HOUR, T2_MICRO_PAIR
from bench.plots import BLACK, BLUE, GREEN, ORANGE, Curve, Panel, Plot
from lambdas.core.models.distcp import (
    FITTED_MAP_MB_PER_SECOND,
    FITTED_START_SECONDS,
    PUBLISHED_MAPS,
    Clusters,
    DistCp,
    Stages,
    fewest_pairs,
    launched_if_faster,
)
from lambdas.core.models.models import Ends, Pair
from lambdas.core.tariff import cost

M4_LARGE_INTER = 11.0
"""Fitted, MB/s, as the next five."""
STAGING_RATE = 60.0
MAP_RATE = FITTED_MAP_MB_PER_SECOND
START_SECONDS = FITTED_START_SECONDS
M4_LARGE_PAIR = Pair(M4_LARGE_INTER, M4_LARGE_INTRA, T2_MICRO_PAIR.spawn_seconds)
MAPS_OF_MORE = 14
"""M with two workers more in each cluster: in proportion to their number."""

MAPS = PUBLISHED_MAPS
FILE_MB = 512.0
SMALL_FILE_MB = 256.0
ADDED = 2
FILES = range(1, 17)
SMALL_FILES = range(1, 33)
NAMED = (2, 4, 8, 12, 16)
TO_TWO_STEPS = range(1, 22)

DISTCP = DistCp(START_SECONDS, MAP_RATE, MAPS)
DISTCP_OF_MORE = DistCp(START_SECONDS, MAP_RATE, MAPS_OF_MORE)
CLUSTERS = Clusters(
    Ends(M4_LARGE_INTER, M4_LARGE_INTRA, M4_LARGE_INTRA),
    (Pair(M4_LARGE_INTER, M4_LARGE_INTRA),) * 2,
    STAGING_RATE,
    STAGING_RATE,
)

GIVEN = (
    "m4.large: v_i = 74.1 MB/s, $0.1000 per hour; t2.micro: v_i = 74.4 (beside m4.large), v_e = 13.4 MB/s, T_v = 83 s, "
    "$0.0116 per hour; w = 2, M = 7"
)
FITTED = (
    "fitted: m4.large v_e = 11 MB/s, T_v = 83 s; v_x = v_m = 60, v_map = 1.55 MB/s, T_0 = 100 s, M = 14 with 2 more"
)
CAPTION = f"{GIVEN}; {FITTED}"

Launched = tuple[Pair, ...]


def staged(size_mb: float, launched: Sequence[Pair] = ()) -> float:
    """T_HCPT, seconds, as the dissertation moves its data."""
    return CLUSTERS.staged(size_mb, launched).seconds


def staged_zero_wait(size_mb: float, launched: Sequence[Pair] = ()) -> float:
    """T_HCPT, seconds, with zero wait in the middle."""
    return CLUSTERS.staged(size_mb, launched, "zero-wait").seconds


MODES: dict[str, tuple[Callable[..., float], str]] = {
    "staged": (staged, ORANGE),
    "staged, zero wait": (staged_zero_wait, BLUE),
    "CPT": (CLUSTERS.streamed, GREEN),
}


def with_added(files: int, pair: Pair, mode: Callable[..., float] = staged) -> tuple[float, int]:
    """6.8: seconds with two pairs where the forecast says that they pay, and how many were launched."""
    size = files * FILE_MB
    launched = launched_if_faster((pair,) * ADDED, lambda pairs: mode(size, pairs))
    return mode(size, launched), len(launched)


def added_usd(files: int, pair: Pair, hour_usd: float, mode: Callable[..., float] = staged) -> float:
    """6.8: dollars for what is launched alone; 2p instances for the whole time."""
    seconds, pairs = with_added(files, pair, mode)
    return cost.relays(2 * pairs, seconds, hour_usd)


def distcp_with_added(files: int) -> tuple[float, float]:
    """6.8: seconds of DistCp, and dollars for two m4.large more in each cluster where they shorten it."""
    alone, more = DISTCP.seconds(files, FILE_MB), DISTCP_OF_MORE.seconds(files, FILE_MB)
    return (more, cost.relays(2 * ADDED, more, M4_LARGE_HOUR)) if more < alone else (alone, 0.0)


def pairs_to_match(files: int, distcp: DistCp, mode: Callable[..., float] = staged) -> int | None:
    """6.9: the smallest p, at most 10, of t2.micro with which `mode` is no slower than `distcp`."""
    size = files * FILE_MB
    return fewest_pairs(distcp.seconds(files, FILE_MB), lambda pairs: mode(size, (T2_MICRO_PAIR,) * pairs))


def figure_6_5() -> Plot:
    """Time over total size without added nodes, for both sizes of files."""
    panels = []
    for file_mb, files in ((FILE_MB, FILES), (SMALL_FILE_MB, SMALL_FILES)):
        size = [count * file_mb for count in files]
        gb = [one / 1000 for one in size]
        curves = [Curve("DistCp", gb, [DISTCP.seconds(count, file_mb) for count in files], BLACK, "o-")]
        curves += [Curve(name, gb, [mode(one) for one in size], colour) for name, (mode, colour) in MODES.items()]
        panels.append(Panel(f"files of {file_mb:.0f} MB", "size, GB", "seconds", curves))
    return Plot("6.5", "Time without added nodes", panels, CAPTION)


def timeline(number: str, files: int) -> Plot:
    """6.6 and 6.7: export, transfer and import of so many files, DistCp below them."""
    panels = []
    size = files * FILE_MB
    stages_of: dict[str, Stages] = {
        "Dissertation: staged": CLUSTERS.staged(size),
        "Zero wait in the middle": CLUSTERS.staged(size, middle="zero-wait"),
    }
    names = ("DistCp", "import", "transfer", "export")
    for title, stages in stages_of.items():
        exported = stages.export_seconds
        moved = exported + stages.transfer_seconds
        spans = ((0.0, DISTCP.seconds(files, FILE_MB)), (moved, stages.seconds), (exported, moved), (0.0, exported))
        colours = (BLACK, GREEN, ORANGE, BLUE)
        curves = [
            Curve(name, span, (row, row), colour, width=10)
            for row, (name, span, colour) in enumerate(zip(names, spans, colours, strict=True))
        ]
        panels.append(Panel(title, "seconds", "", curves, names))
    return Plot(number, f"Timeline of {files} × 512 MB", panels, CAPTION)


def figure_6_8() -> Plot:
    """Time and cost with two more nodes in each cluster, or two pairs."""
    relays = {
        "two pairs of m4.large": (M4_LARGE_PAIR, M4_LARGE_HOUR, "s--"),
        "two pairs of t2.micro": (T2_MICRO_PAIR, T2_MICRO_HOUR, "^-"),
    }
    times = [Curve("DistCp, two m4.large more", NAMED, [distcp_with_added(count)[0] for count in NAMED], BLACK, "o-")]
    costs = [Curve("DistCp, two m4.large more", NAMED, [distcp_with_added(count)[1] for count in NAMED], BLACK, "o-")]
    for name, (mode, colour) in (("staged", MODES["staged"]), ("CPT", MODES["CPT"])):
        for kind, (pair, hour, style) in relays.items():
            label = f"{name}, {kind}"
            times.append(Curve(label, NAMED, [with_added(count, pair, mode)[0] for count in NAMED], colour, style))
            costs.append(Curve(label, NAMED, [added_usd(count, pair, hour, mode) for count in NAMED], colour, style))
    panels = [
        Panel("time", "files of 512 MB", "seconds", times),
        Panel("cost of what is launched", "files of 512 MB", "dollars", costs),
    ]
    return Plot("6.8", "Two pairs more", panels, CAPTION)


def figure_6_9() -> Plot:
    """The smallest p that keeps up with DistCp, and the times with it; gaps where ten pairs do not."""
    numbers, times = [], []
    for tool, distcp, style in (("M = 7", DISTCP, "s--"), ("M = 14", DISTCP_OF_MORE, "o-")):
        bound = [distcp.seconds(count, FILE_MB) for count in TO_TWO_STEPS]
        times.append(Curve(f"DistCp, {tool}", TO_TWO_STEPS, bound, BLACK, style))
        for name in ("staged", "staged, zero wait"):
            mode, colour = MODES[name]
            found = [pairs_to_match(count, distcp, mode) for count in TO_TWO_STEPS]
            taken = [
                None if pairs is None else mode(count * FILE_MB, (T2_MICRO_PAIR,) * pairs)
                for count, pairs in zip(TO_TWO_STEPS, found, strict=True)
            ]
            label = f"{name}, against {tool}"
            numbers.append(Curve(label, TO_TWO_STEPS, found, colour, style))
            times.append(Curve(label, TO_TWO_STEPS, taken, colour, style))
    panels = [
        Panel("pairs of t2.micro", "files of 512 MB", "p", numbers),
        Panel("time with them", "files of 512 MB", "seconds", times),
    ]
    return Plot("6.9", "Pairs to match DistCp", panels, CAPTION)


def hdfs_figures() -> list[Plot]:
    """Figures 6.5 to 6.9, in order."""
    return [figure_6_5(), timeline("6.6", 2), timeline("6.7", 12), figure_6_8(), figure_6_9()]
