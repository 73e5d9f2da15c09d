"""A whole transfer in each account of `local/accounts`: the tree arrives through relays, and nothing is left."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from local.cloud import namespaces_available
from tests.chaos import account as chaos
from tests.chaos.extent import cases
from tests.e2e.account import Account
from tests.e2e.conftest import make_account  # noqa: F401 - a fixture
from tests.e2e.files import make_files
from tests.paths import ROOT

ACCOUNTS = {path.stem: path for path in sorted((ROOT / "local" / "accounts").glob("*.toml"))}
CAPS = {"interRegionMBps": 4.0, "intraRegionMBps": 32.0}


def megabytes(account: str) -> int:
    """So much that relays join while it moves: at 4 MB/s, after a minute or after some seconds."""
    return 400 if account == "slow" else 160


@pytest.mark.alone  # relays must join before the data is over
@pytest.mark.parametrize("name", cases(sorted(ACCOUNTS), ["throttled"]))
def test_a_transfer_does_its_work(name: str, make_account: Callable[..., Account], tmp_path: Path) -> None:  # noqa: F811
    settings = tomllib.loads(ACCOUNTS[name].read_text())
    if settings.get("instances") == "netns" and not namespaces_available():
        pytest.skip("namespaces need root, iproute2 and nftables")
    account = make_account(**{"caps": CAPS, **settings})
    source = make_files(tmp_path / "set", large_bytes=megabytes(name) * 10**6)
    asked = account.request(f"{source}/", tmp_path / "out", relays={"pairs": 2})
    run = account.run(asked, name)
    chaos.check_arrived(account, run, name, source, tmp_path / "out")
    # The quota of a new account has room for one.
    assert run.report["pairs"] == (1 if name == "new" else 2)
