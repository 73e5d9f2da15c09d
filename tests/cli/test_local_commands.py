"""What `cpt local` refuses without a cloud that runs; tests/local has the cloud itself."""

import json
from pathlib import Path
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


@pytest.mark.parametrize(("source", "path"), [("set", "{here}/set"), ("set/", "{here}/set/"), ("/", "/")])
def test_a_slash_at_the_end_of_a_source_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: str, path: str
) -> None:
    (tmp_path / "set").mkdir()
    monkeypatch.chdir(tmp_path)
    regions = ["us-west-2", "eu-west-1"]
    running = SimpleNamespace(config=LocalConfig(regions=regions), launch_vm=lambda _region, name: f"i-{name}")
    monkeypatch.setattr(LocalCloud, "attach", lambda _state: running)
    monkeypatch.setattr(local_commands, "home", lambda *, local: SimpleNamespace(region=regions[0]))
    answer = CliRunner().invoke(main.app, ["local", "request", source, "out"])
    assert answer.exit_code == 0
    request = json.loads(answer.stdout)
    assert request["source"]["paths"] == [path.format(here=tmp_path)]
    assert request["destination"]["path"] == f"{tmp_path}/out"


def test_a_source_that_is_not_there_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalCloud, "attach", lambda _state: pytest.fail("nothing is launched"))
    answer = CliRunner().invoke(main.app, ["local", "request", "/no/such/path", "out"])
    assert (answer.exit_code, "/no/such/path" in answer.stderr) == (ExitCode.USAGE, True)
