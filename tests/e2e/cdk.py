"""The CDK's command line, and `cpt leave`, as a user of a local cloud calls them."""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.main import app
from local.cloud import LocalCloud
from tests.e2e.account import HOME, OTHER
from tests.e2e.assembly import UNJUDGED

SECONDS = 480  # for one command, which takes 40 on a machine with nothing else to do

Cdk = Callable[..., str]


def cdk_of(cloud: LocalCloud) -> Cdk:
    """Runs `npx cdk …` as a user of that account; what it prints."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
        **UNJUDGED,
        "AWS_ENDPOINT_URL": cloud.endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": HOME,
        "CDK_HOME": str(Path(".cache/cdk").absolute()),
    }
    checkout = Path.cwd()

    def run(*arguments: str, succeeds: bool = True) -> str:
        command = ["npx", "--no-install", "cdk", *arguments]
        done = subprocess.run(
            command, cwd=checkout, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert (done.returncode == 0) == succeeds, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


@dataclass(frozen=True)
class Left:
    """What `cpt leave --json` said, and its exit code."""

    code: int
    ties: list[dict[str, Any]]

    def of(self, status: str) -> list[dict[str, Any]]:
        """Those of one status that were not undone."""
        return [tie for tie in self.ties if tie["status"] == status and "result" not in tie]


def leave(
    cloud: LocalCloud, settings: dict[str, Any], work: Path, monkeypatch: pytest.MonkeyPatch, *words: str
) -> Left:
    """`cpt leave --json` in a checkout with these settings."""
    (work / "cdk.json").write_text(json.dumps({"context": {"cpt": settings}}))
    with monkeypatch.context() as patch:
        patch.chdir(work)
        patch.setenv("AWS_ENDPOINT_URL", cloud.endpoint)
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        result = CliRunner().invoke(app, ["leave", "--json", *words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return Left(result.exit_code, [json.loads(line) for line in result.stdout.splitlines()])


def statuses(cloud: LocalCloud) -> dict[str, str]:
    """Status of each stack, in both regions."""
    return {
        stack["StackName"]: stack["StackStatus"]
        for region in (HOME, OTHER)
        for stack in cloud.client("cloudformation", region).describe_stacks()["Stacks"]
    }
