from typing import Any

import pytest

from lambdas.core.errors import NoCapacity
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Spawned
from lambdas.handlers.states.spawn_measured_relays import spawn_measured_relays
from lambdas.handlers.states.spawn_relays import SpawnInput, in_turn
from lambdas.operations.fleet.providers.turns import TurnLaterError
from tests.lambdas.builders import IRELAND, WEST, delivered, estimate, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import begin

MEASURES: dict[str, Any] = {"profile": "measure", "relays": {"market": "on-demand", "instanceTypes": ["t3.small"]}}


def prepared() -> Cloud:
    cloud = Cloud()
    begin(cloud, transfer(**MEASURES))
    return cloud


def event(pairs: int = 1) -> SpawnInput:
    return SpawnInput(transfer=transfer(**MEASURES), estimate=estimate(pairs, pre_test=True))


def test_twice_as_many_pairs_are_launched_as_the_row_has() -> None:
    cloud = prepared()
    assert spawn_measured_relays(event(), cloud.world) == {"wanted": 2, "spawned": 2, "notes": []}
    assert {region: len(cloud.compute[region].of_transfer("first")) for region in (WEST, IRELAND)} == {
        WEST: 2,
        IRELAND: 2,
    }
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.spawned == Spawned(wanted=2, launched=2, notes=[])


def test_refusal_is_noted_for_the_report() -> None:
    cloud = prepared()
    cloud.compute[WEST].capacity = {"t3.small": 0}
    with pytest.raises(NoCapacity):
        spawn_measured_relays(event(), cloud.world)
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.spawned is not None
    assert record.spawned.notes[0].startswith("NoCapacity: ")


def test_execution_that_is_over_launches_nothing() -> None:
    cloud = prepared()
    cloud.transfers.change(transfer(), transfer_life.finish(delivered()))
    assert spawn_measured_relays(event(), cloud.world)["spawned"] == 0
    assert cloud.compute[WEST].launches == []


def test_throttled_launch_comes_again_when_it_is_its_turn() -> None:
    cloud = prepared()
    cloud.compute[WEST].refusals = {"t3.small": "RequestLimitExceeded"}
    with pytest.raises(TurnLaterError) as later:
        spawn_measured_relays(event(), cloud.world)
    told = in_turn(lambda: refuse(later.value), event(), cloud.world)
    assert told["waitSeconds"] >= 1
    cloud.compute[WEST].refusals = {}
    cloud.clock.time = max(later.value.queue.due.values())
    again = SpawnInput.model_validate({"transfer": event().transfer.to_document(), **told["again"]})
    assert spawn_measured_relays(again, cloud.world)["spawned"] == 2


def refuse(later: TurnLaterError) -> dict[str, Any]:
    raise later
