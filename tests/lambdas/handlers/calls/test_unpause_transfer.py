from lambdas.handlers.calls.pause_transfer import PauseRequest, pause_transfer
from lambdas.handlers.calls.unpause_transfer import unpause_transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import spawned
from tests.lambdas.handlers.calls.test_pause_transfer import is_paused

FIRST = PauseRequest(transfer_id="first")


def asked(cloud: Cloud) -> int:
    return [kind for kind, _ in cloud.events.put_events].count("Transfer Unpaused")


def test_a_paused_one_goes_on_and_its_relays_are_asked_for_once() -> None:
    cloud = spawned(1)
    pause_transfer(FIRST, cloud.world)
    assert unpause_transfer(FIRST, cloud.world) == {"transferId": "first", "paused": False, "changed": True}
    assert not is_paused(cloud)
    assert unpause_transfer(FIRST, cloud.world)["changed"] is False
    assert asked(cloud) == 1


def test_one_that_nobody_paused_is_left_as_it_is() -> None:
    cloud = spawned(1)
    assert unpause_transfer(FIRST, cloud.world)["changed"] is False
    record = cloud.transfers.get("first")
    assert record is not None
    assert (record.pause, asked(cloud)) == (None, 0)
