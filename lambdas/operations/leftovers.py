"""What a transfer leaves in a bucket: counted while another run may go on with it, and removed when none can.

An upload is a transfer's if one of its sessions has begun it, as S3 says: so one is found whose creation was answered
to nobody, and nobody else's is touched.
"""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import NamedTuple

from lambdas.adapters.leftover_ports import Leftovers
from lambdas.adapters.world import World
from lambdas.core.ends.bucket import BucketEnd
from lambdas.core.errors import MissingPermission, Throttled
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import ENDED, TransferRecord
from lambdas.core.record.unfinished_uploads import UnfinishedUploads
from lambdas.core.seats.credentials import SESSION_SECONDS, BucketPlace, SeatCredentials, bucket_place
from lambdas.core.seats.session_names import initiator, role_arn, session_name
from lambdas.core.seats.sweeping_session import notes_prefix, session_policy
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.record_format import FORMAT_VERSION

PREFIX = "unfinished/"
# A bucket that its owner has closed to us for so long after the day of a reminder is not asked any more.
_PATIENCE_SECONDS = 30 * 86_400.0
_AT_ONCE = 16


class Removed(NamedTuple):
    """What was taken away."""

    uploads: int
    notes: int


def settle(world: World, record: TransferRecord) -> int:
    """Abort what no run can go on with, or note how much waits for one; how many uploads were aborted.

    What cannot be looked at now is the sweep's. A process that wakes up after its transfer can write for as long as its
    session lasts, so what was started more than once, lost a machine or was thrown away is looked at once more then.
    """
    transfer = record.transfer
    if not isinstance(transfer.request.destination, BucketEnd) or transfer.request.dry_run:
        return 0
    now = world.clock.now()
    is_over, is_thrown_away = _is_over(record), record.status in ENDED
    try:
        if is_over or is_thrown_away:
            removed = remove(world, transfer)
            if removed.uploads or is_thrown_away or record.attempt > record.earlier_starts + 1 or record.retired:
                _remind(world, transfer, now + SESSION_SECONDS)
            world.transfers.change(transfer, transfer_life.note(unfinished=UnfinishedUploads.of((), now)))
            return removed.uploads
        until = now + world.env.chunk_retention_seconds
        left = _opened(world, transfer)
        found = left.uploads(_ours(world, transfer))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            unfinished = UnfinishedUploads.of(pool.map(left.size, found), until)
        world.transfers.change(transfer, transfer_life.note(unfinished=unfinished))
        _remind(world, transfer, until)
    except (MissingPermission, Throttled):
        _remind(world, transfer, now)
    return 0


def remove(world: World, transfer: AcceptedTransfer) -> Removed:
    """Abort all uploads of a transfer, and remove its notes; raises MissingPermission, Throttled."""
    left = _opened(world, transfer)
    found = left.uploads(_ours(world, transfer))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(left.abort, found))
    return Removed(len(found), left.remove(notes_prefix(transfer.transfer_id)))


def due(world: World) -> dict[str, str]:
    """Reminders whose day has come: transfers' ids, by the reminders' keys."""
    today = _day(world.clock.now())
    keys = [key for key in world.objects.keys(PREFIX) if key.removeprefix(PREFIX).partition("/")[0] <= today]
    return {key: key.rpartition("/")[2] for key in keys}


def sweep(world: World, key: str, transfer_id: str) -> Removed | None:
    """Remove what a reminder is about, if no run can go on with it any more; None where it is left.

    Raises Throttled, and MissingPermission until somebody has had a month to allow it.
    """
    record = world.transfers.get(transfer_id)
    if record is None:
        world.objects.delete([key])
        return None
    if not record.closed or _is_used(world, record.transfer):
        return None
    removed = None
    first_try = key.removeprefix(PREFIX).partition("/")[0]
    # Who has failed again since has another reminder.
    if record.unfinished is None or record.unfinished.until <= world.clock.now():
        try:
            removed = remove(world, record.transfer)
        except MissingPermission:
            if first_try >= _day(world.clock.now() - _PATIENCE_SECONDS):
                raise
    world.objects.delete([key])
    return removed


def _is_over(record: TransferRecord) -> bool:
    """Whether no run can go on with what is left: all has arrived, or there is no plan to go on with."""
    if record.transfer.errand.copies:
        return record.copies is not None and record.copies.complete
    # Of a record of another format it is not known whether there is one.
    return record.unfulfilled is None and record.transfer.format_version == FORMAT_VERSION


def _is_used(world: World, transfer: AcceptedTransfer) -> bool:
    """Whether another transfer between the same buckets moves: it goes on with the uploads of earlier ones."""
    if not transfer.errand.copies:
        return False
    ends = (transfer.request.source, transfer.request.destination)
    return any(
        (one.transfer.request.source, one.transfer.request.destination) == ends for one in world.transfers.active()
    )


def _opened(world: World, transfer: AcceptedTransfer) -> Leftovers:
    return world.leftovers(_place(transfer), lambda: _session(world, transfer))


def _place(transfer: AcceptedTransfer) -> BucketPlace:
    """Where a transfer into a bucket writes; raises ValueError for any other one."""
    end = transfer.request.destination
    if not isinstance(end, BucketEnd):
        raise ValueError(f"{transfer.transfer_id} has no bucket at its destination")
    return bucket_place(transfer, end)


def _session(world: World, transfer: AcceptedTransfer) -> SeatCredentials:
    policy = session_policy(transfer.execution_arn.split(":")[1], _place(transfer), transfer.transfer_id)
    role, name = role_arn(world.env.deployment, transfer.execution_arn), session_name("sweep", transfer.transfer_id)
    return world.sessions.assume(role, name, policy, SESSION_SECONDS)


def _ours(world: World, transfer: AcceptedTransfer) -> frozenset[str]:
    """Who begins uploads for a transfer, as S3 names them."""
    role = role_arn(world.env.deployment, transfer.execution_arn)
    return frozenset(initiator(role, session_name(work, transfer.transfer_id)) for work in ("copies", "receiver"))


def _remind(world: World, transfer: AcceptedTransfer, at: float) -> None:
    """Have the sweep of the day after that time look at it."""
    world.objects.put(f"{PREFIX}{_day(at)}/{transfer.transfer_id}", b"")


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")
