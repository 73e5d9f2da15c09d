"""Whether the buckets of the setting `buckets` bear what transfers do there: their owners set that, and nobody else."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from cli.aws import Aws
from cli.doctor.answers import answer_of
from cli.doctor.finding import Finding, Findings, failed, looked, ok, warning
from lambdas.core.ends.allowed_buckets import AllowedBucket

_ABORTS = "AbortIncompleteMultipartUpload"


class Seen(NamedTuple):
    """What S3 says of a bucket.

    `is_ours`: the deployment's account owns it. `lock`: retention that each new object gets. `key`: of KMS, by default.
    """

    region: str
    is_ours: bool
    payer: str = "BucketOwner"
    lock: str | None = None
    key: str | None = None
    aborts: bool = False


def buckets(aws: Aws, allowed: tuple[AllowedBucket, ...]) -> Findings:
    """Each entry of the setting."""
    if not allowed:
        yield ok("buckets", aws.region, "no bucket may be an end of a transfer")
    for entry in allowed:
        yield from looked("buckets", _words(entry), partial(_of_entry, aws, entry))


def _of_entry(aws: Aws, entry: AllowedBucket) -> Iterator[Finding]:
    account = aws.client("sts").get_caller_identity()["Account"]
    s3 = aws.client("s3", entry.region)
    head = answer_of(s3.head_bucket, "404", "NoSuchBucket", Bucket=entry.bucket)
    if head is None:
        remedy = f"make the bucket in {entry.region}, or take it out of cpt.buckets and deploy"
        yield failed("buckets", _words(entry), "there is no such bucket", remedy)
        return
    region = head.get("BucketRegion") or head["ResponseMetadata"]["HTTPHeaders"].get("x-amz-bucket-region")
    # Who may see the bucket is told 403 where somebody else owns it than is expected.
    owner = entry.owner or account
    expected = answer_of(s3.head_bucket, "403", "AccessDenied", Bucket=entry.bucket, ExpectedBucketOwner=owner)
    seen = Seen(region=region or entry.region, is_ours=expected is not None)
    if seen.region == entry.region:
        seen = _settings(s3, entry, seen)
    yield from judge(entry, seen)


def _settings(s3: Any, entry: AllowedBucket, seen: Seen) -> Seen:
    bucket = entry.bucket
    payer = s3.get_bucket_request_payment(Bucket=bucket)["Payer"]
    locks = answer_of(s3.get_object_lock_configuration, "ObjectLockConfigurationNotFound", Bucket=bucket) or {}
    encryption = answer_of(s3.get_bucket_encryption, "ServerSideEncryptionConfigurationNotFound", Bucket=bucket) or {}
    lifecycle = answer_of(s3.get_bucket_lifecycle_configuration, "NoSuchLifecycleConfiguration", Bucket=bucket) or {}
    retention = locks.get("ObjectLockConfiguration", {}).get("Rule", {}).get("DefaultRetention")
    rules = encryption.get("ServerSideEncryptionConfiguration", {}).get("Rules", [])
    defaults = [rule.get("ApplyServerSideEncryptionByDefault", {}) for rule in rules]
    return seen._replace(
        payer=payer,
        lock=_retention(retention) if retention else None,
        key=next((one.get("KMSMasterKeyID") for one in defaults if one.get("KMSMasterKeyID")), None),
        aborts=any(ends_uploads(rule, entry.prefix) for rule in lifecycle.get("Rules", [])),
    )


def ends_uploads(rule: dict[str, Any], below: str) -> bool:
    """Whether a rule of the lifecycle is about unfinished uploads below a prefix."""
    told = rule.get("Filter", {})
    prefix = rule.get("Prefix") or told.get("Prefix") or told.get("And", {}).get("Prefix") or ""
    return bool(rule.get(_ABORTS)) and rule.get("Status") == "Enabled" and below.startswith(prefix)


def _retention(retention: dict[str, Any]) -> str:
    count, unit = next((retention[unit], unit.lower()) for unit in ("Days", "Years") if unit in retention)
    return f"{retention['Mode'].lower()} retention of {count} {unit}"


def judge(entry: AllowedBucket, seen: Seen) -> Iterator[Finding]:
    """What of a bucket makes transfers fail, or cost what nobody expects."""
    about, writes = _words(entry), "write" in entry.uses
    found: list[Finding] = []
    if seen.region != entry.region:
        remedy = f"write {seen.region} into cpt.buckets, and deploy"
        yield failed("buckets", about, f"the bucket is in {seen.region}, not in {entry.region}", remedy)
        return
    if seen.payer == "Requester" and not seen.is_ours:
        remedy = "ask its owner to let the owner pay, or copy what is needed into a bucket of your own"
        found.append(failed("buckets", about, "who asks pays (requester pays), and transfers agree to nothing", remedy))
    if seen.key and not entry.key:
        remedy = f"write it as the entry's kmsKey, and deploy; its policy must admit the role ({seen.key})"
        found.append(failed("buckets", about, "its objects get a key of KMS that the role may not use", remedy))
    if seen.lock and writes:
        remedy = "choose a bucket without a default retention, or accept that versions of notes stay that long"
        told = f"each object gets a {seen.lock}: what is replaced or removed stays as a version, and is paid for"
        found.append(warning("buckets", about, told, remedy))
    if writes and not seen.aborts:
        remedy = (
            f"whoever owns it adds a lifecycle rule with {_ABORTS} of some days more than a transfer may be resumed; "
            "without it, what is begun while the deployment is removed stays for ever"
        )
        found.append(warning("buckets", about, "no lifecycle rule ends uploads that nobody completes", remedy))
    if not seen.is_ours:
        whose = f"account {entry.owner} does not own it" if entry.owner else "another account owns it"
        remedy = "see that this is the bucket that you mean, write its account as the entry's owner, and deploy"
        found.append(failed("buckets", about, f"{whose}, and transfers are refused there", remedy))
    yield from found or [ok("buckets", about, f"it is in {seen.region}, and bears what transfers do there")]


def _words(entry: AllowedBucket) -> str:
    return f"s3://{entry.bucket}/{entry.prefix}"
