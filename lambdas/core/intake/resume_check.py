"""The check whether an execution may resume a transfer that an earlier execution has run."""

from lambdas.core.transfer.accepted import AcceptedTransfer

# Of the numbers that nine digits have for chunks, each run takes 2.56 million.
MAX_RUNS = 390


def differences(before: AcceptedTransfer, now: AcceptedTransfer) -> list[str]:
    """Return what must be as it was, and is not, one line each: which machines, which paths."""
    was, is_ = before.request, now.request
    pairs: list[tuple[str, object, object]] = [
        ("$.source.instanceId", was.source.instance_id, is_.source.instance_id),
        ("$.source.paths", was.source.asked_paths, is_.source.asked_paths),
        ("$.destination.instanceId", was.destination.instance_id, is_.destination.instance_id),
        ("$.destination.path", was.destination.path, is_.destination.path),
    ]
    return [
        f"{where}: {found!r} was {known!r} when '{before.transfer_id}' began; "
        "resume it as it was, or give this transfer another name"
        for where, known, found in pairs
        if known != found
    ]
