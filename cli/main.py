"""`cpt`: estimate, start, approve, watch, read and tear down transfers; run the local cloud. Uses AWS APIs only."""

import json
import uuid
from pathlib import Path
from typing import Annotated, Any

import typer

from cli import approving, estimating, local_commands, tearing_down
from cli.aws import Aws, home
from cli.exit_codes import ExitCode, exit_code
from cli.options import AsJson, Local
from cli.render import make_console, report_view
from cli.request_file import read_request
from cli.transfer_state import describe, execution_arn
from cli.watching import watch_execution

app = typer.Typer(
    no_args_is_help=True, add_completion=True, help="Cloud Parallel Transfer.", pretty_exceptions_enable=False
)
app.add_typer(local_commands.app, name="local")
app.command(epilog=estimating.EXAMPLES)(estimating.estimate)
app.command()(approving.approve)
app.command()(approving.reject)
app.command()(tearing_down.teardown)

Name = Annotated[str, typer.Argument(help="Name of the transfer's execution.")]


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
        _finish(aws, watch_execution(aws, started["executionArn"], as_json=as_json), as_json=as_json)


@app.command()
def watch(name: Name, *, local: Local = False, as_json: AsJson = False) -> None:
    """Show bytes, rate, time left and lanes until the transfer ends."""
    aws = home(local=local)
    _finish(aws, watch_execution(aws, execution_arn(aws, name), as_json=as_json), as_json=as_json)


@app.command()
def report(name: Name, *, local: Local = False, as_json: AsJson = False) -> None:
    """Print the report of a transfer that has ended."""
    aws = home(local=local)
    execution = describe(aws, execution_arn(aws, name))
    if execution["status"] == "RUNNING":
        typer.echo(f"cpt: {name} is still running; watch it with: cpt watch {name}", err=True)
        raise typer.Exit(ExitCode.USAGE)
    _finish(aws, execution, as_json=as_json)


def _finish(aws: Aws, execution: dict[str, Any], *, as_json: bool) -> None:
    document = read_report(aws, execution)
    if as_json:
        typer.echo(json.dumps(document))
    elif "stages" in document:
        make_console().print(report_view(document))
    else:
        typer.echo(f"{document['status']}: {document.get('error', '')}: {document.get('cause', '')}", err=True)
    raise typer.Exit(exit_code(document))


def read_report(aws: Aws, execution: dict[str, Any]) -> dict[str, Any]:
    """The report: the output of a success, else the object that Write Report left; else what the execution says."""
    if execution["status"] == "SUCCEEDED":
        output: dict[str, Any] = json.loads(execution["output"])
        return output
    s3 = aws.client("s3")
    account = aws.client("sts").get_caller_identity()["Account"]
    request = json.loads(execution["input"])
    transfer_id = (request.get("name") if isinstance(request, dict) else None) or execution["name"]
    try:
        body = s3.get_object(
            Bucket=f"{aws.deployment}-control-{account}-{aws.region}", Key=f"transfers/{transfer_id}/report.json"
        )
        stored: dict[str, Any] = json.loads(body["Body"].read())
        if stored.get("executionArn") == execution["executionArn"]:
            return stored
    except s3.exceptions.NoSuchKey:
        pass
    return {"status": execution["status"], "error": execution.get("error"), "cause": execution.get("cause")}


def main() -> None:
    """Entry point."""
    app()


if __name__ == "__main__":
    main()
