"""Classes that Java keeps loaded and checked in a file, which saves two thirds of what a daemon computes at its start.

The file is made once for a Java and its class path, from the classes that a first small cluster uses.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from local.hadoop import jars, java
from local.hadoop.cache import once
from local.hadoop.loopback import on_loopback
from local.hadoop.runtime import ALWAYS, Runtime
from local.hadoop.settings import Options

ONE_NODE = Options(replication=1)


def prepare(*more: str) -> Runtime:
    """What runs Hadoop on this machine; fetches and makes what is missing, a minute the first time.

    `more`: sections of jars.lock beside that of HDFS. Raises HadoopMissingError, DigestError.
    """
    found = java.find()
    runtime = Runtime(found, jars.class_path(found, jars.HDFS))
    archive = once(f"classes-{_key(runtime)}.jsa", lambda target: _make(runtime, target))
    options = (f"-XX:SharedArchiveFile={archive}",) if archive.stat().st_size else ()
    # Java takes the file with any class path that begins as the one that it was made with.
    return Runtime(found, (*runtime.jars, *jars.class_path(found, *more)), options)


def _key(runtime: Runtime) -> str:
    """Java does not take the file with other jars than those that it was made with, nor with these elsewhere."""
    parts = [runtime.java.version, str(runtime.java.home), *(f"{jar} {jar.stat().st_mtime_ns}" for jar in runtime.jars)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _make(runtime: Runtime, target: Path) -> None:
    """Write the file; an empty one says that this Java cannot share classes."""
    with tempfile.TemporaryDirectory() as folder:
        used = Path(folder, "used")
        used.mkdir()
        _use(replace(runtime, options=(f"-XX:DumpLoadedClassList={used}/%p",)), Path(folder, "cluster"))
        listed = Path(folder, "classes")
        listed.write_text("".join(f"{name}\n" for name in _names(used.iterdir())), encoding="utf-8")
        made = subprocess.run(
            [
                str(runtime.java.program),
                *ALWAYS,
                "-Xshare:dump",
                f"-XX:SharedClassListFile={listed}",
                f"-XX:SharedArchiveFile={target}",
                *("-cp", ":".join(map(str, runtime.jars))),
            ],
            capture_output=True,
            check=False,
        )
    if made.returncode != 0 or not target.exists():
        target.write_bytes(b"")


def _use(runtime: Runtime, folder: Path) -> None:
    """Have name node, data node and client load what they load in tests."""
    folder.mkdir()
    (folder / "file").write_bytes(bytes(100))
    with on_loopback(runtime, folder, 1, ONE_NODE) as cluster:
        cluster.shell("-put", f"{folder}/file", "/file")
        cluster.shell("-cat", "/file")
        cluster.hdfs("dfsadmin", "-report")


def _names(lists: Iterable[Path]) -> list[str]:
    """Classes and forms of lambdas of several lists, each once; without those of class loaders of a daemon's own."""
    lines = {line: None for path in sorted(lists) for line in path.read_text(encoding="utf-8").splitlines()}
    return [
        line if line.startswith("@") else line.split()[0]
        for line in lines
        if line and not line.startswith("#") and " source: " not in line
    ]
