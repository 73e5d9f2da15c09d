"""Hadoop's DistCp with several maps at once, in one process: no YARN, whose containers would be a JVM for each map.

Hadoop's own local job runner is given one map by whoever makes it, whatever `-m` says, and its folder of work is no
HDFS, on which `-strategy dynamic` relies. Two small classes change that (`side_by_side/`); the runner, DistCp and its
maps are Hadoop's.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from local.hadoop import jars
from local.hadoop.cache import once
from local.hadoop.errors import HadoopError
from local.hadoop.runtime import Runtime
from local.hadoop.shared_classes import prepare

PROGRAM = "org.apache.hadoop.tools.DistCp"
SOURCE = Path(__file__).with_name("side_by_side")
SERVICES = "META-INF"
COMPILER = "org.eclipse.jdt.internal.compiler.batch.Main"
RELEASE = "11"  # of the oldest Java that runs Hadoop here


def prepare_distcp() -> Runtime:
    """What runs DistCp on this machine; fetches and makes what is missing.

    Raises HadoopMissingError, DigestError, and HadoopError where the classes do not compile.
    """
    runtime = prepare(jars.DISTCP)
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(SOURCE.glob("*.java")))).hexdigest()[:12]
    compiler = jars.class_path(runtime.java, jars.COMPILER)
    classes = once(f"side-by-side-{digest}", lambda target: _compile(runtime, compiler, target))
    return replace(runtime, jars=(*runtime.jars, classes))


def side_by_side(maps: int, work: Path) -> tuple[str, ...]:
    """First arguments of DistCp: so many maps run at once, and keep what they need of each other in a folder."""
    return (
        "-Dmapreduce.framework.name=side-by-side",
        f"-Dmapreduce.local.map.tasks.maximum={maps}",
        f"-Dmapreduce.jobtracker.staging.root.dir={work}/staging",
        f"-Dhadoop.tmp.dir={work}",
        "-Dfs.file.impl=cpt.WholeRenames",
    )


def _compile(runtime: Runtime, compiler: Sequence[Path], target: Path) -> None:
    target.mkdir()
    asked = ["-d", str(target), "--release", RELEASE, "-cp", ":".join(map(str, runtime.jars))]
    done = subprocess.run(
        [str(runtime.java.program), jars.NO_FILES, "-cp", ":".join(map(str, compiler)), COMPILER, *asked, *map(str, SOURCE.glob("*.java"))],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise HadoopError(f"{SOURCE.name} does not compile: {done.stderr.strip()[-2000:]}")
    shutil.copytree(SOURCE / SERVICES, target / SERVICES)
