"""The source's bucket, opened with a session that is narrowed to it: one that reads, and one that restores as well."""

from lambdas.adapters.archive_ports import Archive
from lambdas.adapters.copy_ports import Buckets
from lambdas.adapters.world import World
from lambdas.core.ends.allowed_buckets import Use, keys_of
from lambdas.core.ends.archived import RestoreWish
from lambdas.core.ends.bucket import SourceBucket
from lambdas.core.seats.credentials import (
    READING,
    RESTORING,
    SESSION_SECONDS,
    BucketPlace,
    SeatCredentials,
    bucket_place,
    session_policy,
)
from lambdas.core.seats.session_names import role_arn, session_name
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.copies.opening import open_buckets


def source_of(transfer: AcceptedTransfer) -> SourceBucket:
    """The source; raises ValueError where it is no bucket."""
    source = transfer.request.source
    if not isinstance(source, SourceBucket):
        raise ValueError(f"{transfer.transfer_id} reads no bucket")
    return source


def wish_of(transfer: AcceptedTransfer) -> RestoreWish:
    """How archived objects are restored; raises ValueError where they are not."""
    wish = source_of(transfer).restoring
    if wish is None:
        raise ValueError(f"{transfer.transfer_id} restores nothing")
    return wish


def open_source(world: World, transfer: AcceptedTransfer) -> Buckets:
    """Its objects; where S3 copies, the destination's beside them."""
    if transfer.errand.copies:
        return open_buckets(world, transfer)
    place = bucket_place(transfer, source_of(transfer))
    return world.buckets(place, place, {}, lambda: _session(world, transfer, place, READING))


def open_archive(world: World, transfer: AcceptedTransfer) -> Archive:
    """Its archived objects, which S3 may be asked to restore."""
    place = bucket_place(transfer, source_of(transfer))
    return world.archive(place, wish_of(transfer).tier, lambda: _session(world, transfer, place, RESTORING))


def _session(world: World, transfer: AcceptedTransfer, place: BucketPlace, uses: tuple[Use, ...]) -> SeatCredentials:
    policy = session_policy(
        transfer.execution_arn.split(":")[1],
        place,
        uses,
        transfer.transfer_id,
        keys=keys_of(world.env.buckets, place.bucket, place.prefix),
    )
    role = role_arn(world.env.deployment, transfer.execution_arn)
    return world.sessions.assume(role, session_name("restores", transfer.transfer_id), policy, SESSION_SECONDS)
