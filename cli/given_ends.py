"""Ends as the command line names them: `i-…:/path` and `s3://bucket/prefix`, from which a request is made."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer
from botocore.exceptions import ClientError

from cli.aws import Aws, enrolled
from cli.console import say
from cli.exit_codes import ExitCode
from cli.quantities import OptionError
from cli.request_file import read_request

BUCKET = re.compile(r"s3://([^/]+)(?:/(.*))?", re.DOTALL)
MACHINE = re.compile(r"(i-[0-9a-f]{8,17}):(/.*)", re.DOTALL)
_RIGHT = (
    "write i-0123456789abcdef0:/path of a machine, or s3://bucket/prefix/ of a bucket; for HDFS write a request in a "
    "file"
)


def given_request(aws: Aws, first: str, destination: str | None) -> dict[str, Any]:
    """The request in file `first`, or the smallest one from end `first` to another; ends the command where none is."""
    if destination is None:
        if BUCKET.fullmatch(first) or MACHINE.fullmatch(first):
            raise typer.BadParameter(f"'{first}' is a source; name the destination too", param_hint="DESTINATION")
        if not Path(first).is_file():
            wrong = "is a directory" if Path(first).is_dir() else "does not exist"
            raise typer.BadParameter(f"File '{first}' {wrong}.", param_hint="REQUEST")
        return read_request(Path(first))
    try:
        source, arrives = _end(aws, first), _end(aws, destination)
    except OptionError as error:
        say(f"cpt: {error}", err=True)
        raise typer.Exit(ExitCode.USAGE) from None
    if "path" in source:
        source["paths"] = [source.pop("path")]
    return {"source": source, "destination": arrives}


def region_of(aws: Aws, known: Iterable[str], instance_id: str) -> str:
    """The first enrolled region that knows the instance; raises OptionError."""
    only = [{"Name": "instance-id", "Values": [instance_id]}]
    for region in known:
        if aws.client("ec2", region).describe_instances(Filters=only)["Reservations"]:
            return region
    raise OptionError(instance_id, "is not found", f"no region of {', '.join(known)} has it; name it by --regions")


def _end(aws: Aws, text: str) -> dict[str, Any]:
    if machine := MACHINE.fullmatch(text):
        return {
            "instanceId": machine[1],
            "region": region_of(aws, sorted(enrolled(aws)), machine[1]),
            "path": machine[2],
        }
    if bucket := BUCKET.fullmatch(text):
        # As people write it, and as the AWS command line takes it: what is below is meant.
        prefix = f"{bucket[2].rstrip('/')}/" if bucket[2] else ""
        return {"kind": "bucket", "bucket": bucket[1], "prefix": prefix, "region": _region_of_bucket(aws, bucket[1])}
    raise OptionError(json.dumps(text), "is no end", _RIGHT)


def _region_of_bucket(aws: Aws, name: str) -> str:
    """Where S3 has the bucket; raises OptionError."""
    try:
        answer = aws.client("s3").head_bucket(Bucket=name)
    except ClientError as error:
        # S3 tells the region of a bucket that is elsewhere, or that the caller may not see, all the same.
        answer = error.response
    headers = answer["ResponseMetadata"].get("HTTPHeaders", {})
    if (region := answer.get("BucketRegion") or headers.get("x-amz-bucket-region")) is not None:
        return str(region)
    raise OptionError(f"s3://{name}", "is not found", "correct its name, or write a request in a file with its region")
