from lambdas.handlers.states.estimate_transfer import EstimateInput, estimate_transfer
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
    assert (found.chosen_pairs, found.instance_type) == (2, "t3.small")
    figures = found.figures
    assert [figure.value for figure in (figures.direct, figures.source, figures.spawn)] == [20, 160, 5]
    assert {figure.origin for figure in (figures.direct, figures.source, figures.pair, figures.spawn)} == {"configured"}
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.estimate == found


def test_where_nothing_is_moved_the_estimate_is_of_measuring() -> None:
    cloud = Cloud()
    cloud.profiles.profiles["t3.small", PAIR] = profile(20, 160, 5)
    accepted = transfer(profile="measure", objective={"deadlineSeconds": 1}, relays={"pairs": 4})
    found = estimate_transfer(EstimateInput(transfer=accepted, survey=survey(size=2 * 10**9)), cloud.world)
    assert (found.bytes, found.chosen_pairs, found.pre_test, found.rows[0].pairs) == (0, 1, True, 1)
    assert found.row(1).seconds == 5 + 3 * cloud.world.env.pre_test_seconds


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
