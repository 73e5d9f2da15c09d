"""Credentials of a bucket's seat: issued by what the records say, and sealed to the process that waits for them."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.chunks.events import CredentialsWanted
from lambdas.core.ends import allowed_buckets
from lambdas.core.ends.bucket import BucketEnd
from lambdas.core.errors import MissingPermission
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.seats import credentials
from lambdas.core.seats.credentials import BucketPlace, Issued, SealingKey, SeatCredentials
from lambdas.core.seats.epochs import start_of
from lambdas.core.seats.session_names import role_arn, session_name
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.seat import Role, role_of
from lambdas.operations.seats.sealing import seal


def answer(world: World, wanted: CredentialsWanted) -> dict[str, Any]:
    """Issue what a holder waits for, or say there why it gets none; what was done, without a word of the keys."""
    record = world.transfers.get(wanted.transfer_id)
    if record is None or not _works(record, wanted.seat):
        return {"ignored": "the transfer does not run"}
    place = place_of(record.transfer, wanted.seat)
    if place is None:
        return {"ignored": f"{wanted.seat} is no bucket's seat of it"}
    holder = credentials.holder_of(wanted.seat, wanted.process)
    key = world.agents.sealing_key(record.transfer.partition, holder)
    if key is None:
        return {"ignored": f"{holder} has published no key"}
    if why := _of_another_start(record, wanted.seat, key):
        return {"ignored": why}
    known = world.agents.issued(record.transfer.partition, holder)
    if known is not None and known.lasts(world.clock.now()):
        return {"known": holder}
    issued = _issued(world, record.transfer, place, holder, key, wanted.seat)
    world.agents.issue(record.transfer.partition, holder, issued)
    return {"refused": issued.refused} if issued.refused else {"issued": holder}


def place_of(transfer: AcceptedTransfer, seat_id: str) -> BucketPlace | None:
    """The bucket at the end of a seat; None where there is none, or no such seat."""
    if all(seat.seat_id != seat_id for seat in transfer.seats):
        return None
    request = transfer.request
    end = request.source if role_of(seat_id) == "sender" else request.destination
    return credentials.bucket_place(transfer, end) if isinstance(end, BucketEnd) else None


def _works(record: TransferRecord, seat_id: str) -> bool:
    """Whether a seat has something to do: until all has arrived, and a mirror's receiver until its extras are gone."""
    removes = role_of(seat_id) == "receiver" and record.transfer.request.delete
    return record.moving or (removes and record.status == "DONE" and not record.fenced)


def _of_another_start(record: TransferRecord, seat_id: str, key: SealingKey) -> str | None:
    """Why nothing is sealed to this key: a daemon has it that is not to work there any more."""
    if key.epoch is None:
        return None
    if any(one.seat_id == seat_id for one in record.retired):
        return f"{seat_id} is retired"
    view = record.seats.of(seat_id) if record.seats else None
    present = max(record.earlier_starts + 1, view.start if view else 1)
    start = start_of(key.epoch)
    return f"start {start} asks, and {present} is the present one" if start < present else None


def _issued(
    world: World, transfer: AcceptedTransfer, place: BucketPlace, holder: str, key: SealingKey, seat_id: str
) -> Issued:
    uses = credentials.uses_of(transfer, seat_id)
    why = allowed_buckets.refusal(world.env.buckets, place.bucket, place.prefix, place.region, uses)
    if why is not None:
        return Issued(refused=why)
    try:
        session = _session(world, transfer, place, uses, role_of(seat_id))
    except MissingPermission as error:
        return Issued(refused=str(error))
    info = credentials.sealing_info(transfer.partition, holder)
    return Issued(seal(session.to_json(), key.public, info), session.expires_at)


def _session(
    world: World, transfer: AcceptedTransfer, place: BucketPlace, uses: tuple[allowed_buckets.Use, ...], seats: Role
) -> SeatCredentials:
    partition = transfer.execution_arn.split(":")[1]
    # What a dry run may do is what says what would be done, or refused.
    tries = transfer.request.dry_run and "write" in uses
    policy = credentials.session_policy(
        partition,
        place,
        credentials.READING if transfer.request.dry_run else uses,
        transfer.transfer_id,
        keys=allowed_buckets.keys_of(world.env.buckets, place.bucket, place.prefix),
        tags="write" in uses and transfer.request.gives_tags,
        probes=tries,
    )
    role = role_arn(world.env.deployment, transfer.execution_arn)
    name = session_name(seats, transfer.transfer_id)
    return world.sessions.assume(role, name, policy, credentials.SESSION_SECONDS)
