"""What EC2 says of machines reaches transfers by way of a queue, of which what failed comes again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.extent import only_full
from tests.e2e.account import HOME, LARGE, OTHER, Account
from tests.e2e.files import make_files, tree
from tests.e2e.test_events import begin, finish, joined, rules_disabled, source_relay, states_of
from tests.e2e.test_replacement import replacement

READER, QUEUE = "cpt-tell-machine-ends", "cpt-machine-ends"


@pytest.fixture(scope="module")
def account(make_account: Callable[..., Account]) -> Account:
    """An account in which a message that failed is hidden for 5 s, and a warned machine goes on for ten minutes."""
    return make_account(visibilityMinuteSeconds=2.5, spotGraceSeconds=600)


def waiting(account: Account) -> dict[str, int]:
    """How many messages are to be read, and how many are hidden."""
    sqs = account.aws.client("sqs")
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    url = sqs.get_queue_url(QueueName=QUEUE)["QueueUrl"]
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return {"shown": int(found[names[0]]), "hidden": int(found[names[1]])}


@only_full
def test_relay_that_only_the_queue_tells_of_is_replaced_when_its_event_comes_again(
    account: Account, tmp_path: Path
) -> None:
    source, name = make_files(tmp_path / "set", large_bytes=LARGE), "told-again"
    with rules_disabled(account, "cpt-reconcile", "cpt-watch-relays"):
        arn = begin(account, source, tmp_path / "out", name)
        account.configure(READER, NODES_TABLE="cpt-nowhere")
        # Its sender notices nothing: the machine goes on, and only EC2 has said that it will not.
        account.cloud.interrupt(source_relay(account, name))
        account.cloud.wait_for(lambda: waiting(account)["hidden"] == 1, 30)
        assert states_of(account, name)["source-1-0"] == "JOINED"
        account.configure(READER, NODES_TABLE="cpt-nodes")
        account.cloud.wait_for(joined(account, name, "source-1-1"), 60)
        run = finish(account, arn, name)
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    found = replacement(run, "source-1-0")
    assert (found["cause"], found["successor"]) == ("spot interruption in two minutes", "source-1-1")
    assert tree(tmp_path / "out" / "set") == tree(source)
    account.cloud.wait_for(lambda: waiting(account) == {"shown": 0, "hidden": 0}, 30)


def test_machine_of_an_end_that_stops_ends_its_transfer_at_once(account: Account, tmp_path: Path) -> None:
    source, name = make_files(tmp_path / "set", large_bytes=LARGE), "end-stops"
    with rules_disabled(account, "cpt-reconcile", "cpt-watch-ends"):
        arn = begin(account, source, tmp_path / "out", name)
        account.cloud.client("ec2", OTHER).terminate_instances(InstanceIds=[account.destination])
        run = account.wait(arn)
    assert (run.status, run.error) == ("FAILED", "EndGone"), run.cause
    assert account.cloud.client("ec2", HOME).describe_instances(InstanceIds=[account.source])["Reservations"]
