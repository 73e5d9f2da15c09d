import pytest

from lambdas.core.architecture import architecture_of


@pytest.mark.parametrize("instance_type", ["c7gn.large", "t4g.small", "im4gn.large", "g5g.xlarge", "a1.medium"])
def test_graviton_families_are_arm(instance_type: str) -> None:
    assert architecture_of(instance_type) == "arm64"


@pytest.mark.parametrize("instance_type", ["c6in.large", "t3.small", "g4dn.xlarge", "gr6.4xlarge", "m6in.large"])
def test_a_g_that_is_not_gravitons_is_x86_64(instance_type: str) -> None:
    assert architecture_of(instance_type) == "x86_64"
