"""`cpt start` judges a request before it sends it, and an execution that was refused costs no name."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cli import main, starting
from cli.exit_codes import ExitCode
from lambdas.core.errors import InvalidRequest
from lambdas.core.request.request import Limits, parse_request
from tests.cli.transfers import EXAMPLES, REQUEST, Account, execution, records

BAD = EXAMPLES.parent / "bad" / "transfer-request"


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Account:
    found = Account()
    monkeypatch.setattr(starting, "home", lambda *, local: found)
    return found


def start(tmp_path: Path, document: Any, *words: str) -> Result:
    path = tmp_path / "request.json"
    path.write_text(json.dumps(document))
    return CliRunner().invoke(main.app, ["start", str(path), *words])


@pytest.mark.parametrize("path", sorted(BAD.glob("*.json")), ids=lambda path: path.stem)
def test_no_bad_request_is_started(account: Account, tmp_path: Path, path: Path) -> None:
    answer = start(tmp_path, json.loads(path.read_text()))
    assert (answer.exit_code, account.started) == (ExitCode.REQUEST, [])
    assert "InvalidRequest: $" in answer.stderr


@pytest.mark.parametrize(
    "path", sorted((EXAMPLES / "transfer-request").glob("*hdfs*.json")), ids=lambda path: path.stem
)
def test_a_request_with_hdfs_at_an_end_is_started(account: Account, tmp_path: Path, path: Path) -> None:
    document = json.loads(path.read_text())
    assert start(tmp_path, document).exit_code == 0
    assert [json.loads(one["input"]) for one in account.started] == [document]


def test_a_key_that_is_mistyped_is_named_and_the_name_stays_free(account: Account, tmp_path: Path) -> None:
    answer = start(tmp_path, {**REQUEST, "relays": {"pair": 3}}, "--name", "nightly")
    assert (answer.exit_code, account.started) == (ExitCode.REQUEST, [])
    assert "InvalidRequest: $.relays.pair: is not a known key" in answer.stderr
    assert start(tmp_path, REQUEST, "--name", "nightly").exit_code == 0
    assert account.started[0]["name"] == "nightly"


def test_what_the_deployment_does_not_allow_is_refused_here_too(account: Account, tmp_path: Path) -> None:
    answer = start(tmp_path, {**REQUEST, "relays": {"pairs": 9}})
    assert (answer.exit_code, account.started) == (ExitCode.REQUEST, [])
    assert "$.relays.pairs: 9 is more than this deployment's limit; give 0 to 8" in answer.stderr


def test_whoever_may_not_read_the_deployments_settings_is_judged_by_the_rest(account: Account, tmp_path: Path) -> None:
    account.denied = {"GetFunctionConfiguration"}
    elsewhere = {**REQUEST, "source": {**REQUEST["source"], "region": "ap-south-1"}, "relays": {"pairs": 9}}
    assert start(tmp_path, elsewhere).exit_code == 0
    assert start(tmp_path, {**elsewhere, "sorce": 1}).exit_code == ExitCode.REQUEST
    assert len(account.started) == 1


def test_a_request_that_step_functions_cannot_take_is_named_with_the_bound(account: Account, tmp_path: Path) -> None:
    rules = [f"{number:04}{'x' * 900}" for number in range(400)]
    answer = start(tmp_path, {**REQUEST, "select": {"exclude": rules}})
    assert (answer.exit_code, account.started) == (ExitCode.REQUEST, [])
    assert "Step Functions takes 262,144 at most" in answer.stderr
    assert "$.select.pathsFrom" in answer.stderr


def test_the_name_of_an_execution_that_was_refused_serves_its_transfer(account: Account, tmp_path: Path) -> None:
    account.executions = [execution("nightly", "FAILED", error="InvalidRequest")]
    account.used = {"nightly", "nightly-2"}
    answer = start(tmp_path, REQUEST, "--name", "nightly")
    assert "cpt watch nightly-3" in answer.stdout
    assert "the transfer 'nightly' runs as execution 'nightly-3'" in answer.stderr
    assert [started["name"] for started in account.started] == ["nightly-3"]
    assert json.loads(account.started[0]["input"])["name"] == "nightly"


@pytest.mark.parametrize("why", ["it runs", "it was accepted", "nobody may look"])
def test_a_name_that_may_be_in_use_is_left_alone(account: Account, tmp_path: Path, why: str) -> None:
    account.used = {"nightly"}
    account.executions = [execution("nightly", "RUNNING" if why == "it runs" else "FAILED")]
    account.records = {"nightly": records()} if why == "it was accepted" else {}
    account.denied = {"GetItem"} if why == "nobody may look" else set()
    answer = start(tmp_path, REQUEST, "--name", "nightly")
    assert (answer.exit_code, account.started) == (ExitCode.REQUEST, [])
    assert "'nightly' was used within 90 days" in answer.stderr


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"source": {**REQUEST["source"], "paths": "/data"}}, '$.source.paths: "/data" is not valid; write a list'),
        ({"source": {**REQUEST["source"], "paths": []}}, "$.source.paths: [] is not valid; write 1 or more"),
        ({"name": "\ud800"}, "half of a surrogate pair is no character"),
        ({"resume": "yes"}, '$.resume: "yes" is not valid; write true or false, without quotes'),
        ({"maxDelete": "3"}, "write a whole number, without quotes"),
        ({"maxDelete": -1}, "write 0 or more"),
        ({"verify": "md5"}, "write 'digest', 'readback' or 'crc64'"),
        ({"objective": {"maxCostUsd": 0}}, "write more than 0"),
        ({"relays": []}, "write a JSON object"),
    ],
)
def test_remedies_are_in_our_own_words(account: Account, tmp_path: Path, change: dict[str, Any], words: str) -> None:
    answer = start(tmp_path, {**REQUEST, **change})
    assert (answer.exit_code, account.started) == (ExitCode.REQUEST, [])
    if "name" not in change:  # `cpt` itself says what a name is
        assert words in answer.stderr
    assert "nput should" not in answer.stderr
    with pytest.raises(InvalidRequest) as refused:
        parse_request({**REQUEST, **change}, Limits(("us-west-2", "eu-west-1"), 8, ()))
    assert words in str(refused.value)


@pytest.mark.parametrize("path", sorted(BAD.glob("*.json")), ids=lambda path: path.stem)
def test_no_remedy_is_in_the_librarys_words(path: Path) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_request(json.loads(path.read_text()), Limits(("us-west-2", "eu-west-1"), 8, ()))
    assert not re.search(r"nput should|should have|should match|after validation|unable to", str(refused.value))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 100_000 + "]" * 100_000, "is nested too deep"),
        ('{"select":' * 500 + "{}" + "}" * 500, "is nested too deep"),
        ('{"name": "a", "name": "b"}', 'has the key "name" twice in one object; leave one of them out'),
        ('{"source": {"region": 1, "region": 1}}', 'has the key "region" twice'),
    ],
    ids=["brackets", "objects", "name", "region"],
)
@pytest.mark.parametrize("command", ["start", "doctor"])
def test_a_file_that_is_read_in_two_ways_or_not_at_all_is_refused(
    account: Account, tmp_path: Path, command: str, text: str, words: str
) -> None:
    path = tmp_path / "request.json"
    path.write_text(text)
    answer = CliRunner().invoke(main.app, [command, str(path)])
    assert (answer.exit_code, account.started) == (ExitCode.USAGE, [])
    assert words in answer.stderr
