"""Pydantic's findings, in one line per problem: field, value, what would be right."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from lambdas.core.documents import ABSOLUTE_PATH, INSTANCE_ID, INSTANCE_TYPE, REGION, RULE, TRANSFER_ID, USER
from lambdas.core.ends.bucket import ACCOUNT
from lambdas.core.ends.hdfs import CLUSTER_ID, HDFS_USER, SNAPSHOT
from lambdas.core.ends.object_writing import KMS_KEY_PATTERN
from lambdas.core.request.bandwidth import TIME_OF_DAY, TIME_ZONE
from lambdas.core.request.deletion import CONFIRMATION

_RIGHT = {
    "missing": "is missing; it is required",
    "no_machine": "is missing; it is required, or instanceIds with several machines that reach the same data",
    "no_worker": "is missing; it is required, or clusterId with the id of a cluster of EMR",
    "extra_forbidden": "is not a known key; remove it or correct its spelling",
}
_OF_OBJECTS = ("expectedBucketOwner", "archived", "restore", "storageClass", "tags", "kmsKeyId")
_OF_BLOCKS = ("replication", "blockSizeMiB")
_NOT_OF_A_BUCKET = {
    **dict.fromkeys(
        ("instanceId", "instanceIds", "workers", "clusterId"),
        "a bucket has no machine of its own: the machine at the other end reads or writes it; leave it out",
    ),
    **dict.fromkeys(
        ("runAs", "cpuWeight", "ioWeight", "user"),
        "a bucket has no user and no daemon of its own: say it of the machine at the other end; leave it out",
    ),
    **dict.fromkeys(_OF_BLOCKS, "files of HDFS have it, objects have not; leave it out"),
    "path": "write a bucket's beginning of keys as prefix, e.g. backup/",
    "paths": "write a bucket's beginning of keys as prefix, e.g. backup/",
    "versions": "the newest version of each object is moved; S3 Batch Replication copies all of them; leave it out",
}
_NOT_OF_A_MACHINE = {
    **dict.fromkeys(("bucket", "prefix"), "a machine has paths; leave it out, or write kind as 'bucket'"),
    **dict.fromkeys(
        _OF_OBJECTS, "objects of a bucket have it, files have not; leave it out, or write kind as 'bucket'"
    ),
    **dict.fromkeys(
        ("workers", "clusterId"),
        "a machine is named as instanceId, several as instanceIds; leave it out, or write kind as 'hdfs'",
    ),
    "user": "a user of a machine is named as runAs; leave it out, or write kind as 'hdfs'",
    **dict.fromkeys(_OF_BLOCKS, "files of HDFS have it, others have not; leave it out, or write kind as 'hdfs'"),
}
_NOT_OF_HDFS = {
    **dict.fromkeys(("instanceId", "instanceIds"), "name instances of the cluster as workers, in a list; leave it out"),
    **dict.fromkeys(("bucket", "prefix"), "HDFS has paths; leave it out, or write kind as 'bucket'"),
    **dict.fromkeys(
        _OF_OBJECTS, "objects of a bucket have it, files have not; leave it out, or write kind as 'bucket'"
    ),
}
_FOREIGN = {"Bucket": _NOT_OF_A_BUCKET, "Machine": _NOT_OF_A_MACHINE, "Hdfs": _NOT_OF_HDFS}
"""By kind of end: keys that it has not, with the reason."""
PATTERNS = {
    TRANSFER_ID: "write up to 80 letters, digits, '-' or '_', a letter or digit first",
    INSTANCE_ID: "write the id of an instance, e.g. i-0123456789abcdef0",
    REGION: "write the name of a region, e.g. us-west-2",
    INSTANCE_TYPE: "write an instance type, e.g. c6in.large",
    ABSOLUTE_PATH: "write an absolute path, e.g. /data/set",
    TIME_OF_DAY: "write a time of day, e.g. 08:00",
    TIME_ZONE: "write the IANA name of a time zone, e.g. UTC or Europe/Berlin",
    CONFIRMATION: 'write the digest that a dry run reports, 64 hexadecimal digits, or "without-dry-run"',
    RULE: "write each rule as an item of its own, without a line break",
    ACCOUNT: 'write the 12 digits of the account that owns the bucket, in quotes, e.g. "123456789012"',
    KMS_KEY_PATTERN: "write the ARN of a key of KMS, none of an alias, which may mean another key tomorrow, "
    "as KMS shows it: it ends with key/ and an id, e.g. :key/1234abcd-12ab-34cd-56ef-1234567890ab",
    USER: "write the name or the number of a user of that machine, e.g. backup or 1000",
    HDFS_USER: "write the name of a user of HDFS, e.g. etl",
    SNAPSHOT: "write the name of a snapshot as hdfs dfs -createSnapshot takes it, e.g. s2026-12-01",
    CLUSTER_ID: "write the id of a cluster of EMR, e.g. j-3KVTXXXXXX7UG",
}
_MESSAGES = {
    "model_type": "write a JSON object",
    "model_attributes_type": "write a JSON object",
    "dict_type": "write a JSON object",
    "list_type": 'write a list in brackets, e.g. ["/data"]',
    "string_type": "write text in quotes",
    "string_unicode": "write text in UTF-8: half of a surrogate pair is no character",
    "bool_type": "write true or false, without quotes",
    "int_type": "write a whole number, without quotes",
    "float_type": "write a number, without quotes",
    "finite_number": "write a number that is finite",
    "literal_error": "write {expected}",
    "too_short": "write {min_length} or more",
    "too_long": "write {max_length} at most",
    "string_too_short": "write {min_length} characters or more",
    "string_too_long": "write {max_length} characters at most",
    "greater_than": "write more than {gt}",
    "greater_than_equal": "write {ge} or more",
    "less_than": "write less than {lt}",
    "less_than_equal": "write {le} or less",
}
"""Pydantic's kinds of problems, with what would be right: its own words say only what is wrong."""
_UNION_BRANCHES = (
    "literal['auto']",
    "literal['none']",
    "Mbps",
    "Timetable",
    "constrained-int",
    "bool",
    "int",
    "function-before[whole(), int]",
    "Sides",
    "Types",
    "TypesBySide",
    "PlainPath",
    "NamedPath",
    *_FOREIGN,
)


def describe(error: ValidationError, right: Mapping[str, str] = {}) -> list[str]:
    """One line per field; the branches of a choice (`"auto"` or a number) are joined with "or", or said by `right`."""
    lines: dict[str, tuple[str, list[str]]] = {}
    for problem in error.errors(include_url=False, include_context=True):
        field = _path(problem["loc"])
        if problem["type"] == "no_machine":  # of a default pydantic names the field as code does
            field = field.replace("instance_id", "instanceId")
        if foreign := _foreign(problem["type"], problem["loc"]):
            lines[field] = (f"{field}: is not a known key; {foreign}", [])
        elif problem["type"] in _RIGHT:
            lines[field] = (f"{field}: {_RIGHT[problem['type']]}", [])
        else:
            head = f"{field}: {_value(problem.get('input'))} is not valid"
            context = problem.get("ctx", {})
            known = PATTERNS.get(str(context.get("pattern"))) or _MESSAGES.get(problem["type"], "").format(**context)
            message = right.get(field) or known or _message(problem["msg"])
            lines.setdefault(field, (head, []))[1].append(message)
    return [head + (f"; {' or '.join(dict.fromkeys(why))}" if why else "") for head, why in lines.values()]


def _foreign(kind: str, location: tuple[int | str, ...]) -> str | None:
    """Why an end of its kind has no such key, where that can be said."""
    if kind != "extra_forbidden" or len(location) < 2:
        return None
    return _FOREIGN.get(str(location[-2]), {}).get(str(location[-1]))


def _path(location: tuple[int | str, ...]) -> str:
    path = "$"
    for step in location:
        if isinstance(step, int):
            path += f"[{step}]"
        elif step not in _UNION_BRANCHES and "[" not in step:
            path += f".{step}"
    return path


def _message(message: str) -> str:
    return message[0].lower() + message[1:]


def _value(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 80 else text[:77] + "..."
