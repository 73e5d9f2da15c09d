"""Another type on each side: the slower rate, both prices, the later start, the smaller quota."""

import pytest

from lambdas.core.estimate.mixed_offers import mixed_offers
from lambdas.core.estimate.type_choice import Offer
from lambdas.core.request.request import Objective
from tests.lambdas.builders import figure
from tests.lambdas.core.estimate.test_estimate import GB, run


def side(name: str, rate: float, hour: float, spawn: float = 5.0, most_pairs: int = 1000, refusal: str = "") -> Offer:
    """An offer of one side alone."""
    return Offer(
        name,
        figure(rate),
        figure(0.15),
        figure(spawn),
        figure(hour),
        most_pairs,
        refusal,
        hours=(figure(hour),),
    )


def test_a_pair_carries_the_slower_and_costs_both() -> None:
    (mixed,) = mixed_offers([side("a.large", 40.0, 0.3, 5.0, 7)], [side("b.large", 25.0, 0.1, 9.0, 4)])
    assert (mixed.name, mixed.pair.value, mixed.spawn.value, mixed.most_pairs) == ("a.large with b.large", 25.0, 9.0, 4)
    assert mixed.hour.value == pytest.approx(0.2)
    assert [hour.value for hour in mixed.hours] == [0.3, 0.1]


def test_every_type_of_one_side_is_held_against_every_one_of_the_other() -> None:
    source = [side("a.large", 40.0, 0.3), side("b.large", 20.0, 0.1)]
    destination = [side("c.large", 40.0, 0.5), side("b.large", 20.0, 0.1)]
    mixed = mixed_offers(source, destination)
    assert [one.name for one in mixed] == [
        "a.large with c.large",
        "a.large with b.large",
        "b.large with c.large",
        "b.large",
    ]
    found = run(20 * GB, mixed, objective=Objective(minimise="time"))
    # 20 MB/s for $0.1 an hour are more per dollar than 40 for $0.4, or than 20 for $0.3.
    assert (found.instance_type, found.destination_type, found.type_of(1)) == ("b.large", None, "b.large")
    assert len(found.candidates) == 4


def test_a_refusal_of_either_side_is_one_of_the_pair() -> None:
    source = [side("a.large", 40.0, 0.1, refusal="not offered in us-west-2a"), side("b.large", 20.0, 0.1)]
    found = run(20 * GB, mixed_offers(source, [side("c.large", 30.0, 0.1)]))
    assert (found.type_of(0), found.type_of(1)) == ("b.large", "c.large")
    assert found.figures.pair.value == 20.0


def test_rows_pay_each_side_at_its_own_price() -> None:
    found = run(20 * GB, mixed_offers([side("a.large", 20.0, 0.3)], [side("b.large", 20.0, 0.1)]), requested=2)
    alike = run(20 * GB, [side("a.large", 20.0, 0.2)], requested=2)
    assert found.row(2).cost_usd == pytest.approx(alike.row(2).cost_usd, abs=1e-6)
