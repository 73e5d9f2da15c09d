"""`cpt map`: what it asks for, what it prints and writes, and how it ends where it is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cli import mapping
from cli.aws import Aws
from cli.calls import RefusedError
from cli.exit_codes import ExitCode
from cli.main import app
from tests.lambdas import maps

ANSWER = maps.varied().to_document()


class Function:
    """cpt-estimate-request, which answers the invented map, or refuses."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.refusal: RefusedError | None = None

    def __call__(self, aws: Aws, function: str, document: dict[str, Any]) -> dict[str, Any]:
        self.asked.append((function, document))
        if self.refusal:
            raise self.refusal
        return ANSWER


@pytest.fixture
def function(monkeypatch: pytest.MonkeyPatch) -> Function:
    found = Function()
    monkeypatch.setattr(mapping, "invoke", found)
    return found


def cpt(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["map", *map(str, words)])


def test_without_options_all_of_the_map_is_asked_for_and_shown(function: Function) -> None:
    found = cpt()
    assert found.exit_code == ExitCode.SUCCEEDED
    assert function.asked == [("estimate-request", {"map": {}})]
    assert "c6in.large: MB/s through one pair of relays" in found.stdout
    assert "\x1b" not in found.stdout


def test_types_and_regions_are_handed_on(function: Function) -> None:
    cpt("--type", "t3.small", "--type", "c6in.large", "--region", "us-west-2", "--region", "eu-west-1")
    wanted = {"instanceTypes": ["t3.small", "c6in.large"], "regions": ["us-west-2", "eu-west-1"]}
    assert function.asked[0][1] == {"map": wanted}


def test_json_is_the_document_in_one_line(function: Function) -> None:
    found = cpt("--json")
    assert json.loads(found.stdout) == ANSWER
    assert found.stdout.count("\n") == 1


def test_html_is_a_page_and_json_stays_alone_on_standard_output(function: Function, tmp_path: Path) -> None:
    page = tmp_path / "map.html"
    assert f"page: {page}" in cpt("--html", page).stdout
    assert page.read_text().startswith("<!DOCTYPE html>") or "<!DOCTYPE html>" in page.read_text()
    assert json.loads(cpt("--html", page, "--json").stdout) == ANSWER


def test_a_page_that_cannot_be_written_is_a_usage_error(function: Function, tmp_path: Path) -> None:
    found = cpt("--html", tmp_path / "absent" / "map.html")
    assert found.exit_code == ExitCode.USAGE
    assert "No such file or directory; name a file in a directory that you may write to" in found.stderr


def test_what_the_deployment_does_not_have_is_told_in_options(function: Function) -> None:
    problems = [
        "$.map.instanceTypes[0]: 'c9.huge' is not a relay type of this deployment; allowed: c6in.large",
        "$.map.regions[1]: 'eu-north-1' is not enrolled; regions of this deployment: us-west-2",
    ]
    function.refusal = RefusedError("InvalidRequest", "\n".join(problems))
    found = cpt("--type", "c9.huge")
    assert found.exit_code == ExitCode.USAGE
    assert "--type: 'c9.huge' is not a relay type of this deployment; allowed: c6in.large" in found.stderr
    assert "--region: 'eu-north-1' is not enrolled" in found.stderr


def test_another_refusal_has_its_own_code(function: Function) -> None:
    function.refusal = RefusedError("Throttled", "DynamoDB left 3 profiles unread")
    found = cpt()
    assert "Throttled: DynamoDB left 3 profiles unread" in found.stderr
    assert found.exit_code != ExitCode.SUCCEEDED
