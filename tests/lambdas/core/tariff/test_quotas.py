import pytest

from lambdas.core.tariff.quotas import Running, free_vcpus, is_standard


@pytest.mark.parametrize(
    "kind", ["a1.large", "c7gn.large", "d3en.xlarge", "h1.2xlarge", "i4i.large", "im4gn.large", "m5.large", "t3.small"]
)
def test_standard_families(kind: str) -> None:
    assert is_standard(kind)


@pytest.mark.parametrize(
    "kind", ["p5.48xlarge", "g6.xlarge", "inf2.xlarge", "trn1.2xlarge", "x2gd.medium", "hpc7a.96xlarge"]
)
def test_families_with_quotas_of_their_own(kind: str) -> None:
    assert not is_standard(kind)


def test_what_runs_in_the_same_market_is_taken_off_the_quota() -> None:
    running = [
        Running("m5.large", 2, spot=False),
        Running("c7gn.xlarge", 4, spot=True),
        Running("g6.xlarge", 4, spot=False),
    ]
    assert free_vcpus(32.0, running, "on-demand") == 30
    assert free_vcpus(32.0, running, "spot") == 28


def test_a_quota_that_was_lowered_leaves_nothing_rather_than_less() -> None:
    assert free_vcpus(1.0, [Running("m5.large", 2, spot=False)], "on-demand") == 0


def test_not_known_is_not_a_number() -> None:
    assert free_vcpus(None, [], "spot") is None
    assert free_vcpus(32.0, [Running("m5.large", None, spot=False)], "on-demand") is None
    assert free_vcpus(32.0, [Running("m5.large", None, spot=True)], "on-demand") == 32
