"""Commands that need a checkout say so by name; none of them is offered by the help."""

import pytest
import typer
from typer.testing import CliRunner

from cli import checkout
from cli.exit_codes import ExitCode
from cli.main import app


@pytest.mark.parametrize("name", ["deploy", "demo", "test"])
def test_what_needs_a_checkout_says_so_by_name(name: str) -> None:
    answer = CliRunner().invoke(app, [name, "--all", "x"])
    assert (answer.exit_code, answer.stdout) == (ExitCode.USAGE, "")
    assert answer.stderr.startswith("cpt: cpt ")
    assert name in answer.stderr
    assert "in a checkout" in answer.stderr
    assert f" {name} " not in CliRunner().invoke(app, ["--help"]).stdout


@pytest.mark.parametrize("lacking", ["local", "ministack"])
def test_without_the_local_cloud_its_command_says_what_it_needs(lacking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkout, "find_spec", lambda name: None if name == lacking else object())
    installed = typer.Typer()
    checkout.add_to(installed)
    answer = CliRunner().invoke(installed, ["local", "up", "--port", "0"])
    assert (answer.exit_code, answer.stdout) == (ExitCode.USAGE, "")
    assert answer.stderr.startswith("cpt: cpt local needs a checkout")
