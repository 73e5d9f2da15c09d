"""Which buckets and prefixes a deployment may touch, and how: what its owner has written into the settings."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from lambdas.core.ends.bucket import partition_of_region

Use = Literal["read", "write", "delete", "restore"]
_LETTERS: dict[str, Use] = {"r": "read", "w": "write", "d": "delete", "a": "restore"}
# People may add starts by what is written there.
_STARTS = "s"


@dataclass(frozen=True)
class AllowedBucket:
    """One entry of the setting `buckets`: `prefix` and all below it. Who writes there also sees what is there."""

    bucket: str
    prefix: str
    region: str
    uses: frozenset[Use]
    key: str | None = None
    """ARN of the key of KMS that the role may use for it."""
    starts: bool = False
    owner: str | None = None
    """The account that must own the bucket; None: the deployment's."""

    @classmethod
    def parse(cls, text: str) -> "AllowedBucket":
        """From `rw eu-west-1 bucket/prefix/ key=123456789012/1234abcd owner=111122223333`.

        The environment of functions has it so (infra/lib/config.ts).
        """
        letters, region, place, *more = text.split(" ")
        bucket, _, prefix = place.partition("/")
        uses = frozenset(_LETTERS[letter] for letter in letters if letter != _STARTS)
        told = dict(one.split("=", 1) for one in more)
        key = _key_arn(region, told["key"]) if "key" in told else None
        return cls(bucket, prefix, region, uses, key, _STARTS in letters, told.get("owner"))

    @classmethod
    def parse_all(cls, texts: Sequence[str]) -> "tuple[AllowedBucket, ...]":
        """All entries: `key=#0` is the key of the first one."""
        keys = [re.search(r" key=(\S+)", text) for text in texts]
        words = [found[1] if found else "" for found in keys]
        return tuple(
            cls.parse(re.sub(r" key=#([0-9]+)", lambda found: f" key={words[int(found[1])]}", text)) for text in texts
        )

    def covers(self, bucket: str, prefix: str) -> bool:
        """Whether all keys below a prefix are among its own."""
        return self.bucket == bucket and prefix.startswith(self.prefix)


def _key_arn(region: str, told: str) -> str:
    account, _, key_id = told.partition("/")
    return f"arn:{partition_of_region(region)}:kms:{region}:{account}:key/{key_id}"


def keys_of(allowed: Iterable[AllowedBucket], bucket: str, prefix: str) -> tuple[str, ...]:
    """Keys of KMS that what lies below a prefix may be under: those of all entries with keys there."""
    return tuple(
        sorted(
            {
                one.key
                for one in allowed
                if one.key and one.bucket == bucket and (one.covers(bucket, prefix) or one.prefix.startswith(prefix))
            }
        )
    )


def owner_of(allowed: Iterable[AllowedBucket], bucket: str, prefix: str) -> str | None:
    """The account that must own a bucket, as the settings say; None where they do not."""
    return next((one.owner for one in allowed if one.owner and one.covers(bucket, prefix)), None)


def allowing(allowed: Iterable[AllowedBucket], bucket: str, prefix: str, uses: Iterable[Use]) -> AllowedBucket | None:
    """The entry that allows all of these uses; None where no single one does."""
    wanted = set(uses)
    return next((one for one in allowed if one.covers(bucket, prefix) and wanted <= one.uses), None)


def refusal(allowed: Iterable[AllowedBucket], bucket: str, prefix: str, region: str, uses: Iterable[Use]) -> str | None:
    """Why a transfer may not use a bucket so, for people; None where it may."""
    entries = list(allowed)
    if not entries:
        return "this deployment may touch no bucket; name it in its setting `buckets` (docs/deploy.md) and deploy"
    covering = [one for one in entries if one.covers(bucket, prefix)]
    if not covering:
        known = ", ".join(sorted({f"s3://{one.bucket}/{one.prefix}" for one in entries}))
        return f"this deployment may not touch s3://{bucket}/{prefix}; its setting `buckets` has {known}"
    wanted = list(uses)
    found = allowing(covering, bucket, prefix, wanted)
    if found is None:
        return (
            f"this deployment may not {' and '.join(wanted)} below s3://{bucket}/{prefix}; "
            "its setting `buckets` says who may"
        )
    if found.region != region:
        return f"the bucket '{bucket}' is in {found.region}, as the deployment's setting `buckets` says; write that"
    return None
