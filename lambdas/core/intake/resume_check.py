"""The check whether an execution may resume a transfer that an earlier execution has run."""

from lambdas.core.ends.bucket import BucketEnd
from lambdas.core.ends.hdfs import DestinationHdfs, HdfsEnd
from lambdas.core.ends.kinds import DestinationEnd, SourceEnd
from lambdas.core.transfer.accepted import AcceptedTransfer

# Of the numbers that nine digits have for chunks, each run takes 2.56 million.
MAX_RUNS = 390


def differences(before: AcceptedTransfer, now: AcceptedTransfer) -> list[str]:
    """Return what must be as it was, and is not, one line each: which machines, which paths."""
    was, is_ = before.request, now.request
    pairs: list[tuple[str, object, object]] = [
        # By names alone it could be another's: it may have begun before there were tenants.
        ("$: tenant", before.tenant, now.tenant),
        *_machines("source", was.source, is_.source),
        (f"$.source.{is_.source.where_field}", was.source.asked_paths, is_.source.asked_paths),
        *_machines("destination", was.destination, is_.destination),
        (f"$.destination.{is_.destination.where_field}", was.destination.where, is_.destination.where),
        # What lies there of a file is joined with the rest of it, in blocks of one size.
        ("$.destination.blockSizeMiB", _block_mib(was.destination), _block_mib(is_.destination)),
    ]
    return [
        f"{where}: {found!r} was {known!r} when '{before.transfer_id}' began; "
        "resume it as it was, or give this transfer another name"
        for where, known, found in pairs
        if known != found
    ]


def _block_mib(end: DestinationEnd) -> int | None:
    return end.block_size_mib if isinstance(end, DestinationHdfs) else None


def _machines(
    end: str, was: SourceEnd | DestinationEnd, is_: SourceEnd | DestinationEnd
) -> list[tuple[str, object, object]]:
    if isinstance(was, BucketEnd) or isinstance(is_, BucketEnd) or was.kind != is_.kind:
        return [(f"$.{end}.kind", was.kind, is_.kind)]
    if isinstance(was, HdfsEnd) and isinstance(is_, HdfsEnd) and was.cluster_id and was.cluster_id == is_.cluster_id:
        # Its workers of today reach what others have written, and a plan of other machines is made anew.
        return []
    # In their order, too: what they share is named after it.
    if was.machine_ids == is_.machine_ids:
        return []
    return [(f"$.{end}.{is_.machines_field}", was.machine_words, is_.machine_words)]
