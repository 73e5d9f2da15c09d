"""Small classes of Java beside Hadoop's, compiled once by the compiler of the lock file."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from local.hadoop import jars
from local.hadoop.cache import once
from local.hadoop.errors import HadoopError
from local.hadoop.runtime import Runtime

SERVICES = "META-INF"
COMPILER = "org.eclipse.jdt.internal.compiler.batch.Main"
RELEASE = "11"  # of the oldest Java that runs Hadoop here


def with_classes(runtime: Runtime, folder: Path) -> Runtime:
    """The runtime with the classes of a folder of sources, and what it has in META-INF.

    Raises HadoopMissingError, DigestError, and HadoopError where they do not compile.
    """
    sources = sorted(folder.glob("*.java"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    [compiler] = jars.class_path(runtime.java, jars.COMPILER)
    classes = once(f"{folder.name}-{digest}", lambda target: _compile(runtime, compiler, folder, target))
    return replace(runtime, jars=(*runtime.jars, classes))


def _compile(runtime: Runtime, compiler: Path, folder: Path, target: Path) -> None:
    target.mkdir()
    sources = map(str, sorted(folder.glob("*.java")))
    asked = ["-d", str(target), "--release", RELEASE, "-cp", ":".join(map(str, runtime.jars))]
    done = subprocess.run(
        [str(runtime.java.program), jars.NO_FILES, "-cp", str(compiler), COMPILER, *asked, *sources],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise HadoopError(f"{folder.name} does not compile: {done.stderr.strip()[-2000:]}")
    if (folder / SERVICES).is_dir():
        shutil.copytree(folder / SERVICES, target / SERVICES)
