"""Hadoop's DistCp with several maps at once, in one process: no YARN, whose containers would be a JVM for each map.

Hadoop's own local job runner is given one map by whoever makes it, whatever `-m` says, and its folder of work is no
HDFS, on which `-strategy dynamic` relies. Two small classes change that (`side_by_side/`); the runner, DistCp and its
maps are Hadoop's.
"""

from __future__ import annotations

from pathlib import Path

from local.hadoop import jars
from local.hadoop.compiled import with_classes
from local.hadoop.runtime import Runtime
from local.hadoop.shared_classes import prepare

PROGRAM = "org.apache.hadoop.tools.DistCp"
SOURCE = Path(__file__).with_name("side_by_side")


def prepare_distcp() -> Runtime:
    """What runs DistCp on this machine; fetches and makes what is missing.

    Raises HadoopMissingError, DigestError, and HadoopError where the classes do not compile.
    """
    return with_classes(prepare(jars.DISTCP), SOURCE)


def side_by_side(maps: int, work: Path) -> tuple[str, ...]:
    """First arguments of DistCp: so many maps run at once, and keep what they need of each other in a folder."""
    return (
        "-Dmapreduce.framework.name=side-by-side",
        f"-Dmapreduce.local.map.tasks.maximum={maps}",
        f"-Dmapreduce.jobtracker.staging.root.dir={work}/staging",
        f"-Dhadoop.tmp.dir={work}",
        "-Dfs.file.impl=cpt.WholeRenames",
    )
