"""`cpt profiles`: what estimates have learnt, kept in a file and brought back."""

import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from cli.aws import Aws, home
from cli.calls import refuse
from cli.console import say
from cli.exit_codes import ExitCode
from cli.options import AsJson, Local
from lambdas.adapters.profile_backup import ProfileBackup
from lambdas.core.errors import InvalidRequest
from lambdas.core.estimate.profile_entry import ProfileEntry, read_entries

app = typer.Typer(no_args_is_help=True, help="What estimates have learnt: keep it in a file, and bring it back.")


@app.command(name="export")
def export(
    file: Annotated[
        Path | None, typer.Argument(help="Where to write; default: standard output.", dir_okay=False)
    ] = None,
    *,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Write all that estimates have learnt, one line for each subject and pair of regions."""
    try:
        entries = sorted(_backup(home(local=local)).entries(), key=lambda entry: entry.key)
    except InvalidRequest as error:
        refuse(type(error).__name__, str(error))
    lines = [entry.to_json() for entry in entries]
    if file is None:
        for line in lines:
            say(line)
        return
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    told = {"file": str(file), "entries": len(lines)}
    say(json.dumps(told) if as_json else f"{len(lines)} entries are in {file}")


@app.command(name="import")
def import_(
    file: Annotated[Path, typer.Argument(help="The file that export has written, or -.", dir_okay=False)],
    *,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what the table has, also where that is newer.")
    ] = False,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Write into the table what it does not have, or has from an earlier time.

    The whole file is judged before anything is written. Where an import ends in the middle, the same one goes on.
    """
    try:
        entries = read_entries(_text(file).splitlines(), time.time())
        backup = _backup(home(local=local))
        done = Counter(_restored(backup, entry, overwrite=overwrite, as_json=as_json) for entry in entries)
    except InvalidRequest as error:
        refuse(type(error).__name__, f"{file}: {error}")
    if not as_json:
        kept = f"; {done['kept']} stay, as the table has the same or something newer" if done["kept"] else ""
        say(f"{done['added']} entries are new, {done['replaced']} are replaced{kept}")


def _restored(backup: ProfileBackup, entry: ProfileEntry, *, overwrite: bool, as_json: bool) -> str:
    result = backup.restore(entry, overwrite=overwrite)
    if as_json:
        say(json.dumps({"subject": entry.subject, "regionPair": entry.region_pair, "result": result}))
    return result


def _backup(aws: Aws) -> ProfileBackup:
    return ProfileBackup(aws.client("dynamodb"), f"{aws.deployment}-profiles")


def _text(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        say(f"cpt: {file} is not UTF-8 text; give what cpt profiles export has written", err=True)
    except OSError as error:
        say(f"cpt: {file}: {error.strerror}; give what cpt profiles export has written", err=True)
    raise typer.Exit(ExitCode.USAGE)
