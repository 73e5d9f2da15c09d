"""Times of a copy between two Hadoop clusters: by DistCp, staged as the dissertation does it (5.2, 6.2), and by CPT.

Units: MB (10^6 bytes), MB/s, seconds. N: files · f: size of each · M: map tasks that run at once · w: workers
of the smaller cluster · p: pairs that are launched beside them. What those cost is `cost.relays` with 2p instances.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum, inf
from typing import Literal

from lambdas.core.models.checks import at_least_one, not_negative, positive, positive_or_unlimited
from lambdas.core.models.models import Ends, Pair, Parameters, piped
from lambdas.core.models.zero_wait import Serving, zero_wait

MOST_PAIRS = 10
"""The largest p of Figure 6.9."""

PUBLISHED_MAPS = 7
"""M of the dissertation's clusters of two m4.large (6.2.2)."""
FITTED_MAP_MB_PER_SECOND = 1.55
FITTED_START_SECONDS = 100.0
"""v_map and T_0, which the dissertation does not print: with these most of what it prints of 6.5 to 6.9 holds."""

Middle = Literal["store-and-forward", "zero-wait"]
"""How the middle of the staged mode moves its data: by Equation 3.4, or as CPT does."""


@dataclass(frozen=True)
class DistCp:
    """A DistCp: T_0 seconds for a job that copies nothing, and M maps at once, each with one file at v_map MB/s.

    Raises ValueError for a T_0 below 0, a v_map that is not a finite number above 0, and fewer than one map.
    """

    start_seconds: float
    map_mb_per_second: float
    maps: int

    def __post_init__(self) -> None:
        not_negative("distcp.start_seconds", self.start_seconds, "seconds")
        positive("distcp.map_mb_per_second", self.map_mb_per_second, "MB/s")
        at_least_one("distcp.maps", self.maps)

    def seconds(self, files: int, file_mb: float) -> float:
        """T_0 + ceil(N / M) · f / v_map for `files` files of `file_mb` MB: it steps at M + 1, 2M + 1 files (6.2.2).

        Seconds. Raises ValueError for fewer than one file, and for a size that is not a finite number above 0.
        """
        at_least_one("files", files)
        positive("file_mb", file_mb, "MB")
        rounds = -(-files // self.maps)
        return self.start_seconds + rounds * file_mb / self.map_mb_per_second


@dataclass(frozen=True)
class Stages:
    """The staged mode's parts, one after the other, seconds (Table 5.14): T_E, T_CPT and T_I."""

    export_seconds: float
    transfer_seconds: float
    import_seconds: float

    @property
    def seconds(self) -> float:
        """T_HCPT = T_E + T_CPT + T_I (Eq. 5.1)."""
        return fsum((self.export_seconds, self.transfer_seconds, self.import_seconds))

    @property
    def staging_share(self) -> float:
        """What export and import take of the whole, 0 to 1."""
        return (self.export_seconds + self.import_seconds) / self.seconds


@dataclass(frozen=True)
class Clusters:
    """Two clusters: their name nodes (`ends`), and w pairs of a worker of each, which run already and so have no T_v.

    `export_mb_per_second` (v_x) and `import_mb_per_second` (v_m): what passes between HDFS and the disk of a name node;
    infinity: nothing limits. Raises ValueError without workers, for a worker that has a T_v, and for rates that are not
    above 0.
    """

    ends: Ends
    workers: tuple[Pair, ...]
    export_mb_per_second: float = inf
    import_mb_per_second: float = inf

    def __post_init__(self) -> None:
        at_least_one("clusters.workers", len(self.workers))
        for worker in self.workers:
            if worker.spawn_seconds > 0:
                raise ValueError(f"clusters.workers: {worker.spawn_seconds} s until one serves; workers run already")
        positive_or_unlimited("clusters.export_mb_per_second", self.export_mb_per_second, "MB/s")
        positive_or_unlimited("clusters.import_mb_per_second", self.import_mb_per_second, "MB/s")

    def staged(self, size_mb: float, launched: Sequence[Pair] = (), middle: Middle = "store-and-forward") -> Stages:
        """Eq. 5.1: `size_mb` MB to the name node's disk, by `workers` and `launched` to the other one, and into HDFS.

        Store-and-forward is Eq. 3.4 with w + p pairs, which counts T_v in full behind the export. With zero wait the
        name nodes' own path and the workers carry data from the start, and the pairs boot during the export.
        Raises ValueError for a size that is not a finite number above 0.
        """
        relays = (*self.workers, *launched)
        parameters = Parameters(size_mb, self.ends, relays)
        export = size_mb / self.export_mb_per_second
        if middle == "store-and-forward":
            transfer = piped(parameters)
        else:
            paths = [Serving(pair.rate, max(0.0, pair.spawn_seconds - export)) for pair in relays]
            transfer = zero_wait(size_mb, [Serving(self.ends.inter), *paths], self.ends.source, self.ends.destination)
        return Stages(export, transfer, size_mb / self.import_mb_per_second)

    def streamed(self, size_mb: float, launched: Sequence[Pair] = ()) -> float:
        """Zero wait without staging: the workers read and write HDFS themselves, and `launched` pairs join them.

        Seconds for `size_mb` MB. Neither side moves more than its workers can inside their datacenter. Raises
        ValueError for a size below 0.
        """
        inside = fsum(worker.intra for worker in self.workers)
        return zero_wait(
            size_mb, [Serving(pair.rate, pair.spawn_seconds) for pair in (*self.workers, *launched)], inside, inside
        )


def launched_if_faster(pairs: Sequence[Pair], seconds: Callable[[Sequence[Pair]], float]) -> tuple[Pair, ...]:
    """`pairs` where the forecast is below the one without any, else none, as the Transfer Manager decides (6.2.2).

    `seconds` is the forecast with the pairs it is given, such as one of `Clusters.staged`.
    """
    return tuple(pairs) if seconds(pairs) < seconds(()) else ()


def fewest_pairs(at_most_seconds: float, seconds: Callable[[int], float], most_pairs: int = MOST_PAIRS) -> int | None:
    """Figure 6.9: the smallest p from 0 to `most_pairs` with `seconds(p)` at most `at_most_seconds`, or None.

    Against DistCp, `at_most_seconds` is `DistCp.seconds`. Raises ValueError where either number is below 0.
    """
    not_negative("at_most_seconds", at_most_seconds, "seconds")
    not_negative("most_pairs", most_pairs, "pairs")
    return next((pairs for pairs in range(most_pairs + 1) if seconds(pairs) <= at_most_seconds), None)
