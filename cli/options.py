"""Options that several commands have."""

from contextvars import ContextVar
from typing import Annotated

import typer

from cli.console import say
from cli.exit_codes import ExitCode

_in_local_cloud: ContextVar[bool] = ContextVar("in_local_cloud", default=False)


def _remember(given: bool) -> bool:
    _in_local_cloud.set(given)
    return given


# Eager: NAME is judged after it, and its refusal has to know of it.
Local = Annotated[
    bool,
    typer.Option("--local", callback=_remember, is_eager=True, help="Use the local cloud of this checkout."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts, one document a line.")]


def and_local() -> str:
    """The end of a command that a person may copy: ` --local` where the present command has it."""
    return " --local" if _in_local_cloud.get() else ""


def not_empty(name: str) -> str:
    """Refuse an empty NAME, which a script has where its variable is not set; no service takes one."""
    if not name:
        say(f"cpt: NAME is empty; give the name of a transfer: cpt list{and_local()} shows them", err=True)
        raise typer.Exit(ExitCode.USAGE)
    return name
