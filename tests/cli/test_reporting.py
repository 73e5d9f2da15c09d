"""Where a report comes from, what its page is when Write Report left none, and what is said to people."""

import io
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
import typer
from botocore.exceptions import ClientError
from typer.testing import CliRunner

from cli import main, reporting
from cli.aws import Aws
from cli.exit_codes import ExitCode
from cli.reporting import finish, read_report, save_page

REPORTS = Path(__file__).parents[2] / "contracts" / "examples" / "good" / "report"
SUCCEEDED = json.loads((REPORTS / "succeeded.json").read_text())
BUCKET = "cpt-control-123456789012-us-west-2"


@dataclass
class Account:
    """The two AWS calls that reading a report takes."""

    objects: dict[str, bytes] = field(default_factory=dict)
    refusal: str = "NoSuchKey"
    region: str = "us-west-2"
    deployment: str = "cpt"

    def client(self, _service: str) -> "Account":
        return self

    def get_caller_identity(self) -> dict[str, str]:
        return {"Account": "123456789012"}

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        assert Bucket == BUCKET
        if Key not in self.objects:
            raise ClientError({"Error": {"Code": self.refusal, "Message": "no"}}, "GetObject")
        return {"Body": io.BytesIO(self.objects[Key])}


def execution(status: str = "SUCCEEDED", **more: Any) -> dict[str, Any]:
    moments = {"startDate": datetime(2026, 11, 21, tzinfo=UTC), "stopDate": datetime(2026, 11, 21, 0, 0, 9, tzinfo=UTC)}
    base = {"executionArn": SUCCEEDED["executionArn"], "name": "nightly", "status": status, "input": "{}", **moments}
    output = {"output": json.dumps({**SUCCEEDED, "course": None})} if status == "SUCCEEDED" else {}
    return {**base, **output, **more}


def aws(**objects: object) -> Aws:
    account = Account()
    for name, value in objects.items():
        account.objects[f"transfers/nightly/report.{name}"] = (
            json.dumps(value).encode() if name == "json" else str(value).encode()
        )
    return cast(Aws, account)


def test_stored_report_is_whole_where_the_output_had_to_be_shorter() -> None:
    assert read_report(aws(json=SUCCEEDED), execution())["course"] == SUCCEEDED["course"]


@pytest.mark.parametrize("refusal", ["NoSuchKey", "AccessDenied"])
def test_output_serves_where_the_bucket_does_not(refusal: str) -> None:
    assert read_report(cast(Aws, Account(refusal=refusal)), execution())["transferId"] == "nightly"


def test_report_of_another_execution_of_that_name_is_not_taken() -> None:
    found = read_report(aws(json={**SUCCEEDED, "executionArn": "arn:other"}), execution("FAILED", error="E", cause="c"))
    assert found == {"status": "FAILED", "error": "E", "cause": "c"}


def test_other_errors_of_the_bucket_are_told() -> None:
    with pytest.raises(ClientError):
        read_report(cast(Aws, Account(refusal="SlowDown")), execution())


def test_stored_page_is_kept_as_it_is(tmp_path: Path) -> None:
    page = f"<html>{SUCCEEDED['executionArn']}</html>"
    save_page(aws(html=page), execution(), SUCCEEDED, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == page


def test_page_is_made_of_the_report_where_none_was_left(tmp_path: Path) -> None:
    save_page(aws(html="<html>another execution</html>"), execution(), SUCCEEDED, tmp_path / "page.html")
    assert "Rate over time" in (tmp_path / "page.html").read_text()


def test_refused_request_has_a_page_that_says_what_to_do(tmp_path: Path) -> None:
    refused = execution("FAILED", error="InvalidRequest", cause="$.source: is missing")
    save_page(aws(), refused, read_report(aws(), refused), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "$.source: is missing" in page
    assert "Correct the request" in page


def test_page_that_cannot_be_written_is_named_with_what_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporting, "home", lambda *, local: aws(json=SUCCEEDED))
    monkeypatch.setattr(reporting, "find", lambda _aws, _name: execution())
    page = tmp_path / "nope" / "x.html"
    answer = CliRunner().invoke(main.app, ["report", "nightly", "--html", str(page)])
    assert answer.exit_code == ExitCode.USAGE
    remedy = "name a file in a directory that you may write to"
    assert answer.stderr == f"cpt: --html {page}: No such file or directory; {remedy}\n"


@pytest.mark.parametrize(
    ("document", "code", "words"),
    [
        ({"status": "FAILED", "error": "InvalidRequest", "cause": "x"}, ExitCode.REQUEST, "Correct the request"),
        ({"status": "ABORTED", "error": None, "cause": None}, ExitCode.STOPPED, "Somebody stopped the execution"),
    ],
)
def test_what_to_do_is_said_without_a_report_too(
    document: dict[str, Any], code: ExitCode, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended:
        finish(document, as_json=False)
    assert ended.value.exit_code == code
    assert words in capsys.readouterr().err


def test_failed_report_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    failed = {**SUCCEEDED, "status": "FAILED", "error": "ChunksFailed", "cause": "4 chunks were given up"}
    with pytest.raises(typer.Exit) as ended:
        finish(failed, as_json=False)
    assert ended.value.exit_code == ExitCode.TRANSFER
    assert "What to do: Correct what the failed chunks name" in capsys.readouterr().out
