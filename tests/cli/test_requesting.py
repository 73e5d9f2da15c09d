"""`cpt request` and the names that the shell completes, without a deployment."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from botocore.exceptions import NoCredentialsError
from typer.testing import CliRunner, Result

from cli import completion, main, requesting
from cli.exit_codes import ExitCode
from lambdas.core.request.request import Limits, parse_request
from tests.cli.transfers import Account, execution

SOURCE, DESTINATION = "i-0aaaaaaaaaaaaaaa1", "i-0bbbbbbbbbbbbbbb2"
REGIONS = ("eu-west-1", "us-west-2")
WHERE = {SOURCE: "us-west-2", DESTINATION: "eu-west-1"}


class Regions:
    """EC2 of each region, as far as it is asked."""

    def client(self, _service: str, region: str) -> Any:
        def describe_instances(*, Filters: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
            [asked] = Filters[0]["Values"]
            return {"Reservations": [{}] if WHERE.get(asked) == region else []}

        return SimpleNamespace(describe_instances=describe_instances)


@pytest.fixture(autouse=True)
def deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requesting, "enrolled", lambda _aws: REGIONS)
    monkeypatch.setattr(requesting, "home", lambda *, local: Regions())


def cpt(*words: str) -> Result:
    return CliRunner().invoke(main.app, ["request", *words])


def test_request_for_two_machines_is_accepted_as_it_is() -> None:
    answer = cpt(SOURCE, "/data/set/", DESTINATION, "/restore")
    assert answer.exit_code == 0
    request = parse_request(json.loads(answer.stdout), Limits(REGIONS, 8, ()))
    assert (request.source.region, request.source.asked_paths) == ("us-west-2", ["/data/set/"])
    assert (request.destination.region, request.destination.where) == ("eu-west-1", "/restore")


def test_request_names_the_path_under_which_something_arrives() -> None:
    answer = cpt(SOURCE, "/data/set", DESTINATION, "/restore", "--as", "2026/set")
    assert json.loads(answer.stdout)["source"]["paths"] == [{"path": "/data/set", "as": "2026/set"}]
    assert parse_request(json.loads(answer.stdout), Limits(REGIONS, 8, ())).source.tops == ["2026/set"]


def test_regions_that_are_given_are_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requesting, "home", lambda *, local: SimpleNamespace())
    regions = ["--regions", "eu-west-1,us-west-2"]
    found = json.loads(cpt(SOURCE, "/data", DESTINATION, "/restore", *regions, "--json").stdout)
    assert (found["source"]["region"], found["destination"]["region"]) == ("eu-west-1", "us-west-2")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([SOURCE, "data", DESTINATION, "/restore"], ExitCode.REQUEST, "$.source.paths[0]"),
        ([SOURCE, "/data", SOURCE, "/restore"], ExitCode.REQUEST, "is the source as well"),
        ([SOURCE, "/data", DESTINATION, "/x", "--as", "../x"], ExitCode.REQUEST, "$.source.paths[0].as"),
        (["i-0123456789abcdef0", "/data", DESTINATION, "/x"], ExitCode.USAGE, "name it by --regions"),
        ([SOURCE, "/data", DESTINATION, "/x", "--regions", "a,b,c"], ExitCode.USAGE, "e.g. us-west-2,eu-west-1"),
        ([SOURCE, "/data", DESTINATION, "/x", "--regions", "mars-north-1"], ExitCode.REQUEST, "is not enrolled"),
    ],
)
def test_what_cannot_be_a_request_is_refused_and_nothing_is_printed(words: list[str], code: int, said: str) -> None:
    answer = cpt(*words)
    assert (answer.exit_code, answer.stdout) == (code, "")
    assert said in answer.stderr


def context(**params: Any) -> Any:
    return SimpleNamespace(params=params)


def test_the_shell_is_offered_the_latest_transfers_that_begin_so(monkeypatch: pytest.MonkeyPatch) -> None:
    account = Account([execution("nightly-2"), execution("nightly-1", "FAILED"), execution("weekly")])
    monkeypatch.setattr(completion, "home", lambda *, local: account)
    assert completion.transfer_names(context(local=True), "night") == ["nightly-2", "nightly-1"]


@pytest.mark.parametrize("error", [NoCredentialsError(), typer.Exit(2)])
def test_the_shell_is_offered_nothing_where_nobody_answers(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def refuse(*, local: bool) -> Account:
        raise error

    monkeypatch.setattr(completion, "home", refuse)
    assert completion.transfer_names(context(), "n") == []


@pytest.mark.parametrize("name", ["watch", "report", "cancel", "approve", "reject", "limit", "teardown"])
def test_each_command_of_one_transfer_completes_its_name(name: str, tmp_path: Path) -> None:
    command: Any = typer.main.get_command(main.app)
    [argument] = [each for each in command.commands[name].params if each.name in ("name", "transfer")]
    assert argument._custom_shell_complete is not None
