"""One local cloud per configuration, from the synthesized templates; whole executions run on it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.e2e.account import Account


@contextmanager
def clouds(directories: pytest.TempPathFactory) -> Iterator[Callable[..., Account]]:
    """Starts local clouds with the given settings; all are stopped at the end.

    Each holds 2 GB once all functions have run, and its schedules take time of the machine: so none outlives its tests.
    """
    with ExitStack() as stack:

        def make(**settings: Any) -> Account:
            work = directories.mktemp("account with space")
            defaults = {"port": 0, "caps": {"interRegionMBps": 20.0, "intraRegionMBps": 160.0}, "bootSeconds": 1.0}
            config = LocalConfig.model_validate({**defaults, **settings})
            return Account(stack.enter_context(LocalCloud(config, work / "state")), work)

        yield make


@pytest.fixture(scope="module")
def make_account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Account]]:
    """Start a local cloud with the given settings for the tests of one file."""
    with clouds(tmp_path_factory) as make:
        yield make


@pytest.fixture(scope="session")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """The default account; instances are processes, which works for any user."""
    with clouds(tmp_path_factory) as make:
        yield make()
