import json

import pytest
from jsonschema import Draft202012Validator

from lambdas.core.errors import AgentBusy, EndNotStarted, TransferFenced
from lambdas.core.record import transfer_life
from lambdas.core.seats.epochs import first_epoch
from lambdas.handlers.states.start_transfer import StartInput, start_transfer
from tests.lambdas.builders import DESTINATION_ID, ENDS, IRELAND, WEST, delivered, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import begin
from tests.lambdas.machines import failed
from tests.lambdas.many import begun, many
from tests.paths import CONTRACTS

SCHEMA = Draft202012Validator(json.loads((CONTRACTS / "relay-command.schema.json").read_text()))


def prepared() -> Cloud:
    cloud = Cloud()
    begin(cloud, transfer())
    return cloud


def event(token: str = "token-a") -> StartInput:
    return StartInput(transfer=transfer(), task_token=token)


def test_both_ends_are_started_with_the_same_epoch() -> None:
    cloud = prepared()
    assert start_transfer(event(), cloud.world) == {"start": 1, "started": True}
    (document, _, receive) = cloud.commands[IRELAND].sent[0]
    (other, _, send) = cloud.commands[WEST].sent[0]
    assert receive is not None
    assert send is not None
    assert (document, other) == ("receive", "send")
    assert receive["epoch"] == send["epoch"] == first_epoch(1)
    assert receive["listen"] == ["10.11.0.1:4601", "54.1.0.1:4601"]
    assert receive["plan"] == send["plan"] == f"{ENDS}plan.json"
    stored = cloud.tokens.get("first")
    assert stored is not None
    assert (stored.token, stored.start) == ("token-a", 1)


def test_same_token_again_keeps_its_epoch_and_another_gets_the_next() -> None:
    cloud = prepared()
    assert start_transfer(event(), cloud.world)["start"] == 1
    assert start_transfer(event(), cloud.world)["start"] == 1
    assert start_transfer(event("token-b"), cloud.world)["start"] == 2


def test_token_that_comes_after_the_outcome_is_released_at_once() -> None:
    cloud = prepared()
    cloud.transfers.change(transfer(), transfer_life.finish(delivered(bytes=5)))
    assert not start_transfer(event(), cloud.world)["started"]
    assert cloud.executions.answers == [("success", ("token-a", delivered(bytes=5).to_document()))]
    assert cloud.commands[WEST].sent == []


def test_end_that_does_not_start_shows_its_output() -> None:
    cloud = prepared()
    cloud.commands[IRELAND].scripts["receive"] = lambda _: failed("cpt: address in use")
    with pytest.raises(EndNotStarted, match=r"receive on i-0bbbbbbbbbbbbbbb2 .*address in use"):
        start_transfer(event(), cloud.world)
    record = cloud.transfers.get("first")
    assert record is not None
    assert not record.running  # relays need not wait for a sender
    assert record.outcome is not None
    assert record.outcome.error == "EndNotStarted"


def test_end_whose_agent_is_busy_ends_the_transfer_by_that_name() -> None:
    cloud = prepared()
    cloud.commands[IRELAND].busy.add(DESTINATION_ID)
    with pytest.raises(AgentBusy, match=f"the SSM agent of {DESTINATION_ID}"):
        start_transfer(event(), cloud.world)
    record = cloud.transfers.get("first")
    assert record is not None
    assert not record.running
    assert record.outcome is not None
    assert record.outcome.error == "AgentBusy"


def test_fenced_transfer_starts_nothing() -> None:
    cloud = prepared()
    cloud.transfers.change(transfer(), transfer_life.FENCE)
    with pytest.raises(TransferFenced):
        start_transfer(event(), cloud.world)
    assert cloud.commands[WEST].sent == []


def test_two_and_two_machines_are_started_each_in_its_seat() -> None:
    accepted = many(2, 2)
    cloud = begun(accepted)
    assert start_transfer(StartInput(transfer=accepted, task_token="token-a"), cloud.world)["started"]
    receives = {command["seat"]: command for _, _, command in cloud.commands[IRELAND].sent if command}
    sends = {command["seat"]: command for _, _, command in cloud.commands[WEST].sent if command}
    assert (sorted(receives), sorted(sends)) == (["r0", "r1"], ["s0", "s1"])
    assert receives["r1"]["listen"] == ["10.11.0.2:4601", "54.1.0.2:4601"]
    for command in (*receives.values(), *sends.values()):
        assert (command["manySenders"], command["manyReceivers"]) == (True, True)
        assert command["epoch"] == first_epoch(1)
        SCHEMA.validate(command)


def test_one_of_several_machines_that_does_not_start_ends_the_transfer_and_is_named() -> None:
    accepted = many(2, 2)
    cloud = begun(accepted)
    other = accepted.seat("s1").machine.instance_id
    cloud.commands[WEST].busy.add(other)
    with pytest.raises(AgentBusy, match=f"the SSM agent of {other}"):
        start_transfer(StartInput(transfer=accepted, task_token="token-a"), cloud.world)
