"""The argument NAME, and the names of transfers that the shell offers for it."""

from itertools import islice
from typing import Annotated, Any

import typer
from botocore.exceptions import BotoCoreError, ClientError

from cli.aws import home
from cli.executions import asked_arn
from cli.options import not_empty

# The latest of a page of executions: whoever presses Tab waits for it.
MOST_NAMES = 100


def transfer_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the latest executions whose name begins with what was typed; none where AWS does not answer."""
    try:
        aws = home(local=bool(context.params.get("local")))
        pages = aws.client("stepfunctions").get_paginator("list_executions").paginate(stateMachineArn=asked_arn(aws))
        latest: list[dict[str, Any]] = list(islice((item for page in pages for item in page["executions"]), MOST_NAMES))
    except (BotoCoreError, ClientError, typer.Exit):
        return []  # a line of the shell is no place for an error
    return [str(item["name"]) for item in latest if str(item["name"]).startswith(incomplete)]


Transfer = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        callback=not_empty,
        help="The request's name, else that of its execution.",
        autocompletion=transfer_names,
    ),
]
