"""`cpt cancel`: end a transfer that runs; a rule of the deployment takes down what it left."""

import json
from typing import Annotated

import typer

from cli.aws import home
from cli.console import say
from cli.executions import find
from cli.options import AsJson, Local, and_local
from cli.reporting import Name


def cancel(
    name: Name,
    *,
    reason: Annotated[str, typer.Option(help="Reason; the execution keeps it as its cause.")] = "cancelled by a person",
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Stop a transfer and return at once. What has arrived stays; one that has ended is left as it is."""
    aws = home(local=local)
    execution = find(aws, name)
    runs = execution["status"] == "RUNNING"
    if runs:
        aws.client("stepfunctions").stop_execution(
            executionArn=execution["executionArn"], error="Cancelled", cause=reason
        )
    status = "ABORTED" if runs else execution["status"]
    if as_json:
        say(json.dumps({"name": name, "cancelled": runs, "status": status}))
    elif runs:
        report = f"cpt report {name}{and_local()}"
        say(f"cancelled {name}; daemons and relays are being taken down: {report} tells when it is done")
    else:
        say(f"{name} has ended already ({status}); nothing was changed")
