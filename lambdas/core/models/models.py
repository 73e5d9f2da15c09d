"""Time models of cloud parallel transfer; equation and table numbers are those of the dissertation (CPT, UTAR 2019).

Units throughout: MB (10^6 bytes), MB/s, seconds. s: size · p: relay pairs · v_s: disk split and merge · v_i: inside a
datacenter · v_e: between datacenters · T_v: until relays serve · T_pt: pre-test.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import fsum, inf
from types import MappingProxyType
from typing import Literal, Self

from lambdas.core.models.checks import at_least_one, not_negative, positive, positive_or_unlimited
from lambdas.core.models.zero_wait import Serving, zero_wait

# A share of the time. Less than this is lost in the spread between two runs of the same transfer.
LEAST_GAIN = 0.05

ModelName = Literal["sequential", "basic", "pipelined", "piped", "pre-tested", "hdfs", "cut-through", "zero-wait"]


@dataclass(frozen=True)
class Ends:
    """Source and destination machine, MB/s: v_e of the direct path, and what each can move in all (V_src, V_dst)."""

    inter: float
    source: float = inf
    destination: float = inf

    def __post_init__(self) -> None:
        positive("ends.inter", self.inter, "MB/s")
        positive_or_unlimited("ends.source", self.source, "MB/s")
        positive_or_unlimited("ends.destination", self.destination, "MB/s")

    @property
    def rate(self) -> float:
        """What the direct path carries alone, MB/s."""
        return min(self.inter, self.source, self.destination)


@dataclass(frozen=True)
class Pair:
    """Two relays: v_e between them and v_i to the ends, each the smaller of both (Table 4.2), MB/s; T_v in seconds."""

    inter: float
    intra: float = inf
    spawn_seconds: float = 0.0

    def __post_init__(self) -> None:
        positive("pair.inter", self.inter, "MB/s")
        positive_or_unlimited("pair.intra", self.intra, "MB/s")
        not_negative("pair.spawn_seconds", self.spawn_seconds, "seconds")

    @property
    def rate(self) -> float:
        """What the pair carries, MB/s."""
        return min(self.inter, self.intra)


@dataclass(frozen=True)
class Parameters:
    """One transfer as every model sees it: `size` MB, `split` (v_s) MB/s, T_pt, export and import (5.1) in seconds."""

    size: float
    ends: Ends
    pairs: tuple[Pair, ...] = ()
    split: float = inf
    pre_test_seconds: float = 0.0
    export_seconds: float = 0.0
    import_seconds: float = 0.0

    def __post_init__(self) -> None:
        positive("size", self.size, "MB")
        positive_or_unlimited("split", self.split, "MB/s")
        not_negative("pre_test_seconds", self.pre_test_seconds, "seconds")
        not_negative("export_seconds", self.export_seconds, "seconds")
        not_negative("import_seconds", self.import_seconds, "seconds")

    @classmethod
    def uniform(
        cls, size: float, pairs: int, *, inter: float, intra: float, spawn_seconds: float, split: float = inf
    ) -> Self:
        """The published case: ends and `pairs` pairs of one type, so one v_i and one v_e for all (4.2.1)."""
        not_negative("pairs", pairs, "pairs")
        return cls(size, Ends(inter, intra, intra), (Pair(inter, intra, spawn_seconds),) * pairs, split)

    @property
    def spawn_seconds(self) -> float:
        """T_v: until the last pair serves. Raises ValueError without pairs, as all that needs relays."""
        at_least_one("pairs", len(self.pairs))
        return max(pair.spawn_seconds for pair in self.pairs)

    @property
    def distribute_seconds(self) -> float:
        """s/v_i from the source to the relays; v_i is the mean of the relays, or what the source can send."""
        return self.size / min(self.ends.source, self._intra)

    @property
    def transfer_seconds(self) -> float:
        """(s/p)/v_e with the mean v_e of the pairs: s over the sum of their v_e."""
        return self.size / fsum(pair.inter for pair in self.pairs)

    @property
    def consolidate_seconds(self) -> float:
        """s/v_i from the relays to the destination; v_i is the mean of the relays, or what the destination can take."""
        return self.size / min(self.ends.destination, self._intra)

    @property
    def _intra(self) -> float:
        return fsum(pair.intra for pair in self.pairs) / len(self.pairs)


def sequential(parameters: Parameters) -> float:
    """s/v_e of the ends' own types (4.2, Table 5.6), never above what an end can move."""
    return parameters.size / parameters.ends.rate


def general(spawn_seconds: float, distribute: float, transfer: float, consolidate: float) -> float:
    """Eq. 3.1: T_v + T_d + T_e + T_c, seconds."""
    return spawn_seconds + distribute + transfer + consolidate


def basic(parameters: Parameters) -> float:
    """Eq. 3.2: split, distribute, transfer, consolidate and merge one after the other."""
    disk = parameters.size / parameters.split
    return general(
        parameters.spawn_seconds,
        disk + parameters.distribute_seconds,
        parameters.transfer_seconds,
        parameters.consolidate_seconds + disk,
    )


def pipelined(parameters: Parameters) -> float:
    """Eq. 3.3: the split hides behind the spawn, the hops overlap between relays."""
    disk = parameters.size / parameters.split
    return general(
        max(parameters.spawn_seconds, disk),
        parameters.distribute_seconds / len(parameters.pairs),
        parameters.transfer_seconds,
        parameters.consolidate_seconds / len(parameters.pairs) + disk,
    )


def piped(parameters: Parameters) -> float:
    """Eq. 3.4: network data piping, no split and merge on disk."""
    return general(
        parameters.spawn_seconds,
        parameters.distribute_seconds,
        parameters.transfer_seconds,
        parameters.consolidate_seconds,
    )


def pre_tested(parameters: Parameters) -> float:
    """Eq. 4.1: the pre-test, then the piped transfer."""
    return parameters.pre_test_seconds + piped(parameters)


def hdfs(parameters: Parameters) -> float:
    """Eq. 5.1: export, the piped transfer, import."""
    return parameters.export_seconds + piped(parameters) + parameters.import_seconds


def cut_through(parameters: Parameters) -> float:
    """Relays that forward bytes as they come, all of them after T_v, and nothing on the direct path."""
    ends = parameters.ends
    rate = min(ends.source, fsum(pair.rate for pair in parameters.pairs), ends.destination)
    return parameters.spawn_seconds + parameters.size / rate


def joining(parameters: Parameters) -> float:
    """`zero_wait` with the direct path from the first second and each pair from its own T_v; p may be 0."""
    ends = parameters.ends
    relays = [Serving(pair.rate, pair.spawn_seconds) for pair in parameters.pairs]
    return zero_wait(parameters.size, [Serving(ends.inter), *relays], ends.source, ends.destination)


MODELS: Mapping[ModelName, Callable[[Parameters], float]] = MappingProxyType(
    {
        "sequential": sequential,
        "basic": basic,
        "pipelined": pipelined,
        "piped": piped,
        "pre-tested": pre_tested,
        "hdfs": hdfs,
        "cut-through": cut_through,
        "zero-wait": joining,
    }
)


def speedup(sequential_seconds: float, seconds: float) -> float:
    """S = T_seq / T (4.2)."""
    positive("seconds", seconds, "seconds")
    return sequential_seconds / seconds


def piped_gain_threshold(
    size: float, pairs: int, inter: float, spawn_seconds: float, pair_inter: float | None = None
) -> float:
    """The v_i / v_e(ends) above which Eq. 3.4 beats the sequential transfer; infinite where relays never win.

    `inter`: v_e of the ends, `pair_inter`: of one pair where it is another, MB/s.
    """
    positive("size", size, "MB")
    at_least_one("pairs", pairs)
    positive("inter", inter, "MB/s")
    not_negative("spawn_seconds", spawn_seconds, "seconds")
    each = inter if pair_inter is None else pair_inter
    positive("pair_inter", each, "MB/s")
    room = 1 - inter / (pairs * each) - spawn_seconds * inter / size
    return 2 / room if room > 0 else inf
