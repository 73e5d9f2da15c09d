"""A transfer with a route through a third region, whose plan is made again while data moves."""

from typing import Any

import pytest

from lambdas.core.chunks.progress import LaneProgress
from lambdas.core.fleet.relay_watch import Look, PathLook, Watch
from lambdas.core.places.machines import TransitRegion
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Estimated
from lambdas.core.request.request import Objective
from lambdas.core.tariff.instance_types import TypeFacts
from lambdas.handlers.reactions.replan_routes import replan_routes
from lambdas.handlers.reactions.watch_relays import watch_relays
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from lambdas.runtime.handler import BusEvent
from tests.lambdas.builders import IRELAND, SHARED, WEST, figure, plan, profile, progress
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import amend, path_ids
from tests.lambdas.handlers.test_routes import FRANKFURT, THROUGH, accepted, launched, routed

VIRGINIA = "us-east-1"
SIZE = 100 * 10**9
RATES = {(WEST, FRANKFURT): 20.0, (FRANKFURT, IRELAND): 20.0, (WEST, VIRGINIA): 18.0, (VIRGINIA, IRELAND): 18.0}


def moving(rates: dict[str, float], *, budget: float | None = None, **wish: Any) -> Cloud:
    """Data has moved for five minutes; `rates`: MB/s of the paths now; `wish`: of the objective."""
    asked = accepted()
    transit = [TransitRegion(region=region, vpc_id="vpc-transit") for region in (FRANKFURT, VIRGINIA)]
    objective = Objective.from_document({"minimise": "time", **wish, **({"maxCostUsd": budget} if budget else {})})
    request = asked.request.model_copy(update={"objective": objective})
    asked = asked.model_copy(update={"transit": transit, "request": request})
    cloud = launched(routed(THROUGH), asked, third=(FRANKFURT, VIRGINIA))
    for region, facts in cloud.instance_types.items():
        facts.known["t3.small"] = TypeFacts(
            "t3.small", 2, "x86_64", 0.128, 5.0, 100.0, 100.0, False, frozenset({f"{region}a"})
        )
    for (start, end), rate in RATES.items():
        cloud.profiles.profiles["t3.small", f"{start}>{end}"] = profile(rate, 500, 5)
    await_relays(AwaitInput(transfer=asked), cloud.world)
    wide = routed(THROUGH)
    wide = wide.model_copy(update={"figures": wide.figures.model_copy(update={"pair": figure(5)})})
    cloud.transfers.change(asked, transfer_life.note(plan=plan(size=SIZE), estimate=wide))
    cloud.clock.sleep(300)
    began = cloud.clock.now() - 300

    def report() -> None:
        serving = path_ids(cloud)
        lanes = [
            LaneProgress(path_id=path, lane=0, bytes=10**9, rate=rate)
            for path, rate in rates.items()
            if path in serving
        ]
        said = {"at": cloud.clock.now(), "first_byte_at": began, "lanes": lanes, "bytes": 10**9, "moved_bytes": 10**9}
        cloud.agents.progresses[SHARED, "s0"] = progress(1).model_copy(update=said)

    report()
    looked(cloud, rates)
    for at in range(1, 400):
        cloud.clock.at(at, report)
    return cloud


def looked(cloud: Cloud, rates: dict[str, float], seconds: float = 30) -> None:
    """Two looks so long apart have seen these rates of the paths that serve."""
    now, serving = cloud.clock.now(), path_ids(cloud)

    def look(at: float) -> Look:
        carried = {path: int(rates.get(path, 0.0) * 1e6 * (at - now + 1000)) for path in serving}
        return Look(
            epoch=1, at=at, paths=[PathLook(path_id=p, generation=0, lanes=1, bytes=b) for p, b in carried.items()]
        )

    record = cloud.transfers.get("first")
    assert record is not None
    cloud.transfers.change(record.transfer, transfer_life.note(watch=Watch(looks=[look(now - seconds), look(now)])))


def due(cloud: Cloud, source: str = "cpt.control") -> Any:
    body = {"schemaVersion": 1, "type": "Plan Due", "transferId": "first"}
    event = BusEvent.from_document({"detail-type": "Plan Due", "source": source, "detail": body})
    return replan_routes(event, cloud.world)


def told(cloud: Cloud) -> list[str]:
    watch_relays(BusEvent.from_document({"detail-type": "Scheduled Event", "detail": {}}), cloud.world)
    return [kind for kind, _ in cloud.events.put_events if kind == "Plan Due"]


SLOW = {"direct": 5.0, "route-2-1-1-1": 2.0, "route-5-1-1-1": 18.0, "pair-1": 5.0}
AS_PLANNED = {"direct": 5.0, "route-2-1-1-1": 20.0}


def test_plan_is_due_each_minute_where_routes_may_lead_through_third_regions() -> None:
    assert told(moving(SLOW)) == ["Plan Due"]


def test_route_that_became_slow_is_replaced_by_another_and_drained() -> None:
    cloud = moving(SLOW)
    assert path_ids(cloud) == ["direct", "route-2-1-1-1"]
    assert due(cloud) == {"first": "changed"}
    assert "route-5-1-1-1" in path_ids(cloud)
    assert "route-2-1-1-1" not in path_ids(cloud)
    assert [one.role for one in cloud.compute[FRANKFURT].machines.values() if not one.instance.gone] == []
    record = cloud.transfers.get("first")
    assert record is not None
    assert "through us-east-1" in record.decisions[-1].reason
    assert ("Relays Decided", "first") in [(kind, told["transferId"]) for kind, told in cloud.events.put_events]


def test_new_route_serves_before_the_old_one_leaves() -> None:
    cloud = moving(SLOW)
    seen: list[list[str]] = []
    for at in range(1, 400):
        cloud.clock.at(at, lambda: seen.append(path_ids(cloud)))
    due(cloud)
    assert all(len(paths) >= 2 for paths in seen)


def test_nothing_changes_where_the_route_carries_what_it_should() -> None:
    cloud = moving(AS_PLANNED)
    before = cloud.alive()
    assert due(cloud) in ({"first": "kept"}, {"first": "changed"})
    assert set(before) <= set(cloud.alive())


def test_the_event_that_comes_twice_changes_nothing_more() -> None:
    cloud = moving(SLOW)
    due(cloud)
    before = cloud.alive()
    assert due(cloud) == {"first": "known"}
    assert cloud.alive() == before


def test_an_end_cannot_bring_it_about() -> None:
    assert due(moving(SLOW), source="cpt.agent") == {}


def test_region_that_refuses_leaves_the_old_route_and_rests() -> None:
    cloud = moving(SLOW)
    cloud.compute[VIRGINIA].refusals["t3.small"] = "InsufficientInstanceCapacity"
    cloud.compute[WEST].refusals["t3.small"] = "InsufficientInstanceCapacity"
    assert due(cloud) == {"first": "refused"}
    assert path_ids(cloud) == ["direct", "route-2-1-1-1"]
    cloud.clock.sleep(100)
    assert due(cloud) == {"first": "known"}


def test_way_whose_egress_the_budget_does_not_bear_is_not_taken() -> None:
    cloud = moving(SLOW, budget=5.0)
    before = cloud.alive()
    assert due(cloud) == {"first": "too dear"}
    assert cloud.alive() == before


@pytest.mark.parametrize("seconds", [0, 59])
def test_plan_rests_for_a_minute_after_a_change(seconds: int) -> None:
    cloud = moving(SLOW)
    for node in cloud.nodes.of("first"):
        amend(cloud, node, joined_at=cloud.clock.now() - seconds)
    assert told(cloud) == []


def test_old_route_stays_where_only_a_part_of_the_new_relays_came() -> None:
    cloud = moving(SLOW)
    cloud.compute[VIRGINIA].refusals["t3.small"] = "InsufficientInstanceCapacity"
    assert due(cloud)["first"] in ("refused", "partly")
    assert "route-2-1-1-1" in path_ids(cloud)


def test_report_of_two_seconds_without_bytes_is_no_reason_for_other_routes() -> None:
    cloud = moving(dict.fromkeys(AS_PLANNED, 0.0))
    looked(cloud, AS_PLANNED)
    before = cloud.alive()
    assert due(cloud) == {"first": "kept"}
    assert cloud.alive() == before


@pytest.mark.parametrize("seconds", [2, 20])
def test_nothing_is_planned_by_less_than_half_a_minute(seconds: float) -> None:
    cloud = moving(SLOW)
    looked(cloud, SLOW, seconds)
    assert due(cloud) == {"first": "known"}


def test_nothing_is_planned_for_the_last_chunks_on_their_way() -> None:
    cloud = moving(SLOW)
    record = cloud.transfers.get("first")
    assert isinstance(record, Estimated)
    lanes = len(path_ids(cloud))
    said = cloud.agents.progresses[SHARED, "s0"]
    left = plan(size=said.bytes + lanes * record.plan.chunk_size_bytes)
    cloud.transfers.change(record.transfer, transfer_life.note(plan=left))
    assert due(cloud) == {"first": "known"}
    more = plan(size=said.bytes + 10**11)
    cloud.transfers.change(record.transfer, transfer_life.note(plan=more))
    assert due(cloud) == {"first": "changed"}


def test_plan_is_due_after_the_look_that_it_goes_by() -> None:
    cloud = moving(SLOW)
    looked_at: list[float] = []
    put = cloud.events.put

    def note(kind: str, detail: dict[str, Any]) -> None:
        record = cloud.transfers.get("first")
        assert isinstance(record, Estimated)
        looked_at.append(record.watch.looks[-1].at)
        put(kind, detail)

    cloud.clock.sleep(10)
    reported_at = cloud.agents.progresses[SHARED, "s0"].at
    cloud.events.put = note  # type: ignore[method-assign]
    told(cloud)
    assert looked_at[0] == reported_at
