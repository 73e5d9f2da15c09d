"""The report and its page, as the real Write Report leaves them; digests are those of another implementation."""

import json
import os
from pathlib import Path
from urllib.parse import unquote_to_bytes

from blake3 import blake3
from jsonschema import Draft202012Validator

from cli.reporting import save_page
from tests.e2e.account import LARGE, Account
from tests.e2e.files import make_files
from tests.e2e.test_events import begin, finish

ROOT = Path(__file__).parents[2]
SCHEMA = Draft202012Validator(json.loads((ROOT / "contracts" / "report.schema.json").read_text()))
BUCKET = "cpt-control-000000000000-us-west-2"


def test_page_and_list_of_files_lie_beside_the_report(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    (source / "<script>alert(1)<").mkdir()
    (source / "<script>alert(1)<" / "script>").write_text("x")
    run = finish(account, begin(account, source, tmp_path / "out", "page"), "page")
    assert run.status == "SUCCEEDED"
    SCHEMA.validate(run.report)
    course = run.report["course"]
    assert [path["pathId"] for path in course["paths"]] == ["direct", "pair-1"]
    carried = sum(sum(path["ratesMBps"]) for path in course["paths"]) * course["intervalSeconds"] * 1e6
    assert abs(carried - run.report["bytes"]) < 0.01 * run.report["bytes"]
    assert sum(bar["chunks"] for lane in course["lanes"] for bar in lane["bars"]) == run.report["chunks"]

    s3 = account.aws.client("s3")
    listed = s3.get_object(Bucket=BUCKET, Key="transfers/page/files/part-00000.ndjson")["Body"].read().splitlines()
    found = {unquote_to_bytes(entry["path"]): entry for entry in map(json.loads, listed)}
    base = os.fsencode(tmp_path / "out")
    files = {
        os.path.relpath(os.path.join(folder, name), base)
        for folder, _, names in os.walk(base)
        for name in names
        if not os.path.islink(os.path.join(folder, name))
    }
    assert found.keys() == files
    for name, entry in found.items():
        content = Path(os.fsdecode(os.path.join(base, name))).read_bytes()
        assert (entry["bytes"], entry["digest"]) == (len(content), blake3(content).hexdigest())

    stored = s3.get_object(Bucket=BUCKET, Key="transfers/page/report.html")
    page = stored["Body"].read().decode()
    assert stored["ContentType"] == "text/html; charset=utf-8"
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;" in page
    assert all(entry["digest"] in page for entry in found.values())
    execution = account.aws.client("stepfunctions").describe_execution(executionArn=run.arn)
    save_page(account.aws, execution, run.report, tmp_path / "saved.html")
    assert (tmp_path / "saved.html").read_text() == page


def test_refused_request_has_a_page_that_says_what_to_do(account: Account, tmp_path: Path) -> None:
    request = account.request("relative/path", tmp_path / "out")
    run = account.run(request, "refused-page")
    assert run.error == "InvalidRequest"
    execution = account.aws.client("stepfunctions").describe_execution(executionArn=run.arn)
    save_page(account.aws, execution, run.report, tmp_path / "saved.html")
    assert "Correct the request" in (tmp_path / "saved.html").read_text()
