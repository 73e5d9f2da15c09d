"""A local cloud whose buckets the daemon's tests use; it starts where a test asks for it."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import boto3
import pytest

from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.local import assembly
from tests.local.assembly import HOME
from tests.local.conftest import SETTINGS


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    folder = assembly.write(tmp_path_factory.mktemp("assembly") / "cdk.out")
    made = LocalCloud(LocalConfig.model_validate(SETTINGS), tmp_path_factory.mktemp("state"), folder)
    with ExitStack() as stack:
        stack.enter_context(made)
        yield made


@pytest.fixture(scope="module")
def s3(cloud: LocalCloud) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=cloud.endpoint,
        region_name=HOME,
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
