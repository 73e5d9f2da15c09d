from lambdas.handlers.estimate_transfer import EstimateInput, estimate_transfer
from tests.lambdas.builders import profile, survey, transfer
from tests.lambdas.cloud import Cloud

PAIR = "us-west-2>eu-west-1"


def test_profiles_are_preferred_and_the_record_keeps_the_estimate() -> None:
    cloud = Cloud()
    accepted = transfer(relays={"pairs": 2})
    cloud.transfers.create(accepted)
    for kind in ("m5.large", "t3.small"):
        cloud.profiles.profiles[kind, PAIR] = profile(20, 160, 5)
    found = estimate_transfer(EstimateInput(transfer=accepted, survey=survey(size=2 * 10**9)), cloud.world)
    assert (found.chosen_pairs, found.instance_type, found.figures.origin) == (2, "t3.small", "configured")
    assert (found.figures.direct, found.figures.source, found.figures.spawn_seconds) == (20, 160, 5)
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.estimate == found


def test_without_profiles_published_limits_count_and_are_marked_assumed() -> None:
    cloud = Cloud()
    found = estimate_transfer(EstimateInput(transfer=transfer(), survey=survey()), cloud.world)
    assert found.figures.origin == "assumed"
    assert found.figures.egress_usd_per_gb == 0.02


def test_preferred_type_of_the_request_is_estimated() -> None:
    accepted = transfer(relays={"instanceTypes": ["t3.medium", "t3.small"]})
    found = estimate_transfer(EstimateInput(transfer=accepted, survey=survey()), Cloud().world)
    assert found.instance_type == "t3.medium"
