from lambdas.core.record import transfer_life
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from lambdas.handlers.states.join_relays import JoinInput, join_relays
from tests.lambdas.builders import SHARED, transfer
from tests.lambdas.fleet import path_ids, spawned, states


def test_ready_pairs_join_in_one_version() -> None:
    cloud = spawned(1, pre_test=True)
    await_relays(AwaitInput(transfer=transfer()), cloud.world)
    before = cloud.agents.membership(SHARED)
    assert before is not None
    assert join_relays(JoinInput(transfer=transfer()), cloud.world) == {"joined": 2}
    after = cloud.agents.membership(SHARED)
    assert after is not None
    assert after.version == before.version + 1
    assert path_ids(cloud) == ["direct", "pair-1", "pair-2"]


def test_joining_again_changes_nothing() -> None:
    cloud = spawned(1)
    await_relays(AwaitInput(transfer=transfer()), cloud.world)
    before = cloud.agents.membership(SHARED)
    assert join_relays(JoinInput(transfer=transfer()), cloud.world) == {"joined": 1}
    assert cloud.agents.membership(SHARED) == before


def test_fenced_transfer_takes_nobody() -> None:
    cloud = spawned(1, pre_test=True)
    await_relays(AwaitInput(transfer=transfer()), cloud.world)
    cloud.transfers.change(transfer(), transfer_life.FENCE)
    assert join_relays(JoinInput(transfer=transfer()), cloud.world) == {"joined": 0}
    assert path_ids(cloud) == ["direct"]
    assert set(states(cloud).values()) == {"READY"}
