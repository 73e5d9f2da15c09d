"""The kinds of ends that a request may name, told apart by `kind`; without it an end is a machine."""

from typing import Annotated, Any

from pydantic import Discriminator, Tag

from lambdas.core.ends.bucket import BucketEnd, DestinationBucket, SourceBucket
from lambdas.core.ends.machine import DestinationMachine, SourceMachine


def _kind(value: Any) -> str:
    if not isinstance(value, dict):
        return "Bucket" if isinstance(value, BucketEnd) else "Machine"
    kind = value.get("kind")
    # Of an end that says no kind there is, what it names tells which one was meant.
    return "Bucket" if kind == "bucket" or (kind != "machine" and "bucket" in value) else "Machine"


SourceEnd = Annotated[
    Annotated[SourceMachine, Tag("Machine")] | Annotated[SourceBucket, Tag("Bucket")], Discriminator(_kind)
]
DestinationEnd = Annotated[
    Annotated[DestinationMachine, Tag("Machine")] | Annotated[DestinationBucket, Tag("Bucket")], Discriminator(_kind)
]
