"""What `cpt local` refuses without a cloud that runs; tests/local has the cloud itself."""

from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from cli import local_commands, main
from cli.exit_codes import ExitCode
from local.cloud import LocalCloud
from local.config import LocalConfig


def test_vm_in_a_region_that_the_cloud_lacks_is_refused_with_those_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    running = SimpleNamespace(config=LocalConfig(regions=["us-west-2", "eu-west-1"]))
    monkeypatch.setattr(LocalCloud, "attach", lambda _state: running)
    monkeypatch.setattr(local_commands, "home", lambda *, local: None)
    answer = CliRunner().invoke(main.app, ["local", "vm", "x", "--region", "mars-1"])
    assert answer.exit_code == ExitCode.USAGE
    assert answer.stderr == "cpt: --region mars-1: write one of us-west-2, eu-west-1\n"
