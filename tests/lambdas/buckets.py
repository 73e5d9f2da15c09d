"""Transfers with a bucket at an end, whose seat works on the other end's machine."""

from typing import Any

from lambdas.core.ends.allowed_buckets import AllowedBucket
from lambdas.core.ends.bucket import DestinationBucket, SourceBucket
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.seat import seats_of
from tests.lambdas.builders import IRELAND, WEST, transfer
from tests.lambdas.many import many

BUCKET = "my-data"
ALLOWED = (
    AllowedBucket(BUCKET, "in/", IRELAND, frozenset({"read"})),
    AllowedBucket(BUCKET, "out/", IRELAND, frozenset({"write"})),
    AllowedBucket(BUCKET, "mirror/", IRELAND, frozenset({"write", "delete"})),
    AllowedBucket("near", "", WEST, frozenset({"read", "write", "delete"})),
)


def bucket(prefix: str = "out/", name: str = BUCKET, region: str = IRELAND) -> dict[str, Any]:
    """A bucket as a request names it; `my-data` is in Ireland."""
    return {"kind": "bucket", "bucket": name, "prefix": prefix, "region": region}


def to_bucket(transfer_id: str = "first", prefix: str = "out/", **changes: Any) -> AcceptedTransfer:
    """From the machine in the West into a bucket in Ireland."""
    accepted = transfer(transfer_id, destination=bucket(prefix), **changes)
    return accepted.model_copy(update={"receivers": seats_of("receiver", [accepted.at_source])})


def from_many_to_bucket(count: int = 2) -> AcceptedTransfer:
    """From so many machines in the West into a bucket in Ireland."""
    source = {"region": WEST, "paths": ["/mnt/set"]}
    accepted, destination = many(count, 1, source=source), DestinationBucket.from_document(bucket("out/"))
    receivers = seats_of("receiver", [seat.machine for seat in accepted.senders])
    changes = {"destination": destination}
    return accepted.model_copy(update={"receivers": receivers, "request": accepted.request.model_copy(update=changes)})


def from_bucket(transfer_id: str = "first", prefix: str = "in/", **changes: Any) -> AcceptedTransfer:
    """From a bucket in Ireland to the machine there."""
    accepted = transfer(transfer_id, source=bucket(prefix), **changes)
    return accepted.model_copy(update={"senders": seats_of("sender", [accepted.at_destination])})


def from_bucket_to_many(count: int = 2) -> AcceptedTransfer:
    """From a bucket in Ireland to so many machines there."""
    accepted, source = many(1, count), SourceBucket.from_document(bucket("in/"))
    senders = seats_of("sender", [seat.machine for seat in accepted.receivers])
    return accepted.model_copy(
        update={"senders": senders, "request": accepted.request.model_copy(update={"source": source})}
    )
