import pytest

from lambdas.core.estimate.profile import Known, Profile, hosts


def test_unknown_metric_is_none() -> None:
    assert Profile().known("interRegion") is None


def test_configured_value_has_neither_samples_nor_spread() -> None:
    assert Profile(configured={"spawn": 5.0}).known("spawn") == Known(5.0, 0.0, 0, None, "configured")


def test_what_was_measured_wins_over_what_was_configured() -> None:
    profile = Profile(configured={"interRegion": 20.0, "spawn": 5.0}).refined("interRegion", 12.0, 1000.0)
    assert profile.known("interRegion") == Known(12.0, 0.0, 1, 1000.0, "measured")
    assert profile.known("spawn") == Known(5.0, 0.0, 0, None, "configured")


def test_samples_refine_mean_and_spread() -> None:
    profile = Profile().refined("direct", 10.0, 1000.0).refined("direct", 20.0, 2000.0)
    found = profile.known("direct")
    assert found is not None
    assert (found.value, found.sigma, found.samples, found.at_seconds) == (15.0, 5.0, 2, 2000.0)


def test_refining_leaves_the_profile_itself_as_it_was() -> None:
    profile = Profile()
    profile.refined("direct", 10.0, 1000.0)
    assert profile == Profile()


@pytest.mark.parametrize("sample", [-1.0, float("inf"), float("nan")])
def test_sample_that_is_no_number_of_something_is_refused(sample: float) -> None:
    with pytest.raises(ValueError, match="sample"):
        Profile().refined("ends", sample, 1000.0)


def test_pair_of_hosts_is_named_in_the_direction_of_the_data() -> None:
    assert hosts("i-1", "i-2") == "i-1>i-2"


def test_a_share_that_cannot_be_is_forgotten_and_learnt_anew() -> None:
    poisoned = Profile().refined("repeated", 8.389e6, 1000.0)
    assert poisoned.known("repeated") is None
    known = poisoned.refined("repeated", 0.02, 2000.0).known("repeated")
    assert known is not None
    assert (known.value, known.samples) == (0.02, 1)
