"""Writes jars.lock anew, for another version of Hadoop: `python -m local.hadoop.relock VERSION`.

Maven resolves everything that HDFS, DistCp and YARN need; the versions are those of that one resolution. What HDFS
alone needs is the first section, the rest the second one, and the compiler of `side_by_side` the third one. Read what
changed before you commit it: digests are those of what was fetched.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from local.hadoop import java
from local.hadoop.jars import COMPILER, DISTCP, HDFS, LOCK, Jar, maven, pom

HADOOP = "org.apache.hadoop"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
# hadoop-common is a provided dependency of the servers: it has to be named.
OF_HDFS = ("hadoop-hdfs", "hadoop-common", "hadoop-hdfs-client")
OF_DISTCP = (
    "hadoop-distcp",
    "hadoop-mapreduce-client-jobclient",
    "hadoop-mapreduce-client-app",
    "hadoop-mapreduce-client-shuffle",
    "hadoop-yarn-server-resourcemanager",
    "hadoop-yarn-server-nodemanager",
    "hadoop-yarn-server-timelineservice",
)
# Nobody declares it, and the resource manager's proxy needs it.
BESIDE = ("org.bouncycastle:bcpkix-jdk18on:1.82",)
# It compiles the two classes of ours; 3.32 is the last one that a Java 11 runs.
OF_COMPILER = ("org.eclipse.jdt:ecj:3.32.0",)
# netty-all brings protocols that Hadoop does not speak, and native code of other systems.
NETTY = {"buffer", "codec", "codec-http", "common", "handler", "resolver", "transport", "transport-native-unix-common"}
HEAD = """# The jars of a Hadoop, one a line: group:artifact:version[:classifier] sha256. Written by
#     python -m local.hadoop.relock {version}
# [hdfs]: name node, data nodes, and their clients. [distcp]: what DistCp, its local job runner and YARN need besides.
# [compiler]: of Java; it is no part of what runs.
"""


def main(version: str) -> None:
    """Resolve, fetch, and write the lock file."""
    with tempfile.TemporaryDirectory() as folder:
        alone = _resolved(Path(folder), [f"{HADOOP}:{name}:{version}" for name in OF_HDFS])
        roots = [*(f"{HADOOP}:{name}:{version}" for name in (*OF_HDFS, *OF_DISTCP)), *BESIDE]
        jars = [jar for jar in _resolved(Path(folder), roots) if _is_needed(jar)]
        compiler = _resolved(Path(folder), OF_COMPILER)
    names = {(jar.group, jar.artifact) for jar in alone}
    sections: dict[str, list[Jar]] = {HDFS: [], DISTCP: [], COMPILER: compiler}
    for jar in jars:
        sections[HDFS if (jar.group, jar.artifact) in names else DISTCP].append(jar)
    text = "\n".join("\n".join([f"[{name}]", *map(str, found), ""]) for name, found in sections.items())
    LOCK.write_text(HEAD.format(version=version) + text, encoding="utf-8")


def _resolved(folder: Path, roots: Iterable[str]) -> list[Jar]:
    """What Maven finds that these need, with them, in the order of their names."""
    dependencies = (
        "<groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>".format(*root.split(":"))
        for root in roots
    )
    (folder / "pom.xml").write_text(pom(dependencies), encoding="utf-8")
    listed = folder / "listed.txt"
    maven(
        java.find(),
        folder,
        *(
            f"{PLUGIN}:list",
            "-DincludeScope=runtime",
            f"-DoutputFile={listed}",
            "-DoutputAbsoluteArtifactFilename=true",
        ),
    )
    line = re.compile(
        r"^\s+([\w.-]+):([\w.-]+):jar:(?:([\w.-]+):)?([\w.-]+):(?:compile|runtime):(\S+\.jar)", re.MULTILINE
    )
    found = [
        Jar(group, artifact, version, classifier, hashlib.sha256(Path(file).read_bytes()).hexdigest())
        for group, artifact, classifier, version, file in line.findall(listed.read_text(encoding="utf-8"))
    ]
    return sorted(found, key=str)


def _is_needed(jar: Jar) -> bool:
    return jar.group != "io.netty" or (jar.artifact.removeprefix("netty-") in NETTY and not jar.classifier)


if __name__ == "__main__":
    main(sys.argv[1])
