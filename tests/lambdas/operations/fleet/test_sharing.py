"""Common limits over records: who has which lease, whom it is told, and what two at once make of it."""

from typing import Any

import pytest

from lambdas.core.fleet.common_limit import CommonLimits, scope_of
from lambdas.core.fleet.membership import Membership
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Planned
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations import pausing
from lambdas.operations.fleet import membership, sharing
from tests.lambdas.builders import delivered, paths, plan, progress, transfer
from tests.lambdas.cloud import Cloud


def starts(cloud: Cloud, name: str, **changes: Any) -> AcceptedTransfer:
    """One more transfer begins to move."""
    accepted = transfer(name, f"arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:{name}", **changes)
    cloud.transfers.create(accepted)
    record = cloud.transfers.change(accepted, transfer_life.note(paths=paths(), plan=plan(size=10**9)))
    assert isinstance(record, Planned)
    sharing.begin(cloud.world, record)
    return accepted


def followed(cloud: Cloud, accepted: AcceptedTransfer) -> Membership:
    found = cloud.agents.membership(accepted.partition)
    assert found is not None
    return found


def mbps(cloud: Cloud, accepted: AcceptedTransfer) -> float | None:
    lease = followed(cloud, accepted).limit_lease
    return lease.mbps if lease else None


def says(cloud: Cloud, accepted: AcceptedTransfer, rate: float) -> None:
    """Its sender reports, in MB/s, and follows the latest membership."""
    told = progress(1).model_copy(
        update={"rate": rate, "membership_version": followed(cloud, accepted).version, "first_byte_at": 1.0}
    )
    cloud.agents.progresses[accepted.partition, "s0"] = told.model_copy(update={"at": cloud.clock.now()})


def limits(cloud: Cloud, most: int | None, label: str | None = None) -> CommonLimits:
    return sharing.look(cloud.world, cloud.transfers.active_ids(), lambda known: known.limited(scope_of(label), most))


def test_without_a_common_limit_nothing_is_written() -> None:
    cloud = Cloud()
    first = starts(cloud, "first")
    assert (mbps(cloud, first), followed(cloud, first).version) == (None, 1)
    assert sharing.look(cloud.world, ["first"]) == CommonLimits()


def test_those_that_run_have_equal_shares_at_once_and_lose_them_with_the_limit() -> None:
    cloud = Cloud()
    both = [starts(cloud, name) for name in ("first", "second")]
    limits(cloud, 240)
    assert [mbps(cloud, one) for one in both] == [120.0, 120.0]
    assert all(record.shared for name in ("first", "second") if (record := cloud.transfers.get(name)))
    limits(cloud, None)
    assert [mbps(cloud, one) for one in both] == [None, None]


def test_one_that_starts_under_a_limit_sends_nothing_before_the_others_have_less() -> None:
    cloud = Cloud()
    first = starts(cloud, "first")
    limits(cloud, 240)
    second = starts(cloud, "second")
    assert (mbps(cloud, first), mbps(cloud, second)) == (120.0, 0.0)
    sharing.look(cloud.world)
    says(cloud, first, 15.0)
    sharing.look(cloud.world)
    assert (mbps(cloud, first), mbps(cloud, second)) == (120.0, 120.0)


def test_one_whose_membership_begins_as_the_limit_is_set_has_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = Cloud()
    accepted = transfer()
    cloud.transfers.create(accepted)
    record = cloud.transfers.change(accepted, transfer_life.note(paths=paths(), plan=plan(size=10**9)))
    assert isinstance(record, Planned)
    plain = membership.begin

    def late(world: Any, of: Planned, common: Any = None) -> None:
        plain(world, of, common)
        world.common_limits.put(CommonLimits(version=1).limited(scope_of(None), 240))

    monkeypatch.setattr(membership, "begin", late)
    sharing.begin(cloud.world, record)
    assert mbps(cloud, accepted) == 240.0


def test_a_label_has_its_own_limit() -> None:
    cloud = Cloud()
    night, day = starts(cloud, "first", label="night"), starts(cloud, "second", label="day")
    found = limits(cloud, 80, "night")
    assert (mbps(cloud, night), mbps(cloud, day)) == (80.0, None)
    assert list(found.grants) == ["first"]


def test_of_two_that_set_it_at_once_neither_takes_the_others_place(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = Cloud()
    first = starts(cloud, "first", label="night")
    plain, raced = cloud.common_limits.put, list[CommonLimits]()

    def put(state: CommonLimits) -> bool:
        if not raced:
            raced.append(state)
            limits(cloud, 40, "night")
        return plain(state)

    monkeypatch.setattr(cloud.common_limits, "put", put)
    limits(cloud, 240)
    assert cloud.common_limits.get().limits == {"all": 240, "label:night": 40}
    assert mbps(cloud, first) == 40.0


def test_what_has_arrived_leaves_its_share_at_once_and_what_is_taken_down_keeps_it() -> None:
    cloud = Cloud()
    first, second, third = (starts(cloud, name) for name in ("first", "second", "third"))
    limits(cloud, 240)
    for one in (first, second, third):
        says(cloud, one, 10.0)
    cloud.transfers.change(first, transfer_life.finish(delivered()))
    cloud.transfers.change(second, transfer_life.FENCE)
    cloud.clock.sleep(30)
    says(cloud, third, 10.0)
    found = sharing.look(cloud.world)
    assert sorted(found.grants) == ["second", "third"]
    assert mbps(cloud, third) == 160.0


def test_a_share_that_nobody_was_told_of_is_told_by_the_next_look() -> None:
    cloud = Cloud()
    first = starts(cloud, "first")
    limits(cloud, 240)
    bare = followed(cloud, first).shared(None)
    assert cloud.agents.write_membership(first.partition, bare)
    sharing.look(cloud.world)
    assert mbps(cloud, first) == 240.0


def test_a_paused_one_leaves_its_share_to_the_others() -> None:
    cloud = Cloud()
    first, second = starts(cloud, "first"), starts(cloud, "second")
    limits(cloud, 240)
    pausing.change(cloud.world, "first", lambda known: known.begun(cloud.clock.now()))
    for _ in range(3):
        sharing.look(cloud.world)
        says(cloud, first, 0.0)
        says(cloud, second, 15.0)
    assert (mbps(cloud, first), mbps(cloud, second)) == (0.0, 240.0)
