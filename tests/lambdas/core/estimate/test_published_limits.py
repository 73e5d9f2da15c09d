import pytest

from lambdas.core.estimate import published_limits
from lambdas.core.tariff.instance_types import TypeFacts


def facts(name: str, gbps: float, vcpus: int = 2, peak: float | None = None) -> TypeFacts:
    return TypeFacts(name, vcpus, "x86_64", gbps, peak or gbps, 100.0, 100.0, False, frozenset({"us-west-2a"}))


def test_baseline_counts_and_credits_are_stated() -> None:
    found = published_limits.in_all(facts("m6i.large", 0.781, peak=12.5), "m6i.large")
    assert found.value == pytest.approx(97.625)
    assert found.origin == "published"
    assert found.note == "m6i.large: baseline 0.781 Gbps"
    assert found.burst
    assert found.burst.rate.note == "up to 12.5 Gbps while credits last"
    assert found.least_now == pytest.approx(97.625)
    assert found.most == 12.5 * 125


def test_a_type_that_nobody_describes_counts_like_the_least_fixed_one() -> None:
    found = published_limits.in_all(None, "x9.enormous")
    assert (found.value, found.origin) == (93.75, "assumed")
    assert "x9.enormous" in found.note


@pytest.mark.parametrize(
    ("gbps", "vcpus", "internet", "passes"),
    [
        (3.0, 2, True, 3.0),
        (25.0, 16, True, 5.0),
        (100.0, 32, True, 50.0),
        (8.0, 32, True, 5.0),
        (25.0, 16, False, 25.0),
    ],
)
def test_an_internet_gateway_passes_5_gbps_or_half_from_32_vcpus_on(
    gbps: float, vcpus: int, internet: bool, passes: float
) -> None:
    found = published_limits.outward(facts("c7gn", gbps, vcpus), "c7gn", between_regions=True, internet=internet)
    assert found.value == passes * 125
    assert ("internet gateway" in found.note) == (passes < gbps)


def test_within_a_region_nothing_is_taken_away() -> None:
    assert published_limits.outward(facts("c7gn", 25.0), "c7gn", between_regions=False, internet=True).value == 25 * 125


def test_what_nobody_describes_stays_an_assumption_behind_an_internet_gateway() -> None:
    found = published_limits.outward(None, "x9.enormous", between_regions=True, internet=True)
    assert (found.value, found.least, found.most, found.origin) == (93.75, 8.0, 625.0, "assumed")
