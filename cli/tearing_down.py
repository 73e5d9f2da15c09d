"""`cpt teardown`: leave nothing of a transfer running, whatever has become of it."""

import json
import sys
from typing import Annotated, Any

import typer

from cli.aws import home
from cli.calls import RefusedError, invoke, refuse
from cli.completion import Transfer
from cli.console import say
from cli.options import AsJson, Local
from lambdas.core.errors import TransferRunning

FUNCTION = "teardown-request"
# The function's own limit: stopping daemons, then looking until EC2 lists no relay any more.
SECONDS = 900


def teardown(
    name: Transfer,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before stopping a transfer that still runs.")] = False,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Stop daemons, terminate relays, revoke rules and free the destination; safe at any time, as often as you like."""
    aws = home(local=local)
    try:
        done = invoke(aws, FUNCTION, {"transferId": name, "stop": yes}, SECONDS)
    except RefusedError as refused:
        asks = refused.error == TransferRunning.__name__ and sys.stdin.isatty()
        if not asks or not typer.confirm(f"{name} still runs. Stop it? What has arrived stays", err=True):
            hint = "; --yes stops it" if refused.error == TransferRunning.__name__ else ""
            refuse(refused.error, f"{refused.message}{hint}")
        try:
            done = invoke(aws, FUNCTION, {"transferId": name, "stop": True}, SECONDS)
        except RefusedError as again:
            refuse(again.error, again.message)
    say(json.dumps(done) if as_json else _sentence(name, done))


def _sentence(name: str, done: dict[str, Any]) -> str:
    return (
        f"{name} (execution: {done['execution']}): daemons stopped on {done['stopped']} of 2 machines; "
        f"{done['terminated']} relays terminated, {done['revokedRules']} rules revoked, "
        f"{done['deletedObjects']} temporary objects deleted"
    )
