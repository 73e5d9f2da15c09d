"""The functions that people invoke: one call, one answer, and the function's own error where it refuses."""

import json
from typing import Any, NoReturn

import typer
from botocore.config import Config

from cli.aws import Aws
from cli.console import say
from cli.exit_codes import of_error

# As Lambda's own client has it.
SECONDS = 60


class RefusedError(Exception):
    """The function refused: the name of its error, and its message."""

    def __init__(self, error: str, message: str) -> None:
        super().__init__(message)
        self.error, self.message = error, message


def invoke(aws: Aws, function: str, document: dict[str, Any], seconds: float = SECONDS) -> dict[str, Any]:
    """The answer of the deployment's `function`, for which up to `seconds` are waited; raises RefusedError."""
    alias = {"Qualifier": aws.tenant} if aws.tenant else {}
    answer = aws.client("lambda", config=Config(read_timeout=seconds)).invoke(
        FunctionName=f"{aws.deployment}-{function}", Payload=json.dumps(document).encode(), **alias
    )
    body: dict[str, Any] = json.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        raise RefusedError(str(body.get("errorType", "UnknownError")), str(body.get("errorMessage", "")))
    return body


def call(aws: Aws, function: str, document: dict[str, Any]) -> dict[str, Any]:
    """Invoke a function; where it refuses, end the command with its message and exit code."""
    try:
        return invoke(aws, function, document)
    except RefusedError as refused:
        refuse(refused.error, refused.message)


def refuse(error: str, message: str) -> NoReturn:
    """Say why, and end with the exit code of the error's class."""
    say(f"cpt: {error}: {message}", err=True)
    raise typer.Exit(of_error(error))
