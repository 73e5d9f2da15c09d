"""`cpt start`: an execution from a request in a file."""

import json
import uuid
from pathlib import Path
from typing import Annotated

import typer
from botocore.exceptions import ClientError

from cli.aws import home
from cli.calls import refuse
from cli.executions import machine_arn
from cli.options import AsJson, Local
from cli.request_file import read_request
from cli.watching import watch_to_the_end
from lambdas.core.errors import InvalidRequest


def start(
    request: Annotated[Path, typer.Argument(help="Transfer request, a JSON file.", exists=True, dir_okay=False)],
    *,
    name: Annotated[
        str | None, typer.Option(help="Of transfer and execution; default: the request's, else a new one.")
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
    known = str(document.get("name") or f"transfer-{uuid.uuid4().hex[:12]}")
    try:
        started = aws.client("stepfunctions").start_execution(
            stateMachineArn=machine_arn(aws), name=known, input=json.dumps(document)
        )
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code == "ExecutionAlreadyExists":
            refuse(InvalidRequest.__name__, f"$.name: '{known}' was used within 90 days; choose another with --name")
        if code == "InvalidName":
            refuse(InvalidRequest.__name__, f"$.name: '{known}' is no name; write up to 80 letters, digits, '-' or '_'")
        raise
    if as_json:
        typer.echo(json.dumps({"name": known, "executionArn": started["executionArn"]}))
    elif not watch:
        typer.echo(f"started {known}; watch it with: cpt watch {known}{' --local' if local else ''}")
    if watch:
        watch_to_the_end(aws, started["executionArn"], as_json=as_json)
