"""The list of every entry of a transfer, read from the bucket line by line."""

import json
import sys
from collections.abc import Iterator
from typing import Any, Literal
from urllib.parse import unquote_to_bytes

import typer
from botocore.exceptions import ClientError

from cli.console import say
from cli.exit_codes import ExitCode
from lambdas.core.chunks.entry_list import FAILED_REASONS

Form = Literal["entries", "paths", "names"]
_NAMES = ("extras", "part")


def read(client: Any, where: str | None) -> Iterator[bytes]:
    """Return the lines of the list in the folder `where` (`s3://BUCKET/…/`); ends the command where there is none."""
    if where is None:
        say("cpt: there is no list of its entries: the transfer ended before it was verified", err=True)
        raise typer.Exit(ExitCode.USAGE)
    bucket, _, prefix = where.removeprefix("s3://").partition("/")
    for name in _NAMES:
        yield from _of_name(client, bucket, prefix, name)


def _of_name(client: Any, bucket: str, folder: str, name: str) -> Iterator[bytes]:
    """Objects are numbered, and the last line says that it is: nobody needs the permission to list a bucket."""
    number, prefix = 0, f"{folder}{name}"
    while True:
        try:
            found = client.get_object(Bucket=bucket, Key=f"{prefix}-{number:05d}.ndjson")
        except ClientError as error:
            if error.response["Error"]["Code"] not in ("NoSuchKey", "AccessDenied"):
                raise
            if number or name == _NAMES[-1]:
                _warn(f"{prefix}: the list ends after {number} objects, without its last line")
                raise typer.Exit(ExitCode.AWS) from None
            return  # nothing was to be removed
        for line in found["Body"].iter_lines():
            yield line
            if b'"end":true' in line and json.loads(line).get("end"):
                return
        number += 1


def show(lines: Iterator[bytes], form: Form) -> None:
    """Print the lines, or only the paths of what is still to be moved: `names` as they are, a zero byte after each."""
    out = sys.stdout.buffer
    for line in lines:
        entry = json.loads(line)
        if "end" in entry and not entry["complete"]:
            _warn(f"the list was cut after {entry['entries']:,} entries")
        if form == "entries":
            out.write(line + b"\n")
        elif entry.get("outcome") == "refused" and entry.get("reason") in FAILED_REASONS:
            path = str(entry["path"])
            out.write(unquote_to_bytes(path) + b"\0" if form == "names" else path.encode() + b"\n")
    out.flush()


def _warn(text: str) -> None:
    say(f"cpt: {text}", err=True)
