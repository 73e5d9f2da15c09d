"""Words for commands that need a checkout: `cpt local`, and those that people look for in `cpt` and `make` has."""

from importlib.util import find_spec
from typing import NoReturn

import typer

from cli.console import say
from cli.exit_codes import ExitCode

_WORDS = {
    "local": "cpt local needs a checkout, which has the local cloud: make synth, then .venv/bin/cpt local up",
    "deploy": "cpt does not deploy: npx cdk deploy --all does, in a checkout or in a release's unpacked deployment",
    "demo": "cpt has no demo: make demo runs it, in a checkout",
    "test": "cpt has no tests: make test runs them, in a checkout",
}
_ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True}


def add_to(app: typer.Typer) -> None:
    """Add `cpt local` where the local cloud is installed; what is not there says where it is."""
    there = find_spec("local") is not None and find_spec("ministack") is not None
    if there:
        from cli import local_commands

        app.add_typer(local_commands.app, name="local")
    for name, words in _WORDS.items():
        if not (there and name == "local"):
            _add(app, name, words)


def _add(app: typer.Typer, name: str, words: str) -> None:
    @app.command(name=name, hidden=True, context_settings=_ANYTHING, add_help_option=False)
    def refuse() -> NoReturn:
        say(f"cpt: {words}", err=True)
        raise typer.Exit(ExitCode.USAGE)
