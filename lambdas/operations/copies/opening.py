"""The two buckets of a transfer, opened with a session that is narrowed to them."""

from lambdas.adapters.copy_ports import Buckets
from lambdas.adapters.world import World
from lambdas.core.ends.allowed_buckets import keys_of
from lambdas.core.seats.copying_session import Keys, session_policy
from lambdas.core.seats.credentials import SESSION_SECONDS, BucketPlace, SeatCredentials, bucket_place
from lambdas.core.seats.session_names import initiator, role_arn, session_name
from lambdas.core.transfer.accepted import AcceptedTransfer


def open_buckets(world: World, transfer: AcceptedTransfer) -> Buckets:
    """Both buckets; a function asks for its own session, and for another one where that expires."""
    source, destination = _places(transfer)
    written = transfer.copied_ends[1].written
    return world.buckets(source, destination, written, lambda: _session(world, transfer))


def _places(transfer: AcceptedTransfer) -> tuple[BucketPlace, BucketPlace]:
    source, destination = (bucket_place(transfer, end) for end in transfer.copied_ends)
    return source, destination


def policy_of(world: World, transfer: AcceptedTransfer) -> str:
    """What a session for the transfer may do."""
    source, destination = _places(transfer)
    keys = Keys(*(keys_of(world.env.buckets, place.bucket, place.prefix) for place in (source, destination)))
    partition = transfer.execution_arn.split(":")[1]
    return session_policy(partition, source, destination, keys, own_tags=transfer.request.gives_tags)


def _session(world: World, transfer: AcceptedTransfer) -> SeatCredentials:
    role, name = role_arn(world.env.deployment, transfer.execution_arn), session_name("copies", transfer.transfer_id)
    return world.sessions.assume(role, name, policy_of(world, transfer), SESSION_SECONDS)


def copying_as(world: World, transfer: AcceptedTransfer) -> str:
    """How S3 calls whoever begins an upload with such a session."""
    role = role_arn(world.env.deployment, transfer.execution_arn)
    return initiator(role, session_name("copies", transfer.transfer_id))
