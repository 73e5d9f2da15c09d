"""Two machines of the user serve as a pair of relays, and are afterwards what they were."""

from pathlib import Path
from typing import Any

from tests.e2e.account import HOME, LARGE, OTHER, Account
from tests.e2e.files import make_files, tree
from tests.e2e.test_events import begin, finish


def seen(account: Account, region: str, instance: str) -> dict[str, Any]:
    """What of a machine a transfer could change."""
    found = account.cloud.client("ec2", region).describe_instances(InstanceIds=[instance])
    (machine,) = found["Reservations"][0]["Instances"]
    return {
        "state": machine["State"]["Name"],
        "tags": machine["Tags"],
        "groups": machine["SecurityGroups"],
        "units": account.units(instance, region),
    }


def test_machines_of_the_user_serve_and_run_as_before_afterwards(account: Account, tmp_path: Path) -> None:
    lent = {region: account.lend(region) for region in (HOME, OTHER)}
    before = {region: seen(account, region, instance) for region, instance in lent.items()}
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    arn = begin(account, source, tmp_path / "out", "lent", existing=list(lent.values()), existingShare=0.9)
    run = finish(account, arn, "lent")
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert [account.launched("lent", region) for region in lent] == [[], []]
    nodes = account.nodes("lent")
    assert {node["instanceId"] for node in nodes if node["provider"] == "lent" and "joinedAt" in node} == set(
        lent.values()
    )
    assert "pair-1" in {path["pathId"] for path in run.report["course"]["paths"]}
    assert run.report["cost"]["relays"] == 0
    assert {region: seen(account, region, instance) for region, instance in lent.items()} == before
    assert [account.rules("lent", region) for region in lent] == [[], []]


def test_machine_that_nobody_lent_is_refused_and_not_touched(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=1_000_000)
    other = account.cloud.launch_vm(HOME, "not-lent")
    before = seen(account, HOME, other)
    run = account.run(account.request(source, tmp_path / "out", relays={"pairs": 1, "existing": [other]}), "not-lent")
    assert (run.status, run.error) == ("FAILED", "InvalidRequest")
    assert run.cause is not None
    assert "adds the tag 'cpt:lent-to'" in run.cause
    assert seen(account, HOME, other) == before
