"""A Hadoop where this machine can have one."""

import pytest

from local.hadoop.errors import HadoopMissingError
from local.hadoop.runtime import Runtime
from local.hadoop.shared_classes import prepare


@pytest.fixture(scope="session")
def hadoop() -> Runtime:
    try:
        return prepare()
    except HadoopMissingError as missing:
        pytest.skip(str(missing))
