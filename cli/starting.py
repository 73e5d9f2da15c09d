"""`cpt start`: an execution from a request in a file, or from two ends that are named."""

import json
import re
import uuid
from itertools import count
from typing import Annotated, Any

import typer
from botocore.exceptions import ClientError

from cli.aws import Aws, home
from cli.calls import refuse
from cli.console import say
from cli.executions import asked_arn, is_free
from cli.given_ends import given_request
from cli.judging import judge
from cli.options import AsJson, Local, and_local
from cli.watching import watch_to_the_end
from lambdas.core.documents import TRANSFER_ID
from lambdas.core.errors import InvalidRequest
from lambdas.core.intake.starts import MOST_OF_NAME
from lambdas.core.request.problems import PATTERNS
from lambdas.core.request.tenancy import prefix_of, problems_of_names

# Of the 80 characters that Step Functions takes: `-dry-run-` and twelve digits take 21.
MOST_OF_DRY_RUN = 59


def start(
    request: Annotated[
        str,
        typer.Argument(
            metavar="REQUEST|SOURCE",
            help="Transfer request, a JSON file; or with DESTINATION what is moved: i-…:/path or s3://bucket/prefix/.",
        ),
    ],
    destination: Annotated[
        str | None,
        typer.Argument(metavar="DESTINATION", help="Where it goes: i-…:/path or s3://bucket/prefix/."),
    ] = None,
    *,
    name: Annotated[
        str | None,
        typer.Option(
            help="Name of the transfer and of its execution. Default: the name in the request, else a new one."
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Resume the transfer of this name. It must have ended; how it ended does not matter."
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Move nothing; report what would be moved, with its time and cost.")
    ] = False,
    confirm_delete: Annotated[
        str | None,
        typer.Option(
            metavar="DIGEST", help="Delete the extra files at the destination. DIGEST is from the report of a dry run."
        ),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show progress until the transfer ends.")] = False,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Start a transfer."""
    aws = home(local=local)
    document = given_request(aws, request, destination)
    if name is not None:
        document = {**document, "name": name}
    if resume:
        document = {**document, "resume": True}
    if dry_run:
        document = {**document, "dryRun": True}
    if confirm_delete is not None:
        document = {**document, "confirmDelete": confirm_delete}
    if document.get("resume") is True and not document.get("name"):
        refuse(InvalidRequest.__name__, "$.name: is missing; say with --name which transfer is to go on")
    known = _name(document, aws.tenant)
    judge(aws, document)
    if document.get("dryRun") is True:
        known, document = _of_dry_run(document, aws.tenant)
    started = _resume(aws, known, document) if document.get("resume") is True else _start_new(aws, known, document)
    if as_json:
        say(json.dumps({"name": known, "executionArn": started["executionArn"]}))
    elif not watch:
        execution = started["executionArn"].rsplit(":", 1)[-1]
        say(f"started {known}; watch it with: cpt watch {execution}{and_local()}")
    if watch:
        watch_to_the_end(aws, started["executionArn"], as_json=as_json)


def _name(document: dict[str, Any], tenant: str | None) -> str:
    """The request's, or a new one; ends the command where it is none, before an execution is called so."""
    name = document.get("name", f"{_beginning(tenant)}transfer-{uuid.uuid4().hex[:12]}")
    if not (isinstance(name, str) and re.fullmatch(TRANSFER_ID, name)):
        shown = json.dumps(name, ensure_ascii=False)
        refuse(InvalidRequest.__name__, f"$.name: {shown} is not valid; {PATTERNS[TRANSFER_ID]}")
    # Whose other names are the deployment knows.
    if problems := [] if tenant is None else problems_of_names(tenant, name, name, (tenant,)):
        refuse(InvalidRequest.__name__, "\n".join(problems))
    return name


def _beginning(tenant: str | None) -> str:
    return "" if tenant is None else prefix_of(tenant)


def _of_dry_run(document: dict[str, Any], tenant: str | None) -> tuple[str, dict[str, Any]]:
    """A name that is this dry run's alone, and the request without one: its own stays free for the transfer itself."""
    name, without = document.get("name"), {key: value for key, value in document.items() if key != "name"}
    base = f"{_beginning(tenant)}transfer" if name is None else f"{name[:MOST_OF_DRY_RUN]}-dry-run"
    return f"{base}-{uuid.uuid4().hex[:12]}", without


def _start_new(aws: Aws, name: str, document: dict[str, Any]) -> dict[str, Any]:
    """Started under its name, or under NAME-2, NAME-3, … where an execution of that name was refused."""
    started = _start(aws, name, document)
    if started is not None:
        return started
    if not is_free(aws, name):
        refuse(
            InvalidRequest.__name__,
            f"$.name: '{name}' was used within 90 days; choose another with --name, or go on with it by --resume",
        )
    attempts = (f"{name[:MOST_OF_NAME]}-{number}" for number in count(2))
    execution, started = next((one, found) for one in attempts if (found := _start(aws, one, document)) is not None)
    say(
        f"cpt: an execution '{name}' has ended without a transfer, and Step Functions keeps its name for 90 days; "
        f"the transfer '{name}' runs as execution '{execution}'",
        err=True,
    )
    return started


def _resume(aws: Aws, name: str, document: dict[str, Any]) -> dict[str, Any]:
    """Started under the first of NAME-attempt2, NAME-attempt3, … that is free."""
    attempts = (_start(aws, f"{name[:MOST_OF_NAME]}-attempt{number}", document) for number in count(2))
    return next(started for started in attempts if started is not None)


def _start(aws: Aws, execution: str, document: dict[str, Any]) -> dict[str, Any] | None:
    """None where another execution had that name."""
    try:
        return dict(
            aws.client("stepfunctions").start_execution(
                stateMachineArn=asked_arn(aws), name=execution, input=json.dumps(document)
            )
        )
    except ClientError as error:
        if error.response["Error"]["Code"] == "ExecutionAlreadyExists":
            return None
        raise
