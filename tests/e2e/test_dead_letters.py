"""Events that a function failed on lie in its queue until `cpt redrive` gives them to it again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.main import app
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, KILL_RELAY, LARGE, OTHER, Account
from tests.e2e.files import make_files, tree
from tests.e2e.test_events import begin, rules_disabled, source_relay


@pytest.fixture(scope="module")
def hasty(make_account: Callable[..., Account]) -> Account:
    """An account in which functions that fail are tried again at once."""
    return make_account(lambdaRetrySeconds=0.05)


@pytest.fixture(autouse=True)
def _environment(hasty: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", hasty.cloud.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


def redrive(*options: str) -> dict[tuple[str, str], dict[str, Any]]:
    """What `cpt redrive` tells, by queue and region."""
    result = CliRunner().invoke(app, ["redrive", "--json", *options])
    assert result.exit_code == 0, result.output
    found = [json.loads(line) for line in result.stdout.splitlines()]
    return {(queue["queue"], queue["region"]): queue for queue in found}


@only_full
def test_transfer_goes_on_when_its_events_are_given_again(hasty: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    queue = ("cpt-retry-chunk-dead-letters", HOME)
    with rules_disabled(hasty, "cpt-reconcile", "cpt-replace-relay"):
        hasty.configure("cpt-retry-chunk", CHUNKS_TABLE="cpt-nowhere")
        arn = begin(hasty, source, tmp_path / "out", "buried")
        hasty.shell(source_relay(hasty, "buried"), HOME, KILL_RELAY)
        buried = hasty.cloud.wait_for(lambda: redrive("--dry-run").get(queue), 60)
        assert hasty.describe(arn)["status"] == "RUNNING"
        hasty.configure("cpt-retry-chunk", CHUNKS_TABLE="cpt-chunks")
        hasty.limit("buried", None)
        redriven = 0

        def over() -> bool:
            nonlocal redriven
            redriven += redrive().get(queue, {"redriven": 0})["redriven"]  # lanes may fail one after the other
            return bool(hasty.describe(arn)["status"] != "RUNNING")

        hasty.cloud.wait_for(over, 120)
        run = hasty.wait(arn)
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert redriven >= buried["letters"] >= 1
    assert run.report["retries"] >= 1
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert redrive("--dry-run") == {}


def test_each_reaction_has_a_queue_of_its_own(hasty: Account) -> None:
    functions = hasty.aws.client("lambda")
    pages = functions.get_paginator("list_functions").paginate()
    reactions = [found["FunctionName"] for page in pages for found in page["Functions"] if "DeadLetterConfig" in found]
    assert "cpt-retry-chunk" in reactions
    for name in reactions:
        functions.invoke(FunctionName=name, InvocationType="Event", Payload=json.dumps({"detail": "malformed"}))
    wanted = {(f"{name}-dead-letters", HOME): name for name in reactions}
    hasty.cloud.wait_for(lambda: wanted.keys() <= redrive("--dry-run").keys(), 60)
    assert {where: queue["to"] for where, queue in redrive("--dry-run").items()} == wanted


@pytest.mark.parametrize(
    ("queue", "region", "to"),
    [
        ("cpt-forward-ec2-dead-letters", OTHER, "cpt-machine-ends"),
        ("cpt-tell-machine-ends-dead-letters", HOME, "cpt-machine-ends"),
        ("cpt-notify-dead-letters", HOME, "cpt-notifications"),
    ],
)
def test_what_a_rule_could_not_hand_over_goes_where_it_was_for(
    hasty: Account, queue: str, region: str, to: str
) -> None:
    detail = {"instance-id": "i-0123456789abcdef0", "state": "stopped"}
    event = {"source": "aws.ec2", "detail-type": "EC2 Instance State-change Notification", "detail": detail}
    sqs = hasty.aws.client("sqs", region)
    sqs.send_message(QueueUrl=sqs.get_queue_url(QueueName=queue)["QueueUrl"], MessageBody=json.dumps(event))
    told = redrive()[queue, region]
    assert (told["to"], told["letters"], told["redriven"]) == (to, 1, 1)
    assert (queue, region) not in redrive("--dry-run")
