"""`cpt waves`: a tree that changes is moved in waves under a label, until it can be cut over."""

import json
import re
import time
from collections.abc import Callable
from hashlib import sha256
from shlex import quote
from typing import Annotated, Any

import typer
from botocore.exceptions import ClientError

from cli.aws import Aws, home
from cli.calls import refuse
from cli.console import make_console, say
from cli.executions import find_by_arn, machine_arn
from cli.exit_codes import ExitCode
from cli.given_ends import given_request
from cli.judging import judge_input, judge_waves
from cli.options import AsJson, Local, and_local
from cli.waves_view import waves_view
from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_waves import DynamoWaves
from lambdas.core.documents import Document
from lambdas.core.errors import NoSuchTransfer, TransferRunning
from lambdas.core.request.labels import Label
from lambdas.core.request.quantities import SIZE, SPAN
from lambdas.core.waves.asked import USUAL_WAVES
from lambdas.core.waves.waves import Waves

LOOK_SECONDS = 2.0
_SAFE = r"[A-Za-z0-9][A-Za-z0-9_-]{0,47}"
_READABLE = 40


class _Labelled(Document):
    """What of the command line is looked up before anything is started."""

    label: Label


def waves(
    request: Annotated[
        str | None,
        typer.Argument(
            metavar="REQUEST|SOURCE",
            help="Transfer request, a JSON file; or with DESTINATION what is moved: i-…:/path. Without it: only show.",
        ),
    ] = None,
    destination: Annotated[
        str | None, typer.Argument(metavar="DESTINATION", help="Where it goes: i-…:/path or s3://bucket/prefix/.")
    ] = None,
    *,
    label: Annotated[str, typer.Option(help="The waves are known by it, and their transfers have it.")],
    until: Annotated[
        str | None,
        typer.Option(
            metavar="60s|1GB", help="End once a transfer of what is left takes so long, or once so much is left."
        ),
    ] = None,
    most: Annotated[
        int, typer.Option(metavar="NUMBER", help="End after so many waves; 0: look at what is left, and move nothing.")
    ] = USUAL_WAVES,
    cut_over: Annotated[bool, typer.Option("--cut-over", help="Move what is left, as the request says.")] = False,
    confirm_delete: Annotated[
        str | None,
        typer.Option(metavar="DIGEST", help="With --cut-over: delete the extra files that the latest look has found."),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show what happens until the waves end.")] = False,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Move a tree that changes in waves, each smaller than the last, and say when to cut over."""
    judge_input(_Labelled, {"label": label})
    aws = home(local=local)
    if request is None:
        _show(_known(aws, label), as_json=as_json)
        return
    document = {key: value for key, value in given_request(aws, request, destination).items() if key != "name"}
    if confirm_delete is not None:
        document["confirmDelete"] = confirm_delete
    asked: dict[str, Any] = {"label": label, "request": document, "mostWaves": most, **_bound(until)}
    if cut_over:
        asked["cutOver"] = True
    judge_waves(aws, asked)
    arn = _start(aws, label, asked)
    if watch:
        _watch(aws, label, arn, as_json=as_json)
    if as_json:
        say(json.dumps({"label": label, "executionArn": arn}))
    else:
        again = f"cpt waves --label {quote(label)}{and_local()}"
        say(f"started the waves of {label!r}; they go on without this terminal: {again}")


def _bound(until: str | None) -> dict[str, str]:
    if until is None:
        return {}
    if re.fullmatch(SPAN, until):
        return {"untilSeconds": until}
    if re.fullmatch(SIZE, until):
        return {"untilBytes": until}
    raise typer.BadParameter(f"'{until}' is neither a time (90s, 5m) nor a size (500MB, 1GB)", param_hint="--until")


def _execution_name(label: str) -> str:
    """The label where it is fit for that, else what of it is readable, and its digest."""
    if re.fullmatch(_SAFE, label):
        return label
    readable = re.sub(r"[^A-Za-z0-9]+", "-", label).strip("-")[:_READABLE].strip("-") or "waves"
    return f"{readable}-{sha256(label.encode()).hexdigest()[:8]}"


def _start(aws: Aws, label: str, asked: dict[str, Any]) -> str:
    """Started under the first of NAME, NAME-2, … that is free; ends the command where one of them still runs."""
    client = aws.client("stepfunctions")
    machine = f"{machine_arn(aws).removesuffix('-transfer')}-waves"
    base = _execution_name(label)
    number = 0
    while True:
        number += 1
        name = base if number == 1 else f"{base}-{number}"
        try:
            started = client.start_execution(stateMachineArn=machine, name=name, input=json.dumps(asked))
            return str(started["executionArn"])
        except ClientError as error:
            if error.response["Error"]["Code"] != "ExecutionAlreadyExists":
                raise
        arn = f"{machine.replace(':stateMachine:', ':execution:')}:{name}"
        if find_by_arn(aws, arn)["status"] == "RUNNING":
            told = f"waves run under {label!r} already: {arn}; wait until they have ended, or choose another label"
            refuse(TransferRunning.__name__, f"$.label: {told}")


def _read(aws: Aws, label: str) -> Waves | None:
    return DynamoWaves(Table(aws.client("dynamodb"), f"{aws.deployment}-transfers")).of(label)


def _known(aws: Aws, label: str) -> Waves:
    found = _read(aws, label)
    if found is None:
        refuse(NoSuchTransfer.__name__, f"there are no waves of {label!r} in {aws.region}")
    return found


def _show(found: Waves, *, as_json: bool) -> None:
    if as_json:
        say(found.to_json())
    else:
        make_console().print(waves_view(found, and_local()))


def _watch(aws: Aws, label: str, arn: str, *, as_json: bool) -> None:
    """Tell each step until the end, and exit with its code; Ctrl-C ends only the watching."""
    try:
        execution = _follow(aws, label, arn, (lambda found: say(found.to_json())) if as_json else _tell)
    except KeyboardInterrupt:
        say(f"no longer watched; the waves go on. Again: cpt waves --label {quote(label)}{and_local()}", err=True)
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    if execution["status"] != "SUCCEEDED":
        refuse(str(execution.get("error") or execution["status"]), str(execution.get("cause") or "no cause was given"))
    over = Waves.from_document(json.loads(execution["output"]))
    if not as_json:
        _show(over, as_json=False)
    raise typer.Exit(ExitCode.REQUEST if over.status == "NOT_YET" else ExitCode.SUCCEEDED)


def _tell(found: Waves) -> None:
    say(found.said)


def _follow(aws: Aws, label: str, arn: str, tell: Callable[[Waves], None]) -> dict[str, Any]:
    """Tell each state of the label while the execution has it; returns how the execution has ended."""
    version = 0
    while True:
        execution = find_by_arn(aws, arn)
        found = _read(aws, label)
        if found is not None and found.execution_arn == arn and found.version > version:
            version = found.version
            tell(found)
        if execution["status"] != "RUNNING":
            return execution
        time.sleep(LOOK_SECONDS)
