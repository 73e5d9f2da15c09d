"""What is known of one link: its rate by who says so, how much of it counts, and what a GB over it costs."""

from dataclasses import replace

import pytest

from lambdas.core.estimate.history import History
from lambdas.core.estimate.link_figures import STALE_SECONDS, LinkFigure, LinkKey, link_figure
from lambdas.core.estimate.profile import Profile
from lambdas.core.tariff.prices import Price
from tests.lambdas.maps import DAY, HOUR, LARGE, NOW, PUBLISHED, SMALL, history, measured, terms

LINK = LinkKey("us-west-2", "eu-west-1", LARGE)


def figure(profile: Profile | None, link: LinkKey = LINK) -> LinkFigure:
    return link_figure(link, profile, terms(link), NOW)


def test_its_key_is_that_of_the_profiles_of_transfers() -> None:
    assert LINK.region_pair == "us-west-2>eu-west-1"


def test_a_measured_link_has_its_mean_spread_samples_and_age() -> None:
    found = figure(measured(310.0, 12.0, 9, 2 * HOUR))
    assert found.rate.value == found.counted == found.lasting == 310.0
    assert found.rate.least < 310.0 < found.rate.greatest
    assert (found.origin, found.samples, found.is_stale) == ("measured", 9, False)
    assert found.sigma == pytest.approx(12.0)
    assert found.age_seconds(NOW) == 2 * HOUR


def test_of_what_nobody_has_measured_the_machines_published_figure_stands() -> None:
    found = figure(None)
    assert (found.origin, found.counted, found.samples, found.sigma) == ("published", PUBLISHED, 0, 0.0)
    assert found.last_sample_at is None
    assert found.age_seconds(NOW) is None
    assert found.gain is None


def test_the_slower_of_two_published_ends_holds() -> None:
    facts = terms(LINK).facts[0]
    assert facts is not None
    slower = replace(facts, baseline_gbps=1.0, peak_gbps=1.0)
    found = link_figure(LINK, None, replace(terms(LINK), facts=(facts, slower)), NOW)
    assert found.counted == 125.0


def test_a_type_that_ec2_does_not_describe_is_assumed() -> None:
    found = figure(None, replace(LINK, instance_type="x9.huge"))
    assert found.origin == found.receive.origin == "assumed"


def test_a_configured_link_has_no_age_and_counts_whole() -> None:
    found = figure(Profile(configured={"interRegion": 60.0, "intraRegion": 500.0}))
    assert (found.origin, found.counted, found.receive.value) == ("configured", 60.0, 500.0)
    assert (found.is_stale, found.last_sample_at) == (False, None)


@pytest.mark.parametrize(
    ("age", "counted"), [(0.0, 280.0), (STALE_SECONDS, 280.0), (STALE_SECONDS + 1, 250.0), (30 * DAY, 250.0)]
)
def test_after_a_day_a_link_counts_one_standard_deviation_less(age: float, counted: float) -> None:
    found = figure(measured(280.0, 30.0, 4, age))
    assert found.counted == found.lasting == pytest.approx(counted)
    assert found.is_stale == (age > STALE_SECONDS)
    assert found.rate.value == 280.0


def test_a_stale_link_of_one_sample_counts_less_too() -> None:
    assert figure(measured(280.0, age=2 * DAY)).counted == pytest.approx(0.95 * 280.0)


def test_however_much_a_stale_link_varies_it_never_counts_nothing() -> None:
    found = figure(measured(100.0, 150.0, 20, 2 * DAY))
    assert found.counted == found.rate.least > 0


def test_a_link_that_carried_nothing_counts_nothing() -> None:
    assert figure(measured(0.0, age=2 * DAY)).counted == 0.0


def test_what_bursts_counts_at_first_as_seen_and_lasts_as_published() -> None:
    found = figure(measured(110.0, 5.0, 2), replace(LINK, instance_type=SMALL))
    assert (found.origin, found.rate.origin) == ("measured", "published")
    assert (found.counted, found.lasting) == (110.0, 16.0)


def test_of_a_stale_burst_only_what_was_measured_counts_less() -> None:
    small = replace(LINK, instance_type=SMALL)
    published = figure(measured(110.0, 11.0, 2, 2 * DAY), small)
    assert [published.counted, published.lasting] == pytest.approx([99.0, 16.0])
    lasting: History = history(20.0, 0.0, 2, 2 * DAY)
    seen = figure(measured(110.0, 11.0, 2, 2 * DAY, interRegionLasting=lasting), small)
    assert [seen.counted, seen.lasting] == pytest.approx([99.0, 18.0])


def test_gain_and_what_a_relay_takes_in_are_of_the_same_profile() -> None:
    found = figure(measured(310.0, gain=history(0.9, 0.02, 3), intraRegion=history(700.0)))
    assert found.gain is not None
    assert (found.gain.value, found.receive.value) == (0.9, 700.0)


def test_a_border_costs_its_egress_and_the_gateway() -> None:
    assert figure(None).egress.value == 0.02
    through = link_figure(LINK, None, terms(LINK, gateway=0.02), NOW)
    assert through.egress.value == pytest.approx(0.04)
    assert "transit gateway" in through.egress.note


def test_a_price_of_the_embedded_table_is_assumed() -> None:
    found = link_figure(LINK, None, replace(terms(LINK), egress=Price(0.05, "fallback", NOW)), NOW)
    assert (found.egress.value, found.egress.origin) == (0.05, "assumed")
