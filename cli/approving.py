"""`cpt approve` and `cpt reject`: the answer to a transfer that waits for a person."""

import json
from typing import Annotated

import typer

from cli.aws import home
from cli.calls import call
from cli.completion import Transfer
from cli.console import say
from cli.exit_codes import ExitCode
from cli.options import AsJson, Local
from cli.quantities import OptionError, row_pairs

FUNCTION = "decide-approval"


def approve(
    name: Transfer,
    *,
    pairs: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER", help="Number of relay pairs, as in a row of the estimate (default: the recommended row)."
        ),
    ] = None,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Let a transfer that waits for approval go on: `cpt approve NAME --pairs 3`."""
    try:
        chosen = {} if pairs is None else {"pairs": row_pairs(pairs)}
    except OptionError as error:
        say(f"cpt: {error}", err=True)
        raise typer.Exit(ExitCode.USAGE) from None
    answer = call(home(local=local), FUNCTION, {"transferId": name, "decision": "approve", **chosen})
    say(json.dumps(answer) if as_json else f"approved {name} with {answer['pairs']} pairs")


def reject(
    name: Transfer,
    *,
    reason: Annotated[str | None, typer.Option(help="Reason; the report shows it.")] = None,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """End a transfer that waits for approval; nothing was launched."""
    told = {} if reason is None else {"reason": reason}
    answer = call(home(local=local), FUNCTION, {"transferId": name, "decision": "reject", **told})
    say(json.dumps(answer) if as_json else f"rejected {name}")
