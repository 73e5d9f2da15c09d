"""`cpt`: from an estimate to the report and the teardown of transfers; runs the local cloud. AWS APIs only."""

import sys

import typer
from botocore.exceptions import BotoCoreError, ClientError

from cli import (
    approving,
    cancelling,
    doctoring,
    estimating,
    leaving,
    limiting,
    listing,
    local_commands,
    mapping,
    redriving,
    reporting,
    starting,
    tearing_down,
    terminal,
    watching,
)
from cli.exit_codes import ExitCode
from cli.refusals import in_words

app = typer.Typer(
    no_args_is_help=True, add_completion=True, help="Cloud Parallel Transfer.", pretty_exceptions_enable=False
)
app.command(epilog=estimating.EXAMPLES)(estimating.estimate)
app.command(name="map")(mapping.map_)
app.command()(doctoring.doctor)
app.command()(starting.start)
app.command()(watching.watch)
app.command(name="list")(listing.list_)
app.command()(approving.approve)
app.command()(approving.reject)
app.command()(limiting.limit)
app.command()(cancelling.cancel)
app.command()(reporting.report)
app.command()(tearing_down.teardown)
app.command()(redriving.redrive)
app.command()(leaving.leave)
app.add_typer(local_commands.app, name="local")


def main() -> None:
    """Entry point; a call that AWS refuses ends it with words and a code of its own."""
    terminal.prepare()
    try:
        app()
    except (BotoCoreError, ClientError) as error:
        typer.echo(f"cpt: {in_words(error)}", err=True)
        sys.exit(ExitCode.AWS)


if __name__ == "__main__":
    main()
