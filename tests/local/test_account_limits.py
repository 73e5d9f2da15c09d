"""What an account may do at once and in a second."""

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from local.cloud import LocalCloud
from local.config import LocalConfig, Rate
from local.patches.faults.rates import Buckets
from tests.local.assembly import HOME
from tests.local.conftest import SETTINGS, invoke


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory, assembly_path: Path) -> Iterator[LocalCloud]:
    """One in which one function runs at a time."""
    config = LocalConfig.model_validate({**SETTINGS, "functionConcurrency": 1})
    with LocalCloud(config, tmp_path_factory.mktemp("limits"), assembly_path) as running:
        yield running


def test_the_function_that_is_one_too_many_is_refused_and_what_is_queued_waits(cloud: LocalCloud) -> None:
    client = cloud.client("lambda")
    before = calls(cloud)
    said = None
    while said is None:  # a slow machine asks too late for the one that runs: then another one does
        with ThreadPoolExecutor() as pool:
            running = pool.submit(invoke, cloud, action="sleep", seconds=1.5)
            said = refusal(asks_once(cloud), running)
            for _ in range(3 if said else 0):
                client.invoke(FunctionName="probe", InvocationType="Event", Payload=json.dumps({"action": "none"}))
            running.result()
    assert (said["Error"]["Code"], said["Reason"]) == ("TooManyRequestsException", "ConcurrentInvocationLimitExceeded")
    assert client.get_account_settings()["AccountLimit"]["ConcurrentExecutions"] == 1
    # The one that was busy and the three that were queued.
    cloud.wait_for(lambda: calls(cloud) - before >= 4, 20)


def asks_once(cloud: LocalCloud) -> Any:
    """A client that tries nothing again."""
    once: Any = boto3.client
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": HOME}
    return once("lambda", endpoint_url=cloud.endpoint, config=Config(retries={"total_max_attempts": 1}), **keys)


def refusal(client: Any, running: Future[Any]) -> dict[str, Any] | None:
    """What a caller is told while another function runs; None where it has ended before."""
    while not running.done():
        try:
            client.invoke(FunctionName="probe", Payload=json.dumps({"action": "none"}))
        except ClientError as error:
            return dict(error.response)
    return None


def calls(cloud: LocalCloud) -> int:
    """How often the function has run before; the client asks again while it is busy."""
    return int(invoke(cloud, action="identity")[1]["calls"])


def test_a_bucket_gives_its_burst_and_then_its_rate() -> None:
    now = [0.0]
    buckets = Buckets({"ssm:SendCommand": Rate(burst=2, per_second=0.5)}, lambda: now[0])
    taken = [buckets.take("ssm:SendCommand", HOME) for _ in range(3)]
    assert taken == [True, True, False]
    now[0] = 2.0
    assert [buckets.take("ssm:SendCommand", HOME) for _ in range(2)] == [True, False]
    assert buckets.take("ssm:SendCommand", "eu-west-1")
    assert all(buckets.take("ssm:GetCommandInvocation", HOME) for _ in range(99))
