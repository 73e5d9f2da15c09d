"""The kinds of ends that a request may name, told apart by `kind`; without it an end is what it names."""

from typing import Annotated, Any

from pydantic import Discriminator, Tag

from lambdas.core.ends.bucket import BucketEnd, DestinationBucket, SourceBucket
from lambdas.core.ends.hdfs import DestinationHdfs, HdfsEnd, SourceHdfs
from lambdas.core.ends.machine import DestinationMachine, SourceMachine

_TAGS = {"machine": "Machine", "bucket": "Bucket", "hdfs": "Hdfs"}
# Of an end that says no kind there is, what it names tells which one was meant.
_NAMES = {"bucket": "Bucket", "workers": "Hdfs", "clusterId": "Hdfs"}


def _kind(value: Any) -> str:
    if not isinstance(value, dict):
        return "Bucket" if isinstance(value, BucketEnd) else "Hdfs" if isinstance(value, HdfsEnd) else "Machine"
    kind = value.get("kind")
    if isinstance(kind, str) and kind in _TAGS:
        return _TAGS[kind]
    return next((tag for name, tag in _NAMES.items() if name in value), "Machine")


SourceEnd = Annotated[
    Annotated[SourceMachine, Tag("Machine")]
    | Annotated[SourceBucket, Tag("Bucket")]
    | Annotated[SourceHdfs, Tag("Hdfs")],
    Discriminator(_kind),
]
DestinationEnd = Annotated[
    Annotated[DestinationMachine, Tag("Machine")]
    | Annotated[DestinationBucket, Tag("Bucket")]
    | Annotated[DestinationHdfs, Tag("Hdfs")],
    Discriminator(_kind),
]
