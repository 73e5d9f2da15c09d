"""What S3 refuses, by the codes of its errors, and what somebody can do about it."""

import re
from typing import NamedTuple

_POLICIES = "look at the bucket's policy, its key's, and that of a VPC endpoint on the machine's way to S3"
_DENIED = (
    f"{_POLICIES}; another account's bucket of this name is denied, too: expectedBucketOwner says whose it must be"
)


class Remedy(NamedTuple):
    """`code`: a pattern of what S3 says, in lower case, from a word on; `field`: the end's key to correct."""

    code: str
    field: str
    text: str


_REMEDIES = (
    Remedy("nosuchbucket", "bucket", "correct its name, or make it"),
    Remedy("permanentredirect", "region", "correct the region"),
    Remedy("authorizationheadermalformed", "region", "correct the region"),
    Remedy("illegallocationconstraint", "region", "correct the region"),
    Remedy("is in another region", "region", "correct the region"),
    Remedy(r"kms\.disabled", "kmsKeyId", "enable the key, or choose another one"),
    Remedy(r"kms\.notfound", "kmsKeyId", "name a key that is there, in the bucket's region"),
    Remedy(
        r"kms(:|\.\w+(:|exception))",  # an error or a right of KMS's: a bucket may be called kms-backups
        "kmsKeyId",
        "let the role of buckets use the key, by its policy and as kmsKey in the deployment's setting buckets",
    ),
    Remedy("invalidstorageclass", "storageClass", "choose a class that the bucket's region has"),
    Remedy("invalidtag", "tags", "correct the tags"),
    Remedy("accessdenied", "bucket", _DENIED),
    Remedy(r"403\b", "bucket", _DENIED),
    Remedy("requester pays", "bucket", "name a bucket whose owner pays for requests"),
    Remedy("objectlock", "bucket", "name a bucket without a default retention, which every object would have"),
)
_OTHER = Remedy("", "bucket", "correct the bucket, or choose another one")


def remedy_of(said: str) -> Remedy:
    """What to do about a refusal; `said`: its code and words."""
    told = said.lower()
    return next((one for one in _REMEDIES if re.search(rf"(?<![\w-]){one.code}", told)), _OTHER)


def is_known(said: str) -> bool:
    """Whether there is more to say than to correct the bucket."""
    return remedy_of(said) is not _OTHER
