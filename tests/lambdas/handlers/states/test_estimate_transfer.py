from typing import Any

import pytest

from lambdas.core.errors import BudgetTooSmall
from lambdas.core.estimate.dry_run import DryRun
from lambdas.core.estimate.figures import Figures
from lambdas.core.pool.region_price import RegionPrice
from lambdas.core.survey.survey import Survey
from lambdas.handlers.states.estimate_transfer import EstimateInput, estimate_transfer
from lambdas.operations.estimate.estimation import gateway
from tests.lambdas import pools
from tests.lambdas.builders import ENDS, IRELAND, WEST, profile, survey, transfer, with_machine
from tests.lambdas.cloud import Cloud
from tests.lambdas.core.intake.test_extras import DIGEST, extras
from tests.lambdas.many import begun, many

PAIR = "us-west-2>eu-west-1"
ENDS_REGIONS = (WEST, IRELAND)


def test_profiles_are_preferred_and_the_record_keeps_the_estimate() -> None:
    cloud = Cloud()
    accepted = transfer(relays={"pairs": 2})
    cloud.transfers.create(accepted)
    for kind in ("m5.large", "t3.small"):
        cloud.profiles.profiles[kind, PAIR] = profile(20, 160, 5)
    found = estimate_transfer(EstimateInput(transfer=accepted, survey=survey(size=2 * 10**9)), cloud.world)
    assert (found.chosen_pairs, found.instance_type) == (2, "t3.small")
    figures = found.figures
    assert [figure.value for figure in (figures.direct, figures.source, figures.spawn)] == [20, 160, 5]
    assert {figure.origin for figure in (figures.direct, figures.source, figures.pair, figures.spawn)} == {"configured"}
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.estimate == found


def test_what_a_sample_says_is_told_beside_rows_of_the_plain_size() -> None:
    known = survey(size=2 * 10**9)
    sampled = known.model_copy(update={"source": known.source.model_copy(update={"packed_share": 0.25})})
    plain, packed = (
        estimate_transfer(EstimateInput(transfer=transfer(), survey=one), Cloud().world) for one in (known, sampled)
    )
    assert plain.packing is None
    assert packed.packing is not None
    assert packed.packing.saved_bytes == 15 * 10**8
    assert packed.packing.saved_seconds == pytest.approx(0.75 * packed.row(packed.chosen_pairs).seconds, abs=1e-3)
    assert packed.rows == plain.rows
    assert packed.notes == [*plain.notes, packed.packing.words]


def test_of_a_path_that_nobody_has_measured_is_expected_what_others_of_the_same_regions_carry() -> None:
    cloud = Cloud(third=("eu-central-1", "us-east-1"))
    for pair, rate in (("us-west-2>eu-central-1", 30.0), ("us-east-1>eu-west-1", 34.0), ("us-east-1>us-west-2", 400.0)):
        cloud.profiles.integrate("t3.small", pair, "interRegion", rate, 0.0)
    found = estimate_transfer(EstimateInput(transfer=transfer(), survey=survey()), cloud.world)
    assert found.figures.direct.value == 32.0
    assert found.on_the_way
    cloud.profiles.integrate("i-0aaaaaaaaaaaaaaa1>i-0bbbbbbbbbbbbbbb2", PAIR, "direct", 20.0, 0.0)
    known = estimate_transfer(EstimateInput(transfer=transfer(), survey=survey()), cloud.world)
    assert known.figures.direct.value == 20.0


def test_what_nobody_knows_is_marked_assumed() -> None:
    found = estimate_transfer(EstimateInput(transfer=transfer(), survey=survey()), Cloud().world)
    assert (found.figures.source.origin, found.figures.spawn.origin) == ("assumed", "assumed")
    assert (found.figures.egress.value, found.figures.egress.note[-14:]) == (0.02, "embedded table")
    assert any("embedded table" in note for note in found.notes)


def test_the_best_type_of_the_request_is_estimated() -> None:
    cloud = Cloud()
    for kind, rate in (("m5.large", 20), ("t3.medium", 40), ("t3.small", 10)):
        cloud.profiles.profiles[kind, PAIR] = profile(rate, 160, 5)
    accepted = transfer(relays={"instanceTypes": ["t3.small", "t3.medium"]})
    found = estimate_transfer(EstimateInput(transfer=accepted, survey=survey(size=2 * 10**9)), cloud.world)
    assert found.instance_type == "t3.medium"
    assert [one.instance_type for one in found.candidates] == ["t3.medium", "t3.small"]


def test_a_terabyte_between_two_zones_is_refused_for_a_dollar_with_the_least_that_would_do() -> None:
    """AWS takes $0.01 per GB out of one zone and $0.01 into the other: 1 TB costs $20."""
    accepted = transfer(objective={"maxCostUsd": 1.0})
    there = {"region": "us-west-2", "availability_zone": "us-west-2b", "vpc_id": "vpc-source"}
    accepted = with_machine(accepted, "r0", **there)
    with pytest.raises(BudgetTooSmall, match=r"maxCostUsd: 1\.0 is less .* needs, 20\.\d+ dollars with 0 pairs"):
        estimate_transfer(EstimateInput(transfer=accepted, survey=survey(size=10**12)), Cloud().world)


def test_what_a_transit_gateway_passes_on_is_paid_for_between_two_vpcs() -> None:
    def estimated(**environment: Any) -> Figures:
        cloud = Cloud(**environment)
        return estimate_transfer(EstimateInput(transfer=transfer(), survey=survey(files=7)), cloud.world).figures

    plain, through = estimated(), estimated(inter_region_path="transit-gateway")
    assert plain.gateway is None
    assert through.leaving_gb_usd == pytest.approx(plain.leaving_gb_usd + 0.02)
    assert (plain.entries, through.entries) == (7, 7)


def test_within_one_vpc_nothing_goes_through_a_gateway() -> None:
    accepted = transfer()
    assert gateway(with_machine(accepted, "r0", region="us-west-2", vpc_id="vpc-source")) is None


# The tests' clock stands at 1000 s: 00:16:40. 2 GB take 100 s at 20 MB/s; 80 Mbit/s are 10 MB/s.
@pytest.mark.parametrize(
    ("limits", "seconds", "limit"),
    [
        ([("00:00", 80), ("00:30", "none")], 200.0, "the request's timetable, which lets 10.0 MB/s pass at times"),
        (
            [("00:00", 80), ("00:18", "none")],
            80.0 + 60.0,
            "the request's timetable, which lets 10.0 MB/s pass at times",
        ),
        (
            [("00:00", "none"), ("00:17", 80)],
            20.0 + 160.0,
            "the request's timetable, which lets 10.0 MB/s pass at times",
        ),
        ([("00:00", "none"), ("00:18", 80), ("00:19", 16)], 80.0 + 40.0, "the request's timetable, which lets 10.0"),
        ([("00:00", "none"), ("00:30", 80)], 100.0, "the direct path carries 20.0 MB/s"),
        ([("00:00", 400), ("00:30", 80)], 100.0, "the direct path carries 20.0 MB/s"),
    ],
)
def test_times_follow_the_timetable_of_limits(limits: list[tuple[str, int | str]], seconds: float, limit: str) -> None:
    cloud = Cloud()
    cloud.profiles.profiles["m5.large", PAIR] = profile(20, 160, 5)
    rows = [{"from": start, "mbps": mbps} for start, mbps in limits]
    accepted = transfer(relays={"pairs": 0}, bandwidthLimitMbps={"timetable": rows})
    found = estimate_transfer(EstimateInput(transfer=accepted, survey=survey(size=2 * 10**9)), cloud.world)
    assert found.row(0).seconds == pytest.approx(seconds, abs=0.001)
    assert found.row(0).limit.startswith(limit)


def test_relays_are_chosen_for_the_hours_without_a_limit() -> None:
    cloud = Cloud()
    for kind in ("m5.large", "t3.small"):
        cloud.profiles.profiles[kind, PAIR] = profile(20, 160, 5)
    objective = {"minimise": "time"}
    # 80 Mbit/s for 80 s more, then for ever: the direct path alone fills the first, and not the second.
    soon = {"timetable": [{"from": "00:00", "mbps": 80}, {"from": "00:18", "mbps": "none"}]}
    chosen = []
    for wish in (80, soon):
        accepted = transfer(objective=objective, bandwidthLimitMbps=wish)
        found = estimate_transfer(EstimateInput(transfer=accepted, survey=survey(size=20 * 10**9)), cloud.world)
        chosen.append(found.chosen_pairs)
    assert chosen[0] == 0
    assert chosen[1] > 2


def test_of_a_dry_run_the_record_keeps_what_would_be_done_and_where_it_is_listed() -> None:
    cloud = Cloud()
    accepted = transfer(dryRun=True)
    cloud.transfers.create(accepted)
    estimate_transfer(EstimateInput(transfer=accepted, survey=survey(files=7)), cloud.world)
    record = cloud.transfers.get("first")
    assert record
    assert record.dry_run
    assert record.dry_run.new.files == 7
    assert record.dry_run.where.startswith("s3://")
    assert record.dry_run.where.endswith("/listing/")


def dry_run(found: Survey, **keys: Any) -> DryRun:
    cloud, asked = Cloud(), transfer(dryRun=True, **keys)
    cloud.transfers.create(asked)
    estimate_transfer(EstimateInput(transfer=asked, survey=found), cloud.world)
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.dry_run is not None
    return record.dry_run


def test_a_dry_run_tells_how_long_what_is_left_would_take_from_start_to_report() -> None:
    left = dry_run(survey(files=7, size=2 * 10**9)).left
    assert left is not None
    assert (left.files, left.bytes) == (7, 2 * 10**9)
    assert left.seconds_low <= left.seconds <= left.seconds_high
    assert left.seconds < left.whole_seconds
    below, above = left.whole_seconds - left.whole_seconds_low, left.whole_seconds_high - left.whole_seconds
    assert 0 < below <= above + 0.002, "as far on both sides, but never below nothing"


def test_a_dry_run_tells_what_would_be_deleted_and_how_to_confirm_it() -> None:
    assert dry_run(survey()).deleted is None
    some = dry_run(survey().model_copy(update={"extras": extras()}), delete=True, maxDelete=3).deleted
    assert some is not None
    assert (some.entries, some.bytes, some.digest, some.refused) == (4, 300, DIGEST, True)
    assert (some.where or "").endswith(f"/{ENDS}extras/1/")
    none = dry_run(survey(), delete=True).deleted
    assert none is not None
    assert (none.entries, none.where, none.refused) == (0, None, False)


def test_two_machines_at_each_end_take_half_the_time_of_one() -> None:
    found = {}
    for count in (1, 2):
        accepted = many(count, count, relays={"pairs": 0})
        estimate = estimate_transfer(EstimateInput(transfer=accepted, survey=survey()), begun(accepted).world)
        found[count] = estimate.rows[0]
    assert found[1].limit.startswith("the source machine sends")
    assert found[2].limit.startswith("the 2 source machines send")
    assert found[2].seconds == pytest.approx(found[1].seconds / 2, rel=0.2)


def price_of(cloud: Cloud, use: float, hour_usd: float = 0.36) -> None:
    """Both regions' pools, of which so much is leased, and whose nodes cost so much an hour."""
    for region in ENDS_REGIONS:
        price = RegionPrice(region=region, at=cloud.clock.now(), use=use, vm_usd_per_hour=hour_usd, node_mb_s=100.0)
        cloud.pool_accounts.put_price(price)


def test_the_pool_s_price_is_that_of_the_first_estimate_whatever_comes() -> None:
    cloud = Cloud(pool_regions=pools.regions())
    pools.stand(cloud, 2)
    price_of(cloud, 0.0)
    accepted = transfer(relays={"pairs": 2})
    cloud.transfers.create(accepted)
    asked = EstimateInput(transfer=accepted, survey=survey(size=2 * 10**9))
    first = estimate_transfer(asked, cloud.world)
    assert first.pool_price is not None
    assert first.figures.pooled == 2
    assert first.chosen.pool_usd is not None
    assert first.chosen.cost_usd > first.chosen.pool_usd > 0
    assert [one.kind for one in first.side_by_side or []] == ["direct", "pool", "launched"]
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.pool_price == first.pool_price
    price_of(cloud, 1.0)
    assert estimate_transfer(asked, cloud.world).pool_price == first.pool_price


@pytest.mark.parametrize("relays", [{"pairs": 2, "pool": "none"}, {"pairs": 2}])
def test_without_leases_or_a_price_the_pool_is_in_no_row(relays: dict[str, Any]) -> None:
    cloud = Cloud(pool_regions=pools.regions())
    if relays.get("pool") == "none":
        price_of(cloud, 0.0)
    found = estimate_transfer(EstimateInput(transfer=transfer(relays=relays), survey=survey()), cloud.world)
    assert (found.pool_price, found.side_by_side, found.figures.pool_usd) == (None, None, None)


@pytest.mark.parametrize(("hour_usd", "pairs"), [(0.36, 2), (3600.0, 0)])
def test_a_pool_that_the_budget_does_not_bear_is_no_reason_not_to_move(hour_usd: float, pairs: int) -> None:
    cloud = Cloud(pool_regions=pools.regions())
    pools.stand(cloud, 2)
    price_of(cloud, 0.0, hour_usd)
    accepted = transfer(relays={"pairs": 2}, objective={"maxCostUsd": 0.15})
    found = estimate_transfer(EstimateInput(transfer=accepted, survey=survey(size=2 * 10**9)), cloud.world)
    assert found.chosen_pairs == pairs
