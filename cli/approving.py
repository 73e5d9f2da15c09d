"""`cpt approve` and `cpt reject`: the answer to a transfer that waits for a person."""

import json
from typing import Annotated

import typer

from cli.aws import home
from cli.calls import call
from cli.options import AsJson, Local

FUNCTION = "decide-approval"

Transfer = Annotated[str, typer.Argument(metavar="NAME", help="The request's name, else that of its execution.")]


def approve(
    name: Transfer,
    *,
    pairs: Annotated[
        int | None, typer.Option(min=0, help="A row of the estimate; default: the recommended one.")
    ] = None,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Let a transfer that waits for approval go on: `cpt approve NAME --pairs 3`."""
    chosen = {} if pairs is None else {"pairs": pairs}
    answer = call(home(local=local), FUNCTION, {"transferId": name, "decision": "approve", **chosen})
    typer.echo(json.dumps(answer) if as_json else f"approved {name} with {answer['pairs']} pairs")


def reject(
    name: Transfer,
    *,
    reason: Annotated[str | None, typer.Option(help="Why; it stands in the report.")] = None,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """End a transfer that waits for approval; nothing was launched."""
    told = {} if reason is None else {"reason": reason}
    answer = call(home(local=local), FUNCTION, {"transferId": name, "decision": "reject", **told})
    typer.echo(json.dumps(answer) if as_json else f"rejected {name}")
