"""One staged copy from HDFS to HDFS, as the dissertation makes it (5.2, Figure 5.2): steps 1 to 5, each timed.

Steps A and B, what is launched and ended, are those of the transfer in the middle.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.hdfs.staged_job import Bundle, StagedJob, StagingError, Step, refuse_without_room, sizes_of
from bench.hdfs.staged_side import READ_BACK, Side
from lambdas.core.models.distcp import Stages

Move = Callable[[str, Path], dict[str, Any]]
"""Moves a path of the source's name node into a folder of the destination's; returns its report. Where it raises,
nothing of it works on any more."""


@dataclass(frozen=True)
class Span:
    """A step, from and to seconds after the copy began."""

    step: Step
    begin: float
    end: float


@dataclass(frozen=True)
class Measured:
    """A copy that succeeded: its steps, how much it was, and the report of the transfer in the middle."""

    spans: tuple[Span, ...]
    data_bytes: int
    files: int
    bundle: Bundle
    report: dict[str, Any] = field(repr=False)

    @property
    def stages(self) -> Stages:
        """Export, transfer and import, seconds, as Equation 5.1 adds them; tar belongs to the first and the last."""
        taken = {span.step: span.end - span.begin for span in self.spans}
        return Stages(
            export_seconds=taken["export"] + taken.get("bundle", 0.0),
            transfer_seconds=taken["transfer"],
            import_seconds=taken.get("unbundle", 0.0) + taken["import"],
        )


def copy_staged(
    job: StagedJob, source: Side, destination: Side, move: Move, told: Callable[[Step], None] = lambda step: None
) -> Measured:
    """Copy by way of both name nodes' file systems, and compare what the destination's HDFS gives back.

    `told` hears of each step before it begins. Both staging folders are gone afterwards, however this ends. Raises
    StagingError, or what `move` raises.
    """
    spans: list[Span] = []
    began = time.monotonic()

    @contextmanager
    def step(name: Step) -> Iterator[None]:
        told(name)
        begin = time.monotonic() - began
        yield
        spans.append(Span(name, begin, time.monotonic() - began))

    with source.staged(), destination.staged():
        sizes = sizes_of(source.shell("-ls", "-R", *job.paths))
        if not sizes:
            raise StagingError(f"source: {', '.join(job.paths)} holds no file; name a path that does")
        is_bundled = job.is_bundled(sizes)
        for side in (source, destination):
            refuse_without_room(side.name, side.staging, side.free_bytes(), sum(sizes), is_bundled=is_bundled)
        began = time.monotonic()
        with step("export"):
            source.shell("-get", *job.paths, str(source.tree))
        if is_bundled:
            with step("bundle"):
                source.bundle()
        with step("transfer"):
            if is_bundled:
                report = move(str(source.tar), destination.staging)
            else:
                report = move(f"{source.tree}/", destination.tree)
        if is_bundled:
            with step("unbundle"):
                destination.unbundle()
        with step("import"):
            names = [str(path) for path in sorted(destination.tree.iterdir())]
            destination.shell("-mkdir", "-p", job.into)
            destination.shell("-D", f"dfs.replication={job.replication}", "-put", "-f", *names, job.into)
        told("verify")
        _compare(job, source, destination)
    return Measured(tuple(spans), sum(sizes), len(sizes), "tar" if is_bundled else "never", report)


def _compare(job: StagedJob, source: Side, destination: Side) -> None:
    """Whether the destination's HDFS gives back what came out of the source's. Raises StagingError."""
    names = [path.name for path in sorted(destination.tree.iterdir())]
    # Room was checked for one tree.
    shutil.rmtree(destination.tree)
    back = destination.staging / READ_BACK
    back.mkdir()
    destination.shell("-get", *(f"{job.into.rstrip('/')}/{name}" for name in names), str(back))
    sent, got = source.digests(source.tree), destination.digests(back)
    if sent != got:
        differ = sorted(path for path in sent.keys() | got.keys() if sent.get(path) != got.get(path))
        raise StagingError(f"destination: {job.into} gives back other bytes of {', '.join(differ[:5])}; copy it again")
