"""Estimates whose sides have relays of other strength: as many of each as the other side feeds."""

from dataclasses import replace

import pytest

from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.figures import EndFigures
from lambdas.core.estimate.type_choice import Offer
from lambdas.core.places.machines import ExistingRelay, TransitRegion
from lambdas.core.request.request import Objective
from lambdas.core.tariff.instance_types import TypeFacts
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.estimate.estimation import estimate_for
from tests.lambdas.builders import IRELAND, WEST, profile, transfer, with_machine
from tests.lambdas.cloud import Cloud

FRANKFURT = "eu-central-1"
SIZE = 100 * 10**9
STRONG, WEAK = "c6in.large", "t3.small"
BY_SIDE = {"source": [STRONG], "destination": [WEAK]}


def accepted(*third: str, minimise: str = "time", **relays: object) -> AcceptedTransfer:
    asked = transfer(relays={"through": list(third) or "none", "instanceTypes": BY_SIDE, **relays}, preTest=False)
    request = asked.request.model_copy(update={"objective": Objective.from_document({"minimise": minimise})})
    transit = [TransitRegion(region=region, vpc_id="vpc-transit") for region in third]
    return asked.model_copy(update={"request": request, "transit": transit})


def known(strong: float = 60.0, weak: float = 20.0) -> Cloud:
    """A cloud whose relays were measured; the direct path carries 5 MB/s."""
    cloud = Cloud(third=(FRANKFURT,), instance_types=(STRONG, WEAK))
    for region, facts in cloud.instance_types.items():
        for kind in (STRONG, WEAK):
            facts.known[kind] = TypeFacts(kind, 2, "x86_64", 0.128, 5.0, 100.0, 100.0, False, frozenset({f"{region}a"}))
    cloud.profiles.profiles[STRONG, f"{WEST}>{IRELAND}"] = profile(strong, 2000, 5)
    cloud.profiles.profiles[WEAK, f"{WEST}>{IRELAND}"] = profile(weak, 2000, 5)
    cloud.profiles.profiles["m5.large", f"{WEST}>{IRELAND}"] = profile(5, 2000, 5)
    return cloud


def planned(cloud: Cloud, asked: AcceptedTransfer) -> Estimate:
    return estimate_for(asked, SIZE, cloud.world)


def counts(found: Estimate, pairs: int) -> list[list[int]]:
    return [use.relays for use in found.row(pairs).planned]


def test_weaker_side_gets_more_relays() -> None:
    found = planned(known(), accepted())
    assert [counts(found, pairs) for pairs in (1, 2, 4)] == [[], [[1, 3]], [[2, 6]]]
    assert found.row(2).seconds < 0.8 * planned(known(), accepted(pairs=2)).row(2).seconds
    assert "4 source and 12 destination relays" in found.reason


def test_every_stage_has_the_type_and_the_price_of_its_side() -> None:
    found = planned(known(), accepted())
    (use,) = found.routes
    assert [found.type_of(stage) for stage in (0, 1)] == [STRONG, WEAK]
    assert [found.hour_usd(stage) for stage in (0, 1)] == use.hours_usd
    assert use.hours_usd[0] > use.hours_usd[1]


def test_numbers_that_were_asked_for_stay_pairs() -> None:
    for asked in (accepted(pairs=3), accepted(pairs={"source": 2, "destination": 3})):
        assert all(row.planned == [] for row in planned(known(), asked).rows)


def test_sides_that_are_alike_stay_pairs() -> None:
    assert all(row.planned == [] for row in planned(known(20.0, 20.0), accepted()).rows)


def test_side_with_a_small_quota_has_few_and_the_other_one_what_they_feed(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = known()
    monkeypatch.setattr(cloud.compute[WEST], "running", list)
    cloud.quotas[WEST].limits = {"on-demand": 4.0, "spot": 4.0}
    found = planned(cloud, accepted())
    assert [row.pairs for row in found.rows] == [0, 1, 2, 3, 4]
    assert [counts(found, pairs) for pairs in (2, 3, 4)] == [[[1, 3]], [[2, 4]], [[2, 6]]]
    assert found.chosen_pairs == 4


def test_way_through_a_third_region_ends_in_relays_of_the_destination_type() -> None:
    cloud = known(10.0, 20.0)
    for border in (f"{WEST}>{FRANKFURT}", f"{FRANKFURT}>{IRELAND}"):
        cloud.profiles.profiles[STRONG, border] = profile(60.0, 2000, 5)
        cloud.profiles.profiles[WEAK, border] = profile(20.0, 2000, 5)
    found = planned(cloud, accepted(FRANKFURT))
    (use,) = [use for use in found.routes if use.between]
    assert use.relays[1] == use.relays[0]
    assert use.relays[2] == pytest.approx(3 * use.relays[0], abs=2)
    assert [found.type_of(stage) for stage in use.stages()] == [STRONG, STRONG, WEAK]


def machine(number: int, stage: int) -> ExistingRelay:
    end = (transfer().at_source, transfer().at_destination)[stage]
    changes = {"instance_id": f"i-{number:017x}", "instance_type": "m5.large"}
    return ExistingRelay(**{**dict(end), **changes}, stage=stage, spot=False)


def test_lent_machines_count_with_their_share_and_others_make_up_for_them() -> None:
    cloud, asked = known(), accepted(instanceTypes=[STRONG], existingShare=0.1)
    asked = asked.model_copy(update={"existing": [machine(1, 0), machine(2, 0)]})
    found = planned(cloud, asked)
    lent = found.figures.lent[0].rate.value
    assert lent < 0.9 * 60.0
    (use,) = found.routes
    assert use.lent == [2, 0]
    assert use.relays[0] > use.relays[1]
    assert use.rate.now == pytest.approx(min(2 * lent + (use.relays[0] - 2) * 60.0, use.relays[1] * 60.0), rel=1e-6)


def test_what_a_transfer_has_shown_of_a_pair_holds_both_sides_down() -> None:
    cloud = known()
    found = planned(cloud, accepted())

    def slower(ends: EndFigures, offers: list[Offer]) -> tuple[EndFigures, list[Offer]]:
        return ends, [replace(one, pair=one.pair.scaled(0.5, "half")) for one in offers]

    halved = estimate_for(accepted(), SIZE, cloud.world, adjusted=slower)
    assert counts(halved, 2) == counts(found, 2) == [[1, 3]]
    assert halved.row(2).planned[0].rate.now == pytest.approx(30.0)


def receiving(mb_s: float) -> Cloud:
    """Measured relays of 20 MB/s, a direct path of 5, and a destination of a type that takes `mb_s` from afar."""
    cloud = known(20.0, 20.0)
    cloud.profiles.profiles["m5.xlarge", f"{WEST}>{IRELAND}"] = profile(mb_s, 2000, 5)
    return cloud


def into_strong_receiver(pairs: int | str = "auto") -> AcceptedTransfer:
    return with_machine(accepted(instanceTypes=[WEAK], pairs=pairs), "r0", instance_type="m5.xlarge")


def test_receiver_that_takes_enough_from_afar_needs_no_relays_beside_it() -> None:
    found = planned(receiving(105.0), into_strong_receiver())
    (use,) = found.row(2).planned
    assert (use.stage, use.relays, use.rate.now) == (2, [4, 0], 80.0)
    pairs = planned(receiving(105.0), into_strong_receiver(pairs=4)).row(4)
    assert found.row(2).seconds == pytest.approx(pairs.seconds, rel=0.01)
    assert found.row(2).cost_usd < pairs.cost_usd
    assert "straight into the receiver" in found.row(2).limit


def test_receiver_that_is_the_limit_gets_relays_beside_it() -> None:
    found = planned(receiving(8.0), into_strong_receiver())
    assert all(use.relays[-1] for row in found.rows for use in row.planned)
    assert found.chosen_pairs > 0
