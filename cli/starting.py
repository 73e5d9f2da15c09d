"""`cpt start`: an execution from a request in a file."""

import json
import re
import uuid
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import typer
from botocore.exceptions import ClientError

from cli.aws import Aws, home
from cli.calls import refuse
from cli.executions import machine_arn
from cli.options import AsJson, Local
from cli.request_file import read_request
from cli.watching import watch_to_the_end
from lambdas.core.documents import TRANSFER_ID
from lambdas.core.errors import InvalidRequest
from lambdas.core.problems import PATTERNS

# Step Functions takes 80 characters as an execution's name; `-attempt390` needs 11.
MOST_OF_NAME = 69


def start(
    request: Annotated[Path, typer.Argument(help="Transfer request, a JSON file.", exists=True, dir_okay=False)],
    *,
    name: Annotated[
        str | None, typer.Option(help="Of transfer and execution; default: the request's, else a new one.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the transfer of that name, which has ended, however it ended.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only report what would be moved, in which time and for how much.")
    ] = False,
    confirm_delete: Annotated[
        str | None,
        typer.Option(metavar="DIGEST", help="Delete at the destination what a dry run has listed."),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Watch until it ends.")] = False,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Start a transfer."""
    aws = home(local=local)
    document = read_request(request)
    if name is not None:
        document = {**document, "name": name}
    if resume:
        document = {**document, "resume": True}
    if dry_run:
        document = {**document, "dryRun": True}
    if confirm_delete is not None:
        document = {**document, "confirmDelete": confirm_delete}
    if document.get("dryRun") is True and name is None:
        # That name stays free for the transfer itself.
        document = {key: value for key, value in document.items() if key != "name"}
    if document.get("resume") is True and not document.get("name"):
        refuse(InvalidRequest.__name__, "$.name: is missing; say with --name which transfer is to go on")
    known = _name(document)
    started = _resume(aws, known, document) if document.get("resume") is True else _start(aws, known, document)
    if started is None:
        refuse(
            InvalidRequest.__name__,
            f"$.name: '{known}' was used within 90 days; choose another with --name, or go on with it by --resume",
        )
    if as_json:
        typer.echo(json.dumps({"name": known, "executionArn": started["executionArn"]}))
    elif not watch:
        execution = started["executionArn"].rsplit(":", 1)[-1]
        typer.echo(f"started {known}; watch it with: cpt watch {execution}{' --local' if local else ''}")
    if watch:
        watch_to_the_end(aws, started["executionArn"], as_json=as_json)


def _name(document: dict[str, Any]) -> str:
    """The request's, or a new one; ends the command where it is none, before an execution is called so."""
    name = document.get("name", f"transfer-{uuid.uuid4().hex[:12]}")
    if not (isinstance(name, str) and re.fullmatch(TRANSFER_ID, name)):
        shown = json.dumps(name, ensure_ascii=False)
        refuse(InvalidRequest.__name__, f"$.name: {shown} is not valid; {PATTERNS[TRANSFER_ID]}")
    return name


def _resume(aws: Aws, name: str, document: dict[str, Any]) -> dict[str, Any]:
    """Started under the first of NAME-attempt2, NAME-attempt3, … that is free."""
    attempts = (_start(aws, f"{name[:MOST_OF_NAME]}-attempt{number}", document) for number in count(2))
    return next(started for started in attempts if started is not None)


def _start(aws: Aws, execution: str, document: dict[str, Any]) -> dict[str, Any] | None:
    """None where another execution had that name."""
    try:
        return dict(
            aws.client("stepfunctions").start_execution(
                stateMachineArn=machine_arn(aws), name=execution, input=json.dumps(document)
            )
        )
    except ClientError as error:
        if error.response["Error"]["Code"] == "ExecutionAlreadyExists":
            return None
        raise
