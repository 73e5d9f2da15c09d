"""A path in the HDFS of a Hadoop cluster as an end of a transfer; instances of the cluster read or write it.

These are its workers: machines with a Hadoop configuration, which says where the name nodes are and how one talks to
them. So the request names no name node, and no seat works on one. It names the workers, or a cluster of EMR, whose
instances are found when the request is accepted (`core.ends.clusters`).
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from lambdas.core.documents import Document, Integer, whole
from lambdas.core.ends.paths import NamedPath, words
from lambdas.core.ends.seated import DestinationPath, SeatedEnd, SourcePaths, UniqueIds

MIB = 1 << 20
USUAL_BLOCK_MIB = 128
"""Hadoop's own default of `dfs.blocksize`."""
HDFS_USER = r"^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}$"
CLUSTER_ID = r"^j-[0-9A-Z]{8,32}$"
SNAPSHOT = r"^[^./:\x00][^/:\x00]{0,254}$"
# Of `dfs.replication.max`, as Hadoop has it.
MOST_REPLICATION = 512

SnapshotName = Annotated[str, Field(pattern=SNAPSHOT)]
ClusterId = Annotated[str, Field(pattern=CLUSTER_ID)]
Workers = Annotated[UniqueIds, Field(min_length=1)]
BlockSize = Annotated[Literal[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024], BeforeValidator(whole)]


class HdfsEnd(SeatedEnd):
    """Workers of one cluster. `user`: as whom HDFS takes them; `run_as` is a user of the workers themselves.

    A request has either `workers` or `cluster_id`; one that was accepted has `workers`, those found in the cluster too.
    """

    several_field: ClassVar[str] = "workers"
    kind: Literal["hdfs"]
    # In this order: what is said of the workers knows of the cluster.
    cluster_id: ClusterId | None = None
    workers: Workers | None = Field(default=None, validate_default=True)
    user: Annotated[str, Field(pattern=HDFS_USER)]

    @field_validator("workers")
    @classmethod
    def _is_named(cls, value: list[str] | None, info: ValidationInfo) -> list[str] | None:
        if value is None and info.data.get("cluster_id") is None and "cluster_id" in info.data:
            raise PydanticCustomError("no_worker", "name workers or a cluster")
        return value

    @property
    def machine_ids(self) -> tuple[str, ...]:
        """The workers that serve, in the request's order; none of a cluster that nobody has looked at yet."""
        return tuple(self.workers or ())

    @property
    def machine_words(self) -> str:
        """The workers, for people, with the cluster that the request names."""
        if self.cluster_id is None:
            return super().machine_words
        return f"{super().machine_words} of {self.cluster_id}" if self.workers else self.cluster_id

    @property
    def machines_field(self) -> str:
        """The key that the request has."""
        return self.several_field if self.cluster_id is None else "clusterId"

    def field_of(self, at: int) -> str:
        """The key, below the end's, that names one of its workers."""
        return super().field_of(at) if self.cluster_id is None else self.machines_field

    def command(self, preserve: dict[str, Any]) -> dict[str, Any]:
        """As of any end with machines, with the user of HDFS."""
        return {**super().command(preserve), "user": self.user}


class SnapshotDiff(Document):
    """Two snapshots of one directory: the earlier one, and the later one, from which is read."""

    source: SnapshotName = Field(alias="from")
    target: SnapshotName = Field(alias="to")


class SourceHdfs(HdfsEnd, SourcePaths):
    """The cluster that has the data; `snapshot_diff`: only what is different between two snapshots of each path."""

    snapshot_diff: SnapshotDiff | None = None

    def command(self, preserve: dict[str, Any]) -> dict[str, Any]:
        """As of any source with paths, with the snapshots."""
        diff = {} if self.snapshot_diff is None else {"snapshotDiff": self.snapshot_diff.to_document()}
        return super().command(preserve) | diff

    def in_words(self, path: str | NamedPath) -> str:
        """From where to where, for people."""
        return f"hdfs:{words(path)}"


class DestinationHdfs(HdfsEnd, DestinationPath):
    """The cluster that gets the data; what `replication` and `block_size_mib` do not say, the cluster decides.

    `stored_checksums`: before a transfer succeeds its daemon has compared the checksums of what is stored with what
    was sent.
    """

    stored_checksums: ClassVar[bool] = True
    replication: Annotated[Integer, Field(ge=1, le=MOST_REPLICATION)] | None = None
    block_size_mib: BlockSize | None = Field(default=None, alias="blockSizeMiB")
    trash: bool = False
    """Whether files that a mirror removes go into the trash of `user`."""

    def command(self, preserve: dict[str, Any]) -> dict[str, Any]:
        """As of any destination with a directory, with what files are to be like."""
        block_bytes = None if self.block_size_mib is None else self.block_size_mib * MIB
        asked = {"replication": self.replication, "blockSizeBytes": block_bytes, "trash": self.trash or None}
        return super().command(preserve) | {name: value for name, value in asked.items() if value is not None}

    @property
    def where(self) -> str:
        """The directory, for people."""
        return f"hdfs:{self.path}"

    @property
    def lock_path(self) -> str:
        """Where it writes: on a worker of that path is another directory."""
        return f"/{self.where}"

    def told(self, instance_id: str) -> str:
        """The directory and the worker that looks at it, for people."""
        return f"'{self.where}' by {instance_id}"
