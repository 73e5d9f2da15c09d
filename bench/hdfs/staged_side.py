"""One side of a staged copy: an HDFS, and a folder in the file system of its name node's machine."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.hdfs.staged_job import StagingError
from local.hadoop.cluster import HadoopCluster
from local.hadoop.errors import HadoopError
from local.hadoop.runtime import TOOLS

TREE, TAR, READ_BACK = "tree", "tree.tar", "read-back"
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class Side:
    """`name`: source or destination, for people. `staging`: a folder that is not there yet, without a blank."""

    name: str
    cluster: HadoopCluster
    staging: Path

    @property
    def tree(self) -> Path:
        """Where the files lie between HDFS and the transfer."""
        return self.staging / TREE

    @property
    def tar(self) -> Path:
        """The one file that they are bundled into."""
        return self.staging / TAR

    @contextmanager
    def staged(self) -> Iterator[None]:
        """The staging folder, which is removed however this ends. Raises StagingError where somebody has it already."""
        if " " in str(self.staging):
            raise StagingError(f"{self.name}: {str(self.staging)!r} has a blank, and Hadoop's shell takes no such path")
        try:
            self.staging.mkdir(parents=True)
        except FileExistsError:
            raise StagingError(f"{self.name}: {self.staging} is there already; name a folder that is not") from None
        try:
            self.tree.mkdir()
            yield
        finally:
            shutil.rmtree(self.staging)

    def free_bytes(self) -> int:
        """What a file may still take in the file system of the staging folder."""
        found = os.statvfs(self.staging)
        return found.f_bavail * found.f_frsize

    def shell(self, *words: str) -> str:
        """Output of `hdfs dfs WORDS` on the name node's machine. Raises StagingError."""
        try:
            return self.cluster.run(TOOLS["dfs"], *words)
        except HadoopError as error:
            raise StagingError(f"{self.name}: {error}") from None

    def bundle(self) -> None:
        """Write the tar file of all staged files. Raises StagingError."""
        self._on_machine("tar", "--create", f"--file={self.tar}", f"--directory={self.tree}", ".")

    def unbundle(self) -> None:
        """Give back the files of the tar file. Raises StagingError."""
        self._on_machine("tar", "--extract", f"--file={self.tar}", f"--directory={self.tree}")
        self.tar.unlink()

    def digests(self, folder: Path) -> dict[str, str]:
        """SHA-256 of each file below a folder, by its path there."""
        files = (path for path in sorted(folder.rglob("*")) if path.is_file())
        return {path.relative_to(folder).as_posix(): _sha256(path) for path in files}

    def _on_machine(self, *words: str) -> None:
        machine = self.cluster.name_node.machine
        command: Sequence[str] = [*machine.prefix, *words]
        done = subprocess.run(command, env=dict(machine.environment), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise StagingError(f"{self.name}: {words[0]}: code {done.returncode}: {done.stderr.strip()[-2000:]}")


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
