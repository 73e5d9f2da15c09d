"""An SSM agent runs five commands at once, for however many transfers its machine has, and for whoever else uses it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos import account as chaos
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.conftest import make_account  # noqa: F401 - a fixture
from tests.e2e.files import make_files

TRANSFERS = 15
"""As many as one machine receives at the same time: each has a port of its own."""
SCAN_SECONDS = 45
"""Longer than SSM lets a command wait that has the least time to be started."""
HELD_SECONDS = 45
WORKERS = 5

# The document runs what lies there; its digest was compared when it was fetched.
SLOW_SCANS = f"""
for daemon in "$CPT_HOME"/bin/cpt-relay-*; do
  mv "$daemon" "$CPT_HOME/daemon"
  cat >"$daemon" <<END
#!/bin/sh
case "\\$1 \\$2" in scan*|"answer scan") sleep {SCAN_SECONDS} ;; esac
exec "$CPT_HOME/daemon" "\\$@"
END
  chmod 755 "$daemon"
done
"""


@pytest.fixture(scope="module")
def account(make_account: Callable[..., Account]) -> Account:  # noqa: F811
    """An account of their own: machines that are held are nobody else's."""
    return make_account()


def refused(account: Account) -> list[tuple[str, str]]:
    """Documents that an agent has not started, and what SSM says of them."""
    pages = [
        page
        for region in (HOME, OTHER)
        for page in account.aws.client("ssm", region).get_paginator("list_command_invocations").paginate()
    ]
    found = [item for page in pages for item in page["CommandInvocations"]]
    started = ("Success", "Failed", "InProgress")
    return [(item["DocumentName"], item["StatusDetails"]) for item in found if item["Status"] not in started]


@only_full
def test_agents_that_others_hold_for_a_while_cost_a_transfer_that_while(account: Account, tmp_path: Path) -> None:
    for machine, region in ((account.source, HOME), (account.destination, OTHER)):
        for _ in range(WORKERS):
            account.aws.client("ssm", region).send_command(
                InstanceIds=[machine],
                DocumentName="AWS-RunShellScript",
                Parameters={"commands": [f"sleep {HELD_SECONDS}"]},
            )
    source = make_files(tmp_path / "set", large_bytes=1_000_000, small=5)
    run = account.run(account.request(f"{source}/", tmp_path / "out", relays={"pairs": 0}), "held")
    chaos.check_arrived(account, run, "held", source, tmp_path / "out")


@only_full
@pytest.mark.paced  # fifteen senders and receivers at once
def test_transfers_with_long_listings_between_the_same_machines_all_arrive(account: Account, tmp_path: Path) -> None:
    for machine, region in ((account.source, HOME), (account.destination, OTHER)):
        account.shell(machine, region, SLOW_SCANS)
    names = [f"t{number}" for number in range(TRANSFERS)]
    sources = {name: make_files(tmp_path / name, large_bytes=2_000_000, small=5) for name in names}
    asked = {name: account.request(f"{sources[name]}/", tmp_path / f"to-{name}", relays={"pairs": 0}) for name in names}
    arns = {name: account.start(request, name) for name, request in asked.items()}
    runs = {name: account.wait(arn, 900) for name, arn in arns.items()}
    assert {name: (run.status, run.error) for name, run in runs.items()} == dict.fromkeys(names, ("SUCCEEDED", None))
    for name in names:
        chaos.check_arrived(account, runs[name], name, sources[name], tmp_path / f"to-{name}")
    assert refused(account) == []
