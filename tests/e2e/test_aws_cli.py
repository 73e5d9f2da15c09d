"""Any AWS client works: the documented command, by the AWS command line itself."""

import json
import os
import subprocess
from pathlib import Path

from tests.e2e.account import HOME, Account
from tests.e2e.files import make_files, tree

AWS = Path(".tools/bin/aws").absolute()


def test_start_execution_by_the_aws_command_line(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=1000)
    (tmp_path / "request.json").write_text(json.dumps(account.request(source, tmp_path / "out", relays={"pairs": 0})))
    command = ["stepfunctions", "start-execution", "--name", "by-cli", "--state-machine-arn", account.machine]
    where = ["--endpoint-url", account.cloud.endpoint, "--region", HOME, "--output", "json"]
    answer = subprocess.run(
        [AWS, *where, *command, "--input", "file://request.json"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"},
    )
    run = account.wait(json.loads(answer.stdout)["executionArn"])
    assert run.status == "SUCCEEDED"
    output = json.loads(account.describe(run.arn)["output"])
    assert output["transferId"] == "by-cli"
    assert tree(tmp_path / "out" / "set") == tree(source)
