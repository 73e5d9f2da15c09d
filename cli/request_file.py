"""A transfer request in a file."""

import json
from pathlib import Path
from typing import Any

import typer

from cli.exit_codes import ExitCode


def read_request(path: Path) -> dict[str, Any]:
    """The request in a file; ends the command where it holds none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        typer.echo(f"cpt: {path} is not JSON: {error}", err=True)
        raise typer.Exit(ExitCode.USAGE) from error
    if not isinstance(document, dict):
        typer.echo(f"cpt: {path} holds {type(document).__name__}; a transfer request is a JSON object", err=True)
        raise typer.Exit(ExitCode.USAGE)
    return document
