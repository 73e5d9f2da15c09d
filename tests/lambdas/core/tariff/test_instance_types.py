from dataclasses import replace

from lambdas.core.tariff.instance_types import TypeFacts

FACTS = TypeFacts(
    instance_type="c7gn.large",
    vcpus=2,
    architecture="arm64",
    baseline_gbps=6.25,
    peak_gbps=30.0,
    disk=130.25,
    peak_disk=1250.0,
    burstable_processor=False,
    zones=frozenset({"us-west-2a"}),
)


def test_network_is_the_baseline_in_megabytes() -> None:
    assert FACTS.network == 781.25
    assert FACTS.origin == "published"


def test_a_type_bursts_when_its_peak_is_above_its_baseline() -> None:
    assert FACTS.bursts
    assert not replace(FACTS, peak_gbps=6.25).bursts
