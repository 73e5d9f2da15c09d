"""One local cloud per configuration, from the synthesized templates; whole executions run on it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.e2e.account import Account


@pytest.fixture(scope="session")
def make_account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Account]]:
    """Start a local cloud with the given settings; all are stopped at the end."""
    clouds: list[LocalCloud] = []

    def make(**settings: Any) -> Account:
        work = tmp_path_factory.mktemp("account with space")
        defaults = {"port": 0, "caps": {"interRegionMBps": 20.0, "intraRegionMBps": 160.0}, "bootSeconds": 1.0}
        cloud = LocalCloud(LocalConfig.model_validate({**defaults, **settings}), work / "state")
        cloud.start()
        clouds.append(cloud)
        return Account(cloud, work)

    yield make
    for cloud in clouds:
        cloud.stop()


@pytest.fixture(scope="session")
def account(make_account: Callable[..., Account]) -> Account:
    """The default account; instances are processes, which works for any user."""
    return make_account()
