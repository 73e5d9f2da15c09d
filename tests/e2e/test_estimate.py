"""`cpt estimate REQUEST` asks the deployment and starts nothing."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.exit_codes import ExitCode
from cli.main import app
from tests.e2e.account import HOME, Account


@pytest.fixture(scope="module")
def account(make_account: Callable[..., Account]) -> Account:
    """One of which nothing was measured but what this module measures: its figures are those configured."""
    return make_account()


@pytest.fixture(autouse=True)
def _environment(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", account.cloud.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


def estimate(request: dict[str, Any], work: Path, *words: str) -> Any:
    file = work / "request.json"
    file.write_text(json.dumps(request))
    return CliRunner().invoke(app, ["estimate", str(file), "--size", "600MB", *words])


def test_a_request_is_estimated_from_what_the_deployment_knows(account: Account, tmp_path: Path) -> None:
    request = account.request("/not/scanned", tmp_path / "out", name="only-estimated")
    found = json.loads(estimate(request, tmp_path, "--json").stdout)
    assert found["bytes"] == 600_000_000
    # 20 MB/s between the regions, as configured
    assert found["rows"][0]["seconds"] == pytest.approx(30.0, rel=0.05)
    assert found["rows"][3]["seconds"] < 20
    assert "▶" in estimate(request, tmp_path).stdout
    assert account.record("only-estimated", "transfer") is None
    executions = account.aws.client("stepfunctions").list_executions(stateMachineArn=account.machine)["executions"]
    assert "only-estimated" not in [execution["name"] for execution in executions]
    assert not account.launched("only-estimated", HOME)


def test_a_bad_request_is_refused_as_an_execution_would(account: Account, tmp_path: Path) -> None:
    found = estimate({**account.request("/x", "/y"), "sorce": 1}, tmp_path)
    assert found.exit_code == ExitCode.REQUEST
    assert "InvalidRequest: $.sorce: is not a known key" in found.stderr
