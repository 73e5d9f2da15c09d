"""Command lines of Hadoop's programs."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from local.hadoop.java import Java

NAME_NODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
HA_ADMIN = "org.apache.hadoop.hdfs.tools.DFSHAAdmin"
DATA_NODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
TOOLS = {
    "crypto": "org.apache.hadoop.hdfs.tools.CryptoAdmin",
    "dfs": "org.apache.hadoop.fs.FsShell",
    "dfsadmin": "org.apache.hadoop.hdfs.tools.DFSAdmin",
    "ec": "org.apache.hadoop.hdfs.tools.ECAdmin",
    "fetchdt": "org.apache.hadoop.hdfs.tools.DelegationTokenFetcher",
    "fsck": "org.apache.hadoop.hdfs.tools.DFSck",
    "getconf": "org.apache.hadoop.hdfs.tools.GetConf",
    "key": "org.apache.hadoop.crypto.key.KeyShell",
    "lsSnapshottableDir": "org.apache.hadoop.hdfs.tools.snapshot.LsSnapshottableDir",
    "snapshotDiff": "org.apache.hadoop.hdfs.tools.snapshot.SnapshotDiff",
}
"""Classes of what a client's `hdfs` does, by its first word."""
# What the daemons look for beside their classes: how to log, and folders of pages.
CLASS_PATH = Path(__file__).with_name("classpath")
# No files of its own in /tmp; and WebHDFS looks into a package of Java's own.
ALWAYS = ("-XX:+UseSerialGC", "-XX:-UsePerfData", "--add-opens=java.base/java.lang=ALL-UNNAMED")
QUICK = ("-XX:TieredStopAtLevel=1",)


@dataclass(frozen=True)
class Runtime:
    """A Java, Hadoop's jars, and further options of Java."""

    java: Java
    jars: tuple[Path, ...]
    options: tuple[str, ...] = ()

    def command(
        self, program: str, conf: Path, temporary: Path, *, heap_mb: int = 128, quick: bool = True, level: str = "WARN"
    ) -> list[str]:
        """What runs a class of Hadoop with a configuration directory; arguments follow. It logs to standard error."""
        return [
            str(self.java.program),
            *ALWAYS,
            *(QUICK if quick else ()),
            *self.options,
            f"-Xmx{heap_mb}m",
            f"-Djava.io.tmpdir={temporary}",
            f"-Dhadoop.root.logger={level},console",
            # The jars come first: shared classes are those of a class path that begins with them alone.
            *("-cp", ":".join(map(str, [*self.jars, CLASS_PATH, conf]))),
            program,
        ]

    def script(self, conf: Path, temporary: Path) -> str:
        """A program `hdfs` for the tools that a distribution's has, as a client with that configuration."""
        cases = "".join(f"  {word}) class={program} ;;\n" for word, program in TOOLS.items())
        command = shlex.join(self.command("", conf, temporary)[:-1])
        return (
            f'#!/bin/sh\ncase "${{1:-}}" in\n{cases}'
            f'  *) echo "hdfs: this one knows {", ".join(TOOLS)}" >&2; exit 1 ;;\nesac\n'
            f'shift\nexec {command} "$class" "$@"\n'
        )
