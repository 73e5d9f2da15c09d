"""The first transfer of somebody's own: the README's commands, on a local cloud that runs already."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from tests.e2e.account import Account
from tests.e2e.files import make_files, tree

CHECKOUT = Path(__file__).parents[2]
PREFIX = ".venv/bin/cpt "


def commands() -> list[str]:
    """The README's, from the checkout to a copy of one's own data."""
    section = (CHECKOUT / "README.md").read_text().split("## Your own data, in five commands", 1)[1]
    return re.split(r"```\w*\n", section, maxsplit=2)[1].splitlines()


def test_there_are_five() -> None:
    assert [command.removeprefix(PREFIX).split()[0:2] for command in commands()] == [
        ["make", "synth"],
        ["local", "up"],
        ["local", "request"],
        ["start", "request.json"],
        ["local", "down"],
    ]


def test_they_move_the_data(account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".local").symlink_to(account.cloud.state.root)
    (tmp_path / "cdk.json").symlink_to(CHECKOUT / "cdk.json")
    source = make_files(tmp_path / "docs", large_bytes=1000)
    monkeypatch.chdir(tmp_path)
    # The first two have been done for the account, the last is done for all at the end.
    for command in commands()[2:4]:
        words, _, file = command.removeprefix(PREFIX).partition(" > ")
        ours = words.replace("$PWD", str(tmp_path)).replace("/tmp/cpt-copy", str(tmp_path / "copy"))
        result = CliRunner().invoke(app, shlex.split(ours))
        assert result.exit_code == 0, result.output
        if file:
            Path(file).write_text(result.stdout)
    assert tree(tmp_path / "copy" / "docs") == tree(source)
