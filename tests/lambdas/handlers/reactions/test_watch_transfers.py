"""Relays of no transfer go, and only these: also where an index has not caught up, or a region's EC2 answers nobody."""

from typing import Any

import pytest

from lambdas.adapters.records import Instance
from lambdas.core.record import transfer_life
from lambdas.handlers.reactions.reconcile import reconcile
from lambdas.handlers.reactions.watch_transfers import watch_transfers
from lambdas.handlers.states.tear_down import TearDownInput, tear_down
from lambdas.operations.fleet import relay_start
from lambdas.runtime.handler import BusEvent
from tests.lambdas.builders import ARN, IRELAND, SHARED, WEST, chunk, progress, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import begin, states
from tests.lambdas.handlers.reactions.test_reconcile import running
from tests.lambdas.minute import look_due


class UnwellError(Exception):
    """EC2 of a region does not answer."""


def unwell(*_: object) -> Any:
    raise UnwellError


def lagging(cloud: Cloud) -> None:
    """The index of active transfers has nothing yet."""
    cloud.transfers.active = list  # type: ignore[method-assign]
    cloud.transfers.active_ids = list  # type: ignore[method-assign]


def test_relays_of_a_transfer_that_the_index_does_not_show_yet_are_left_alone() -> None:
    cloud = running()
    before = cloud.alive()
    lagging(cloud)
    watch_transfers(BusEvent(), cloud.world)
    assert cloud.alive() == before != []


def test_rules_of_a_transfer_that_the_index_does_not_show_yet_are_left_alone() -> None:
    cloud = running()
    other = transfer("other", f"{ARN}-other")
    begin(cloud, other)
    cloud.groups[IRELAND].admit("vpc-destination/cpt-endpoint", "54.9.9.9", 4601, "other")
    mine = [rule for rule in cloud.groups[IRELAND].rules() if rule.transfer_id == "first"]
    lagging(cloud)
    tear_down(TearDownInput(transfer=transfer(), execution_arn=transfer().execution_arn), cloud.world)
    left = cloud.groups[IRELAND].rules()
    assert mine
    assert [rule.transfer_id for rule in left] == ["other"]


def test_relay_that_ec2_does_not_list_once_is_not_lost() -> None:
    cloud = running()
    cloud.clock.time += relay_start.UNSEEN_SECONDS + 1
    describe, looks = cloud.compute[WEST].describe, list[int]()

    def blind_at_first(ids: Any) -> list[Instance]:
        looks.append(1)
        return [] if len(looks) == 1 else describe(ids)

    cloud.compute[WEST].describe = blind_at_first  # type: ignore[method-assign, assignment]
    assert reconcile(look_due(), cloud.world)["first"]["lost"] == 0
    assert len(looks) >= 2


def test_a_region_that_is_unwell_keeps_strays_of_no_other_alive() -> None:
    cloud = running()
    cloud.transfers.change(transfer(), transfer_life.close("SUCCEEDED"))
    cloud.compute[IRELAND].of_deployment = unwell  # type: ignore[method-assign]
    with pytest.raises(UnwellError):
        watch_transfers(BusEvent(), cloud.world)
    assert cloud.compute[WEST].terminated != []
    assert cloud.compute[IRELAND].terminated == []
    assert cloud.metrics.sums["TransfersActive"] == 0


def test_a_look_finds_what_records_say_though_ec2_is_unwell() -> None:
    cloud = running()
    cloud.chunks.put_all([chunk(0, failed_attempt=1, reason="stream-lost"), chunk(1)])
    cloud.agents.progresses[SHARED, "s0"] = progress(2, failed=1)
    for compute in cloud.compute.values():
        compute.describe = unwell  # type: ignore[method-assign, assignment]
    with pytest.raises(UnwellError):
        reconcile(look_due(), cloud.world)
    found = cloud.chunks.get(SHARED, 0)
    record = cloud.transfers.get("first")
    assert found is not None
    assert found.attempt == 2
    assert record is not None
    assert record.spent is not None  # the budget was looked at
    assert set(states(cloud).values()) == {"JOINED"}


def test_ends_order_no_looks() -> None:
    cloud = running()
    assert reconcile(look_due().model_copy(update={"source": "cpt.agent"}), cloud.world) == {}
