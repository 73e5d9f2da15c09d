"""The rules of a request with a bucket at an end that a schema cannot say: what a bucket has not is refused by name."""

from collections.abc import Iterator, Mapping
from typing import Any

from lambdas.core.ends.archived import MOST_WAIT_HOURS
from lambdas.core.ends.bucket import BucketEnd, DestinationBucket, SourceBucket, partition_of_region
from lambdas.core.ends.kinds import DestinationEnd, SourceEnd
from lambdas.core.ends.object_writing import ARCHIVES, region_of_key
from lambdas.core.request import bucket_relay_rules
from lambdas.core.request.machine_rules import MOST_TOGETHER

# A chunk of a large file is a part of an object, which has 5 MiB at least: the next power of two.
LEAST_CHUNK_MIB = 8
_NO_LIST = "a list of paths is a file of the source's machine"
_NO_MOUNT = "a bucket has no mounted file systems"
_NO_LINKS = "a bucket has no links"
_NO_MIRROR = "$.source.keys lists what is moved, and a mirror would remove all that the list does not name"
_NOT_KEPT = "a bucket keeps none"
_Refused = tuple[str, object, bool, str]


def problems(source: SourceEnd, destination: DestinationEnd, said: Mapping[str, Any]) -> list[str]:
    """One line for each: field, value, what would be right; `said`: the whole request as a document."""
    ends: list[tuple[str, SourceEnd | DestinationEnd]] = [("source", source), ("destination", destination)]
    buckets = [(side, end) for side, end in ends if isinstance(end, BucketEnd)]
    if not buckets:
        return []
    side = buckets[0][0]
    of_relays = bucket_relay_rules.of_one_bucket if len(buckets) == 1 else bucket_relay_rules.of_two_buckets
    others = [*_at_any_end(said), *_by_side(source, destination, said)]
    found = [
        f"$.{key}: {_value(value)}, and $.{side} is a bucket: {why}; {right}"
        for key, value, is_refused, why, right in (*of_relays(said), *((*one, "leave it out") for one in others))
        if is_refused
    ]
    return [
        *found,
        *_too_many(source, destination),
        *_apart(source, destination),
        *_of_key(destination),
        *_of_waits(source, said),
    ]


def _at_any_end(said: Mapping[str, Any]) -> Iterator[_Refused]:
    preserve = said["preserve"]
    yield "profile", said["profile"], said["profile"] != "none", "links between two machines are measured"
    for key in ("hardLinks", "sparse", "xattrs", "acls", "specialFiles"):
        yield f"preserve.{key}", True, preserve[key], _NOT_KEPT
    names = preserve.get("owners") == "names"
    yield "preserve.owners", "names", names, "objects keep numbers of users and groups, as 'numeric' does"


def _by_side(source: SourceEnd, destination: DestinationEnd, said: Mapping[str, Any]) -> Iterator[_Refused]:
    links, select, verify = said["links"], said["select"], said["verify"]
    kept, chunk, limit = said.get("keepReplaced"), said.get("chunkSizeMiB"), said.get("bandwidthLimitMbps")
    if isinstance(source, SourceBucket):
        yield "links", links, links != "keep", _NO_LINKS
        yield "select.pathsFrom", select.get("pathsFrom"), "pathsFrom" in select, _NO_LIST
        yield "delete", True, said["delete"] and source.keys is not None, _NO_MIRROR
        yield "select.oneFileSystem", True, select["oneFileSystem"], _NO_MOUNT
        yield from _of_restores(source, said)
    if isinstance(destination, DestinationBucket):
        yield (
            "keepReplaced",
            kept,
            kept is not None,
            "its versioning keeps what is replaced, where its owner wants that",
        )
        yield "verify", verify, verify == "readback", "S3 checks the checksum of each part before it takes it"
        archive = destination.storage_class in ARCHIVES and not isinstance(source, SourceBucket)
        unread = f"objects of the class {destination.storage_class}, which storageClass asks for, cannot be read again"
        yield "compare", said["compare"], said["compare"] == "digest" and archive, unread
        least = f"a part of an object has 5 MiB at least, so that {LEAST_CHUNK_MIB} is the least"
        yield "chunkSizeMiB", chunk, chunk is not None and chunk < LEAST_CHUNK_MIB, least
    if isinstance(source, SourceBucket) and isinstance(destination, DestinationBucket):
        yield "bandwidthLimitMbps", limit, limit is not None, "S3 copies by itself, at no rate that could be limited"
        yield from _of_copies(said)


def _of_restores(source: SourceBucket, said: Mapping[str, Any]) -> Iterator[_Refused]:
    """What cannot be beside objects that are restored first, and what is said of them where they are not."""
    wish, compare, deadline = source.restore, said["compare"], said["objective"].get("deadlineSeconds")
    not_restored = f"its archived is '{source.archived}', so nothing is restored: write archived as 'restore'"
    yield "source.restore", wish and wish.to_document(), wish is not None and source.restoring is None, not_restored
    if source.restoring is not None:
        is_read = "objects would be read before they are restored"
        yield "compare", compare, compare == "digest", is_read
        is_long = "S3 restores archived objects within hours, and promises none"
        yield "objective.deadlineSeconds", deadline, deadline is not None, is_long


def _of_waits(source: SourceEnd, said: Mapping[str, Any]) -> Iterator[str]:
    """People and S3 are waited for one after the other, and an execution has 15 days, of which 7 are the data's."""
    wish = source.restoring if isinstance(source, SourceBucket) else None
    if wish is None or said["approval"] != "required":
        return
    left = (MOST_WAIT_HOURS * 3_600 - said["approvalTimeoutSeconds"]) / 3_600
    if wish.max_wait_hours > left:
        yield (
            f"$.source.restore.maxWaitHours: {wish.max_wait_hours:g}, and $.approvalTimeoutSeconds is "
            f"{said['approvalTimeoutSeconds']:g}: an execution has 7 days for both; give {max(left, 0):g} hours at "
            "most, or people less time"
        )


def _of_copies(said: Mapping[str, Any]) -> Iterator[_Refused]:
    """What S3's own copies cannot do."""
    compare, deadline = said["compare"], said["objective"].get("deadlineSeconds")
    yield "delete", True, said["delete"], "copies between buckets remove nothing; a lifecycle rule does"
    yield "compare", compare, compare != "size-time", "nobody reads the objects that S3 copies"
    yield (
        "approval",
        "required",
        said["approval"] == "required",
        "they begin before all is listed; start a dry run first",
    )
    yield "objective.deadlineSeconds", deadline, deadline is not None, "nobody can make S3 copy faster"


def _too_many(source: SourceEnd, destination: DestinationEnd) -> Iterator[str]:
    """Each machine beside a bucket sends and receives, so that the transfer names it twice."""
    count, most = len(source.machine_ids) + len(destination.machine_ids), MOST_TOGETHER // 2
    if count > most:
        side, other = ("destination", "source") if isinstance(source, BucketEnd) else ("source", "destination")
        end = destination if isinstance(source, BucketEnd) else source
        yield (
            f"$.{side}.{end.several_field}: {count} machines, and $.{other} is a bucket, so that each of them "
            f"sends and receives; name {most} at most"
        )


def _apart(source: SourceEnd, destination: DestinationEnd) -> Iterator[str]:
    """Both ends are in one partition of AWS, and no bucket is copied into itself."""
    here, there = partition_of_region(source.region), partition_of_region(destination.region)
    if here != there:
        yield (
            f"$.destination.region: '{destination.region}' is in partition {there}, and '{source.region}' in {here}: "
            "no credentials are valid in both; name regions of one partition"
        )
    if not (isinstance(source, SourceBucket) and isinstance(destination, DestinationBucket)):
        return
    if source.bucket != destination.bucket:
        return
    if source.region != destination.region:
        yield (
            f"$.destination.region: '{destination.region}', and $.source.region is '{source.region}': both are bucket "
            f"'{source.bucket}', which is in one region; correct one of them"
        )
    verb = next(
        (
            word
            for word, holds in (
                ("is", source.prefix == destination.prefix),
                ("lies in", destination.prefix.startswith(source.prefix)),
                ("holds", source.prefix.startswith(destination.prefix)),
            )
            if holds
        ),
        None,
    )
    if verb:
        yield (
            f"$.destination.prefix: '{destination.where}' {verb} the source's '{source.where}'; "
            "choose a prefix that is apart from it"
        )


def _of_key(destination: DestinationEnd) -> Iterator[str]:
    """S3 encrypts with keys of the bucket's region alone."""
    if not isinstance(destination, DestinationBucket) or destination.kms_key_id is None:
        return
    region = region_of_key(destination.kms_key_id)
    if region != destination.region:
        yield (
            f"$.destination.kmsKeyId: '{destination.kms_key_id}' is a key of {region}, and the bucket is in "
            f"{destination.region}: S3 takes a key of the bucket's region; name one"
        )


def _value(value: object) -> str:
    return repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
