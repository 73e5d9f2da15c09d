"""The functions that people invoke: one call, one answer, and the function's own error where it refuses."""

import json
from typing import Any, NoReturn

import typer

from cli.aws import Aws
from cli.exit_codes import of_error


def call(aws: Aws, function: str, document: dict[str, Any]) -> dict[str, Any]:
    """The answer of the deployment's `function`; ends the command with its message and exit code where it refuses."""
    answer = aws.client("lambda").invoke(
        FunctionName=f"{aws.deployment}-{function}", Payload=json.dumps(document).encode()
    )
    body: dict[str, Any] = json.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        refuse(str(body.get("errorType", "UnknownError")), str(body.get("errorMessage", "")))
    return body


def refuse(error: str, message: str) -> NoReturn:
    """Say why, and end with the exit code of the error's class."""
    typer.echo(f"cpt: {error}: {message}", err=True)
    raise typer.Exit(of_error(error))
