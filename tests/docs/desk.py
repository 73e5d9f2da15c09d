"""Where a reader of the documentation sits: a checkout, a deployment, requests in files, and transfers to look at."""

import json
import os
import re
import shlex
import subprocess
from contextlib import chdir
from itertools import count
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from cli.main import app
from tests.docs.pages import ROOT
from tests.e2e.account import HOME, Account
from tests.e2e.files import make_files

COMMAND_SECONDS = 240
ENDED = "ended"
BROWSER = "true %s"
# Of a transfer that is to be found moving: 75 MB would take ten minutes.
SLOW = {"relays": {"pairs": 0}, "bandwidthLimitMbps": {"timetable": [{"from": "00:00", "mbps": 1}]}}
LINKED = (".venv", ".tools", "cdk.out", "cdk.json", "docs")


class Desk:
    """A directory in which the documentation's commands run; each command is the only one that its transfer meets."""

    def __init__(self, account: Account, work: Path) -> None:
        self.account, self.work = account, work
        self._parked: set[str] = set()
        self._numbers = count(1)
        self._small = make_files(work / "set", large_bytes=1_000_000)
        self._large = make_files(work / "large", large_bytes=75_000_000)
        (work / "home").mkdir()
        # What a transfer has replaced and kept, to be put back.
        kept = work / ".replaced" / "nightly" / "set" / "kept.txt"
        kept.parent.mkdir(parents=True)
        kept.write_text("as it was")
        for name in LINKED:
            (work / name).symlink_to(ROOT / name)
        self.write("measure.json", self._request(self._small, profile="measure", preTestSeconds=1))
        self._ended = self._request(self._small, relays={"pairs": 0})
        self._waved = self._request(self._small, relays={"pairs": 0})
        account.start(self._ended, ENDED)

    def write(self, name: str, request: dict[str, Any]) -> None:
        """A request in a file."""
        (self.work / name).write_text(json.dumps(request))

    def new(self) -> str:
        """A name that nothing has."""
        return f"reader-{next(self._numbers)}"

    def ended(self) -> str:
        """A transfer that has succeeded, whichever of its executions was the last."""
        self._settle()
        return ENDED

    def waiting(self) -> str:
        """A transfer that waits for approval, of an estimate in which pairs help."""
        name = self.new()
        arn = self._start(name, self._large, approval="required")
        self.account.entered(arn, "Await Approval", 120)
        self.account.cloud.wait_for(lambda: self._token(name), 120)
        self._parked.add(name)
        return name

    def moving(self) -> str:
        """A transfer that moves data, slowly."""
        name = self.new()
        arn = self._start(name, self._large, **SLOW)
        self.account.cloud.wait_for(lambda: self._moves(name, arn), 120)
        self._parked.add(name)
        return name

    def run(self, script: str, name: str) -> str:
        """Run it against the account; NAME is that transfer, request.json a request of it. What it printed."""
        self._settle()
        request = self._ended if name == ENDED else self._request(self._small, relays={"pairs": 0})
        # All commands about waves are about the same ends.
        request = self._waved if "cpt waves" in script else request
        if "--confirm-delete" in script:
            request = {**request, "delete": True}
        self.write("request.json", request)
        self.write("again.json", {**request, "name": name, "resume": True})
        if "--mbps timetable" not in script:  # goes on as slowly as it was
            self._parked.discard(name)  # whatever comes of it now, it is waited for before the next one
        placeholders = {
            r"\bNAME\b": name,
            r"\bREGION\b": HOME,
            r"\bACCOUNT\b": "000000000000",
            "i-0ccccccccccccccc3": self.account.source,
            "5c1d5e2b…": "5c1d5e2b" + "0" * 56,
        }
        for placeholder, value in placeholders.items():
            script = re.sub(placeholder, value, script)
        self._prepare(script)
        here = {
            "AWS_ENDPOINT_URL": self.account.cloud.endpoint,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": HOME,
        }
        if re.fullmatch(r"cpt [^\n$|&;<>]*", script) and "-completion" not in script:
            return self._command(shlex.split(script)[1:], {**here, "BROWSER": BROWSER})
        return self._shell(script, **here)

    def run_apart(self, script: str) -> str:
        """Run a script that brings its own local cloud, on a port that is free."""
        script = re.sub(r"^make synth.*", "test -e cdk.out/manifest.json", script, flags=re.MULTILINE)
        script = script.replace("cpt local up", "cpt local up --port 0")
        return self._shell(
            script.replace("127.0.0.1:4566", "127.0.0.1:$(grep -oP '127.0.0.1:\\K\\d+' .local/state.json)")
        )

    def _moves(self, name: str, arn: str) -> bool:
        execution = self.account.describe(arn)
        assert execution["status"] == "RUNNING", execution.get("cause")
        return "firstByteAt" in self.account.progress(name)

    def _prepare(self, script: str) -> None:
        """What the script looks for takes a moment to come."""
        if answer := re.search(r"s3://(\S+)/(requests/\S+\.started\.json)", script):
            self.account.cloud.wait_for(lambda: self._exists(answer[1], answer[2]), 120)

    def _settle(self) -> None:
        """Until what commands have started is over: transfers to one machine prove their paths on one port."""
        self.account.cloud.wait_for(lambda: not self._running() - self._parked, 240)

    def _running(self) -> set[str]:
        found = self.account.aws.client("stepfunctions").list_executions(
            stateMachineArn=self.account.machine, statusFilter="RUNNING"
        )
        return {one["name"] for one in found["executions"]}

    def _exists(self, bucket: str, key: str) -> bool:
        listed = self.account.aws.client("s3").list_objects_v2(Bucket=bucket, Prefix=key)
        return bool(listed["KeyCount"])

    def _command(self, words: list[str], variables: dict[str, str]) -> str:
        """A lone `cpt`, within this process: to start one takes seconds on a small machine."""
        with chdir(self.work):
            result = CliRunner().invoke(app, words, env=variables)
        assert result.exit_code == 0, f"cpt {words} ended with {result.exit_code}: {result.output[-3000:]}"
        return result.stdout

    def _shell(self, script: str, **variables: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"{script}\n:"],
            cwd=self.work,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
            env={
                **{key: value for key, value in os.environ.items() if not key.startswith("AWS_")},
                "PATH": f"{self.work}/.venv/bin:{self.work}/.tools/bin:{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "HOME": str(self.work / "home"),
                "BROWSER": BROWSER,
                **variables,
            },
        )
        assert done.returncode == 0, (
            f"{script}\nended with {done.returncode}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        )
        return done.stdout

    def _request(self, source: Path, **more: Any) -> dict[str, Any]:
        return self.account.request(source, self.work / "arrived" / f"{next(self._numbers)}", **more)

    def _start(self, name: str, source: Path, **more: Any) -> str:
        self._settle()
        return self.account.start(self._request(source, **more), name)

    def _token(self, name: str) -> bool:
        table = self.account.aws.resource("dynamodb").Table("cpt-control-tokens")
        return any(item["transferId"] == name for item in table.scan(ConsistentRead=True)["Items"])
