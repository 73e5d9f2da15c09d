"""Figures 6.6 and 6.7, measured: export, transfer and import of the staged mode, one after the other, beside DistCp.

Whoever has a staged mode gives a function; `by_hand` does the dissertation's steps with Hadoop's own shell on the name
nodes, and a transfer between these with the workers as relays.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.hdfs.site import REPLICATION, Site
from bench.results import Result, say
from lambdas.core.models.distcp import Stages

Staged = Callable[[Site, Sequence[str]], Stages]
"""Copies these paths of the source to the destination by way of the disks of the name nodes, and says how long each
part took, seconds. Raises BenchError.
"""


@dataclass(frozen=True)
class Timeline:
    """The parts of one staged copy, and seconds of DistCp and of CPT without staging for the same files."""

    files: int
    stages: Stages
    distcp: dict[str, float]
    streamed: float

    def document(self) -> dict[str, Any]:
        """What is kept."""
        return asdict(self)


def measure(site: Site, paths: Sequence[str], distcp: dict[str, Sequence[str]], staged: Staged) -> Timeline:
    """One timeline. Raises BenchError."""
    stages = staged(site, paths)
    beside = {tool: site.distcp(paths, "beside", options).seconds for tool, options in distcp.items()}
    found = Timeline(len(paths), stages, beside, site.ours(paths, "streamed").seconds)
    say(f"  {found}")
    return found


def verdicts(few: Timeline, many: Timeline) -> list[Result]:
    """What is printed of both figures, and what streaming saves."""
    note = f"{few.stages.staging_share:.2f} with {few.files}, {many.stages.staging_share:.2f} with {many.files} files"
    rows = [Result("6.7: share of export and import, more files over few", _shares(few, many), "x", note=note)]
    for line in (few, many):
        whole = line.stages.seconds
        for tool, seconds in line.distcp.items():
            note = f"{whole:.1f} s, {seconds:.1f} s"
            rows.append(Result(f"6.6: {line.files} files, staged over {tool}", whole / seconds, "x", note=note))
        note = f"{line.streamed:.1f} s without staging, {whole:.1f} s"
        rows.append(Result(f"6.6: {line.files} files, streamed over staged", line.streamed / whole, "x", 1, note=note))
    return rows


def by_hand(site: Site, paths: Sequence[str]) -> Stages:
    """`hdfs dfs -get` on one name node, a transfer to the other one, and `hdfs dfs -put` there."""
    there, here = (Path(site.account.work, "staging", name) for name in ("source", "destination"))
    for folder in (there, here):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    try:
        target = site.target("staged")
        export = _shell(site, "source", "-get", *paths, str(there))
        run = site.staged_transfer(there, here)
        put = (f"-Ddfs.replication={REPLICATION}", "-put", "-f")
        came = [str(here / there.name / Path(path).name) for path in paths]
        imported = _shell(site, "destination", *put, *came, target)
        site.compare(paths, target)
    finally:
        for folder in (there, here):
            shutil.rmtree(folder, ignore_errors=True)
    return Stages(export, run, imported)


def _shell(site: Site, side: str, *words: str) -> float:
    """Seconds of `hdfs dfs WORDS` on the name node of a side."""
    hadoop = getattr(site, side).hadoop
    began = time.monotonic()
    hadoop.shell(*words)
    return time.monotonic() - began


def _shares(few: Timeline, many: Timeline) -> float:
    return many.stages.staging_share / few.stages.staging_share
