"""Names of sessions of the role `cpt-buckets`, by which S3 says who has begun an upload."""

from hashlib import blake2b
from typing import Literal

Work = Literal["copies", "sender", "receiver", "sweep", "restores"]
# STS takes no more.
_MOST_NAME = 64
# In no transfer's id: a name that is cut is no other transfer's whole one.
_CUT = "="


def role_arn(deployment: str, execution_arn: str) -> str:
    """The role whose sessions work on buckets, in the account of an execution."""
    _, partition, _, _, account, *_ = execution_arn.split(":")
    return f"arn:{partition}:iam::{account}:role/{deployment}-buckets"


def session_name(work: Work, transfer_id: str) -> str:
    """The name of all sessions of a transfer for this work, and of no other transfer's."""
    name = f"{work}-{transfer_id}"
    if len(name) <= _MOST_NAME:
        return name
    ending = _CUT + blake2b(transfer_id.encode(), digest_size=8).hexdigest()
    return name[: _MOST_NAME - len(ending)] + ending


def initiator(role: str, name: str) -> str:
    """A session of a role as S3 names whoever has begun an upload; `role`: its ARN."""
    _, partition, _, _, account, path = role.split(":", 5)
    return f"arn:{partition}:sts::{account}:assumed-role/{path.rpartition('/')[2]}/{name}"
