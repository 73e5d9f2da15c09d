"""What the dissertation prints of Figures 6.5 to 6.9, against the model: with a bar where the model can give it.

A row without a bar is what the model cannot give with any of the parameters, or not together with the others; its note
says what is printed.
"""

from itertools import pairwise
from math import nan

from bench.figures.hdfs import (
    CLUSTERS,
    DISTCP,
    DISTCP_OF_MORE,
    FILE_MB,
    FILES,
    M4_LARGE_PAIR,
    MAPS_OF_MORE,
    SMALL_FILE_MB,
    SMALL_FILES,
    added_usd,
    distcp_with_added,
    pairs_to_match,
    staged,
    with_added,
)
from bench.figures.published import M4_LARGE_HOUR, T2_MICRO_HOUR, T2_MICRO_PAIR
from bench.results import Result
from lambdas.core.models.distcp import MOST_PAIRS


def percent_saved(files: int) -> tuple[float, float]:
    """6.8: what two pairs of t2.micro save of the cost of m4.large for the staged mode, and of DistCp's."""
    small = added_usd(files, T2_MICRO_PAIR, T2_MICRO_HOUR)
    others = added_usd(files, M4_LARGE_PAIR, M4_LARGE_HOUR), distcp_with_added(files)[1]
    return 100 * (1 - small / others[0]), 100 * (1 - small / others[1])


def without_added() -> list[Result]:
    """6.5 to 6.7."""
    worst = max(
        staged(count * each) / DISTCP.seconds(count, each)
        for files, each in ((FILES, FILE_MB), (SMALL_FILES, SMALL_FILE_MB))
        for count in files
    )
    step = DISTCP.seconds(8, FILE_MB) / DISTCP.seconds(7, FILE_MB)
    apart = DISTCP.seconds(2, FILE_MB) / staged(2 * FILE_MB)
    few, many = (CLUSTERS.staged(count * FILE_MB).staging_share for count in (2, 12))
    return [
        Result("6.5: staged over DistCp, worst up to 8.2 GB", worst, "x", 1),
        Result("6.5: DistCp with 8 files over 7", step, "x", 1.5, "higher"),
        Result("6.6: DistCp over staged, 2 files", apart, "x", note="printed: equal, but a line through 0 is not"),
        Result("6.7: share of export and import, 12 files over 2", many / few, "x", note="printed: larger"),
    ]


def with_two_more() -> list[Result]:
    """6.8."""
    kinds = (M4_LARGE_PAIR, T2_MICRO_PAIR)
    launched = sum(with_added(count, pair)[1] for count in (2, 4) for pair in kinds)
    wide, small = ([with_added(count, pair)[0] for count in (8, 12, 16)] for pair in kinds)
    distcp = [distcp_with_added(count)[0] for count in (8, 12, 16)]
    over_wide, over_distcp = percent_saved(8)
    off = 100 * abs(small[2] / distcp[2] - 1)
    return [
        Result("6.8: pairs launched for 2 and 4 files", launched, "pairs", 0),
        Result("6.8: t2.micro over m4.large, 8 files, time", small[0] / wide[0], "x", 1.05),
        Result("6.8: saved over staged on m4.large, 8 files", over_wide, "%", 75, "higher"),
        Result("6.8: saved over DistCp, 8 files", over_distcp, "%", 75, "higher"),
        Result("6.8: DistCp's cost over t2.micro's, 8 files", 1 / (1 - over_distcp / 100), "x", 8, "higher"),
        Result("6.8: faster type over DistCp, 12 files", min(wide[1], small[1]) / distcp[1], "x", 1, "higher"),
        Result("6.8: t2.micro off DistCp, 16 files", off, "%", 10),
        Result("6.8: m4.large over DistCp, 16 files", wide[2] / distcp[2], "x", 1, "higher"),
    ]


def pairs_before_the_step() -> dict[int, int]:
    """6.9: p by files, against the DistCp of 6.8 before its first step; files that no p matches are absent."""
    found = {count: pairs_to_match(count, DISTCP_OF_MORE) for count in range(1, MAPS_OF_MORE + 1)}
    return {count: pairs for count, pairs in found.items() if pairs is not None}


def matching() -> list[Result]:
    """6.9."""
    enough = pairs_before_the_step()
    times = [staged(8 * FILE_MB, (T2_MICRO_PAIR,) * pairs) for pairs in range(1, MOST_PAIRS + 1)]
    saved = [more - less for more, less in pairwise(times)]
    unaided = "6.9: p for 8 files against the DistCp of 6.5 (M = 7)"
    most = "6.9: most files that ten pairs match before the step at 15"
    return [
        Result("6.9: p for 8 files against the DistCp of 6.8 (M = 14)", enough[8], "pairs", 2),
        Result(unaided, nan if (p := pairs_to_match(8, DISTCP)) is None else p, "pairs", note="printed: 2"),
        Result(most, max(enough), "files", note="printed: p grows up to the step"),
        Result("6.9: what the 10th pair saves over what the 2nd does", saved[-1] / saved[0], "x", 0.5),
    ]


def outcomes() -> list[Result]:
    """All of them, in the order of the figures."""
    return [*without_added(), *with_two_more(), *matching()]
