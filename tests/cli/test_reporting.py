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
from cli.entry_list import Form, read, show
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
    tenant: str | None = None

    def client(self, _service: str) -> "Account":
        return self

    def get_caller_identity(self) -> dict[str, str]:
        return {"Account": "123456789012", "Arn": "arn:aws:sts::123456789012:assumed-role/people/somebody"}

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


class Body:
    """An object's body as boto3 gives it to those that read it by line."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    def iter_lines(self) -> list[bytes]:
        return self.body.splitlines()


@dataclass
class Bucket:
    objects: dict[str, bytes]

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        assert Bucket == "b"
        if Key not in self.objects:
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "GetObject")
        return {"Body": Body(self.objects[Key])}


END = b'{"end":true,"entries":%d,"complete":%s}\n'
LISTED = {
    "e/extras-00000.ndjson": b'{"path":"x","outcome":"refused","reason":"changed"}\n' + END % (1, b"true"),
    "e/part-00000.ndjson": b'{"path":"a%0Ab","outcome":"refused","reason":"source-changed"}\n',
    "e/part-00001.ndjson": b'{"path":"c","outcome":"sent","proof":"digest"}\n' + END % (2, b"true"),
    "e/part-00002.ndjson": b'{"path":"stale","outcome":"sent","proof":"digest"}\n',
}


def shown(objects: dict[str, bytes], form: Form, capfd: pytest.CaptureFixture[str]) -> tuple[str, str]:
    show(read(Bucket(objects), "s3://b/e/"), form)
    return capfd.readouterr()


def test_list_of_entries_is_read_to_the_line_that_ends_it(capfd: pytest.CaptureFixture[str]) -> None:
    out, err = shown(LISTED, "entries", capfd)
    assert [json.loads(line).get("path") for line in out.splitlines()] == ["x", None, "a%0Ab", "c", None]
    assert err == ""


def test_paths_that_were_not_moved_feed_the_next_request(capfd: pytest.CaptureFixture[str]) -> None:
    assert shown(LISTED, "names", capfd)[0] == "a\nb\0", "extras are nothing that a source has"
    assert shown(LISTED, "paths", capfd)[0] == "a%0Ab\n"


def test_list_that_was_cut_or_has_no_end_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    _, err = shown({"e/part-00000.ndjson": END % (7, b"false")}, "paths", capfd)
    assert "cut after 7 entries" in err
    for objects in ({}, {"e/part-00000.ndjson": b'{"path":"c","outcome":"sent"}\n'}):
        with pytest.raises(typer.Exit):
            shown(objects, "paths", capfd)
        assert "without its last line" in capfd.readouterr().err


def test_transfer_that_was_not_verified_has_no_list(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        list(read(Bucket({}), None))
    assert "there is no list of its entries" in capfd.readouterr().err


def test_zero_bytes_are_for_what_was_not_moved() -> None:
    answer = CliRunner().invoke(main.app, ["report", "first", "-0"])
    assert answer.exit_code == ExitCode.USAGE
    assert "-0 goes with --failed" in answer.stderr
