"""One local cloud per configuration, from the synthesized templates; whole executions run on it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.e2e.account import Account
from tests.e2e.image import with_daemon


@contextmanager
def clouds(directories: pytest.TempPathFactory) -> Iterator[Callable[..., Account]]:
    """Starts local clouds with the given settings; all are stopped at the end.

    Each holds 2 GB once all functions have run, and its schedules take time of the machine: so none outlives its tests.
    To fetch the daemon takes a machine two seconds of a core. Their image has it, unless `image` is None. Tests that
    start a LocalCloud by themselves have stock machines, as the template's default is.
    """
    image = with_daemon(directories.getbasetemp() / "image")
    with ExitStack() as stack:

        def make(**settings: Any) -> Account:
            work = directories.mktemp("account with space")
            caps = {"interRegionMBps": 20.0, "intraRegionMBps": 160.0}
            config = LocalConfig.model_validate(
                {"port": 0, "caps": caps, "bootSeconds": 1.0, "image": image, "pollSeconds": 0.2, **settings}
            )
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
