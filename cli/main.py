"""`cpt`: estimate, start, approve, watch, read and tear down transfers; run the local cloud. Uses AWS APIs only."""

import json
import uuid
from pathlib import Path
from typing import Annotated

import typer

from cli import approving, estimating, local_commands, reporting, tearing_down
from cli.aws import home
from cli.options import AsJson, Local
from cli.reporting import Name, finish, read_report
from cli.request_file import read_request
from cli.transfer_state import execution_arn
from cli.watching import watch_execution

app = typer.Typer(
    no_args_is_help=True, add_completion=True, help="Cloud Parallel Transfer.", pretty_exceptions_enable=False
)
app.add_typer(local_commands.app, name="local")
app.command(epilog=estimating.EXAMPLES)(estimating.estimate)
app.command()(approving.approve)
app.command()(approving.reject)
app.command()(reporting.report)
app.command()(tearing_down.teardown)


@app.command()
def start(
    request: Annotated[Path, typer.Argument(help="Transfer request, a JSON file.", exists=True, dir_okay=False)],
    *,
    local: Local = False,
    wait: Annotated[bool, typer.Option("--wait", help="Watch until it ends.")] = False,
    as_json: AsJson = False,
) -> None:
    """Start a transfer."""
    aws = home(local=local)
    document = read_request(request)
    name = str(document.get("name") or f"transfer-{uuid.uuid4().hex[:12]}")
    machine = execution_arn(aws, name).rsplit(":", 1)[0].replace(":execution:", ":stateMachine:")
    started = aws.client("stepfunctions").start_execution(
        stateMachineArn=machine, name=name, input=json.dumps(document)
    )
    if as_json:
        typer.echo(json.dumps({"name": name, "executionArn": started["executionArn"]}))
    elif not wait:
        typer.echo(f"started {name}; watch it with: cpt watch {name}{' --local' if local else ''}")
    if wait:
        execution = watch_execution(aws, started["executionArn"], as_json=as_json)
        finish(read_report(aws, execution), as_json=as_json)


@app.command()
def watch(name: Name, *, local: Local = False, as_json: AsJson = False) -> None:
    """Show bytes, rate, time left and lanes until the transfer ends."""
    aws = home(local=local)
    execution = watch_execution(aws, execution_arn(aws, name), as_json=as_json)
    finish(read_report(aws, execution), as_json=as_json)


def main() -> None:
    """Entry point."""
    app()


if __name__ == "__main__":
    main()
