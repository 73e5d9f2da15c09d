"""Time models of cloud parallel transfer.

Units throughout: MB (10^6 bytes), MB/s, seconds. Equation numbers are those of the dissertation (CPT, UTAR 2019).
s: size · p: relay pairs · v_s: disk split/merge · v_i: inside a datacenter · v_e: between datacenters · T_v: until
relays serve.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class Rates:
    """v_s, v_i, v_e in MB/s and T_v in seconds."""

    split: float
    intra: float
    inter: float
    spawn_seconds: float


def sequential(size: float, inter: float) -> float:
    """4.2: one stream of the ends' own v_e."""
    return size / inter


def basic(size: float, pairs: int, rates: Rates) -> float:
    """Eq. 3.2: split, distribute, transfer, consolidate and merge one after the other."""
    return (
        rates.spawn_seconds
        + size / rates.split
        + size / rates.intra
        + size / pairs / rates.inter
        + size / rates.intra
        + size / rates.split
    )


def pipelined(size: float, pairs: int, rates: Rates) -> float:
    """Eq. 3.3: the split hides behind the spawn, the hops overlap between relays."""
    share = size / pairs
    return (
        max(rates.spawn_seconds, size / rates.split)
        + share / rates.intra
        + share / rates.inter
        + share / rates.intra
        + size / rates.split
    )


def piped(size: float, pairs: int, rates: Rates) -> float:
    """Eq. 3.4: network data piping, no split and merge on disk."""
    return rates.spawn_seconds + 2 * size / rates.intra + size / pairs / rates.inter


def cut_through(
    size: float, pairs: int, inter: float, source: float, destination: float, spawn_seconds: float
) -> float:
    """Relays that forward bytes as they come; `source`, `destination`: what the ends can move in all (MB/s)."""
    return spawn_seconds + max(size / source, size / pairs / inter, size / destination)


def with_pre_test(seconds: float, pre_test_seconds: float) -> float:
    """Eq. 4.1."""
    return pre_test_seconds + seconds


def piped_gain_threshold(size: float, pairs: int, inter: float, spawn_seconds: float) -> float:
    """The v_i / v_e above which Eq. 3.4 beats the sequential transfer; infinite where relays never win."""
    room = 1 - 1 / pairs - spawn_seconds * inter / size
    return 2 / room if room > 0 else inf


@dataclass(frozen=True)
class Serving:
    """A path that carries up to `rate` MB/s from `joins` to `leaves` (seconds after the start)."""

    rate: float
    joins: float = 0.0
    leaves: float = inf


def rate_at(second: float, paths: Iterable[Serving], source: float, destination: float) -> float:
    """Zero-wait rate: the joined paths together, held by what either end can move."""
    return min(source, destination, sum(path.rate for path in paths if path.joins <= second < path.leaves))


def zero_wait(size: float, paths: Iterable[Serving], source: float, destination: float) -> float:
    """The t at which the integral of the rate reaches `size`; infinite if it never does.

    Exact for any schedule: the rate is constant between two joins or leaves.
    """
    paths = list(paths)
    changes = sorted({0.0, *(t for path in paths for t in (path.joins, path.leaves) if 0 < t < inf)})
    left = size
    for start, end in zip(changes, [*changes[1:], inf], strict=True):
        rate = rate_at(start, paths, source, destination)
        if rate > 0 and left <= rate * (end - start):
            return start + left / rate
        if rate > 0:
            left -= rate * (end - start)
    return inf if left > 0 else 0.0
