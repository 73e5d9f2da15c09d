"""What a bucket's seat may do, as the session policy of its credentials, and how these are handed over."""

import json
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from lambdas.core.ends.allowed_buckets import Use
from lambdas.core.ends.bucket import BucketEnd, partition_of_region
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.seat import role_of

# A role that is assumed by another role's session cannot be had for longer.
SESSION_SECONDS = 3_600
# Daemons ask again a quarter of an hour before the end; five minutes more, since their clocks differ from ours.
FRESH_SECONDS = 1_200.0
# What STS takes as a session policy.
MOST_POLICY_CHARACTERS = 2_048
# Beginning of the names below which a receiver keeps what it needs to go on.
PARTIAL = ".cpt-partial-"
# A survey begins an upload of it, which it aborts: what would be refused later is refused then.
PROBE = f"{PARTIAL}survey"
MOST_TRANSFER_ID = 80
_KEY_BYTES = 32
_TAGGING = "s3:PutObjectTagging"
# Of a key of KMS: to read what is under it, and to write, which for parts of an upload takes both.
READ_UNDER = ["kms:Decrypt"]
WRITTEN_UNDER = ["kms:Decrypt", "kms:GenerateDataKey"]

READING: tuple[Use, ...] = ("read",)
RESTORING: tuple[Use, ...] = ("read", "restore")
WRITING: tuple[Use, ...] = ("write",)
MIRRORING: tuple[Use, ...] = ("write", "delete")


@dataclass(frozen=True)
class BucketPlace:
    """A bucket, or what is below a prefix of it."""

    bucket: str
    prefix: str
    region: str
    owner: str | None = None
    """The account that must own it; every call to S3 names it."""


@dataclass(frozen=True)
class SealingKey:
    """Record `sealing#{holder}`: one process unseals what is sealed to its public key, X25519.

    `epoch`: of the start that it is of; None of a scan, which is of none.
    """

    public: bytes
    epoch: int | None = None

    @classmethod
    def told(cls, item: dict[str, Any] | None) -> "SealingKey | None":
        """From the record's attributes; None where its process has published none that can be read."""
        epoch, text = (item or {}).get("epoch"), (item or {}).get("sealingPublicKey")
        if isinstance(epoch, bool) or not isinstance(epoch, int | None) or not isinstance(text, str):
            return None
        try:
            public = b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except ValueError:
            return None
        return cls(public, epoch) if len(public) == _KEY_BYTES else None


@dataclass(frozen=True, repr=False)
class SeatCredentials:
    """Keys of a session; `expires_at`: Unix time, seconds. Nothing but its sealed text is written anywhere."""

    access_key_id: str
    secret_access_key: str
    session_token: str
    expires_at: float

    def to_json(self) -> str:
        """What is sealed."""
        keys = {
            "accessKeyId": self.access_key_id,
            "secretAccessKey": self.secret_access_key,
            "sessionToken": self.session_token,
            "expiresAt": self.expires_at,
        }
        return json.dumps(keys, separators=(",", ":"))


@dataclass(frozen=True)
class Issued:
    """Record `credentials#{holder}`, which ends read and cannot write.

    `sealed`: base64url, until `expires_at`; or `refused`: why there are none, for people.
    """

    sealed: str | None = None
    expires_at: float | None = None
    refused: str | None = None

    def to_item(self) -> dict[str, Any]:
        """The record's attributes."""
        told = {"sealed": self.sealed, "expiresAt": self.expires_at, "refused": self.refused}
        return {name: value for name, value in told.items() if value is not None}

    @classmethod
    def of_item(cls, item: dict[str, Any] | None) -> "Issued | None":
        """From the record's attributes; None where nothing was issued."""
        told = {name: (item or {}).get(name) for name in ("sealed", "expiresAt", "refused")}
        return cls(*told.values()) if any(told.values()) else None

    def lasts(self, now: float) -> bool:
        """Whether its process can go on with it: what is there answers whoever asks all the same."""
        return self.expires_at is not None and self.expires_at - now > FRESH_SECONDS


def bucket_place(transfer: AcceptedTransfer, end: BucketEnd) -> BucketPlace:
    """A bucket at an end of a transfer; where nobody says whose it is, the deployment's own account has it."""
    return BucketPlace(end.bucket, end.prefix, end.region, end.expected_bucket_owner or transfer.account)


def holder_of(seat_id: str, process: str) -> str:
    """Whose key and credentials: those of one process that works for a seat, a daemon or a scan."""
    return f"{seat_id}-{process}"


def sealing_info(partition: str, holder: str) -> bytes:
    """What HPKE binds a sealed text to: credentials of another holder cannot be put in their place."""
    return f"cpt seat credentials 1\n{partition}\n{holder}".encode()


def uses_of(transfer: AcceptedTransfer, seat_id: str) -> tuple[Use, ...]:
    """What the seat of an end does there."""
    if role_of(seat_id) == "sender":
        return READING
    return MIRRORING if transfer.request.delete else WRITING


def session_policy(
    partition: str,
    place: BucketPlace,
    uses: Sequence[Use],
    transfer_id: str,
    *,
    keys: Sequence[str],
    tags: bool = False,
    probes: bool = False,
) -> str:
    """The policy that narrows the role to one bucket and prefix, and to what one side needs, as JSON text.

    `partition`: of ARNs. `keys`: those of KMS that objects are under. `tags`: what is written gets some. `probes`:
    nothing is written but what a survey tries.
    """
    bucket = f"arn:{partition}:s3:::{place.bucket}"
    below = f"{bucket}/{literal(place.prefix)}"
    actions = ["s3:GetObject"]
    if "read" in uses:
        actions.append("s3:GetObjectVersion")
    if "restore" in uses:
        actions.append("s3:RestoreObject")
    if "write" in uses:
        actions += ["s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"]
        actions += [_TAGGING] if tags else []
    if "delete" in uses:
        actions.append("s3:DeleteObject")
    statements: list[dict[str, Any]] = [
        {"Effect": "Allow", "Action": actions, "Resource": f"{below}*"},
        {
            "Effect": "Allow",
            "Action": "s3:ListBucket",
            "Resource": bucket,
            "Condition": {"StringLike": {"s3:prefix": f"{literal(place.prefix)}*"}},
        },
    ]
    if "write" in uses and "delete" not in uses:
        own = f"{below}{PARTIAL}{transfer_id}/*"
        statements.append({"Effect": "Allow", "Action": "s3:DeleteObject", "Resource": own})
    if probes:
        tried = ["s3:PutObject", "s3:AbortMultipartUpload", *([_TAGGING] if tags else [])]
        statements.append({"Effect": "Allow", "Action": tried, "Resource": f"{below}{PROBE}"})
    if keys:
        writes = probes or "write" in uses
        statements.append({"Effect": "Allow", "Action": WRITTEN_UNDER if writes else READ_UNDER, "Resource": [*keys]})
    return json.dumps({"Version": "2012-10-17", "Statement": statements}, separators=(",", ":"))


def too_long(place: BucketPlace, uses: Sequence[Use], keys: Sequence[str], *, tags: bool) -> str | None:
    """Why the policy of a prefix would be refused by STS, whatever the transfer is called; None where it would not."""
    most = _longest(place, uses, keys, tags=tags)
    without = _longest(replace(place, prefix=""), uses, keys, tags=tags)
    if most <= MOST_POLICY_CHARACTERS:
        return None
    times = 3 if "write" in uses else 2
    fits = (MOST_POLICY_CHARACTERS - without) // times
    return (
        f"it takes {(most - without) // times} characters of the policy of its credentials, where a letter beyond "
        f"ASCII takes 6 and each of *?$ takes 4; {fits} fit: choose a shorter prefix"
    )


def _longest(place: BucketPlace, uses: Sequence[Use], keys: Sequence[str], *, tags: bool) -> int:
    """Characters of the longest policy that a transfer needs, be it a dry run."""
    partition, name = partition_of_region(place.region), "x" * MOST_TRANSFER_ID
    dry = session_policy(partition, place, READING, name, keys=keys, tags=tags, probes="write" in uses)
    return max(len(dry), len(session_policy(partition, place, uses, name, keys=keys, tags=tags)))


def literal(text: str) -> str:
    """Text of a key as policies mean it: without this, `*` and `?` would stand for others, and `$` begin a variable."""
    return "".join(f"${{{character}}}" if character in "*?$" else character for character in text)
