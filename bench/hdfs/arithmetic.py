"""What is computed from measured times. Pure; MB are 10^6 bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

DATA_OF_PACKETS = 1448 / 1514
"""Caps count packets; so much of one that leaves for another region over the internet is data."""


def bound_seconds(size_mb: float, caps_mb_s: Sequence[float]) -> float:
    """Seconds that machines with these caps between regions need at least for so many MB, headers included."""
    return size_mb / (sum(caps_mb_s) * DATA_OF_PACKETS)


def rounds_seconds(files: int, maps: int, file_seconds: float) -> float:
    """Seconds of ceil(N / M) rounds, in which `maps` maps copy a file each in `file_seconds`."""
    return -(-files // maps) * file_seconds


def middle(runs: Sequence[float], start_seconds: float = 0.0) -> float:
    """Median of several runs' seconds, without what each takes before and after its data."""
    return median(runs) - start_seconds


def worst_ratio(ours: Mapping[int, float], theirs: Mapping[int, float]) -> tuple[float, int]:
    """The largest of ours over theirs, and the number of files where it is; both have the same numbers."""
    return max((ours[files] / theirs[files], files) for files in ours)


def step(seconds: Mapping[int, float], maps: int) -> float:
    """Time with one file more than there are maps, over that with one for each map."""
    return seconds[maps + 1] / seconds[maps]


def share_of_gain(without: float, with_pairs: float, model_without: float, model_with: float) -> float:
    """Measured gain over the model's: seconds without relays over seconds with them, of both. 1: as the model says."""
    return (without / with_pairs) / (model_without / model_with)


def files_a_second(calls_a_second: float, calls_a_file: float) -> float:
    """Most small files that a name node takes in a second, which answers so many calls in one."""
    return calls_a_second / calls_a_file
