from dataclasses import replace

import pytest

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


@pytest.mark.parametrize(("peak", "weighted_peak"), [(15.0, 18.75), (30.0, 30.0)])
def test_a_relay_has_a_quarter_more_for_its_network_and_as_much_less_for_its_disks(
    peak: float, weighted_peak: float
) -> None:
    """As AWS documents it: 40 Gbps are 50, and 20 through a gateway 25; a burst stays as it is."""
    facts = replace(FACTS, baseline_gbps=15.0, peak_gbps=peak, disk=1250.0, peak_disk=1250.0, takes_weighting=True)
    relay = facts.as_relay
    assert (relay.baseline_gbps, relay.peak_gbps, relay.is_weighted) == (18.75, weighted_peak, True)
    assert (relay.disk, relay.peak_disk) == (1250.0 - 3.75 * 125, 1250.0 - 3.75 * 125)
    assert relay.as_relay == relay


def test_a_type_without_a_choice_is_a_relay_as_it_is() -> None:
    assert FACTS.as_relay == FACTS
