from random import Random

import pytest

from lambdas.core.pool.month import MICRO, Span, month


def test_the_machines_cost_is_shared_by_use_and_the_rest_is_idle() -> None:
    found = month([Span(10.0, 1000.0, {"ann": 250.0, "bob": 500.0})], [("ann", 4.0), ("bob", 5.0), ("ann", 0.5)])
    assert found.shared == {"ann": 2_500_000, "bob": 5_000_000}
    assert found.idle == 2_500_000
    assert found.charged == {"ann": 4_500_000, "bob": 5_000_000}
    assert found.margin == -500_000


def test_machines_that_carried_more_than_was_counted_on_are_not_idle() -> None:
    found = month([Span(3.0, 100.0, {"ann": 100.0, "bob": 200.0}), Span(1.0, 0.0, {})], [])
    assert (found.shared, found.idle) == ({"ann": 1_000_000, "bob": 2_000_000}, 1_000_000)


def test_shares_and_idle_are_what_the_machines_cost_to_the_micro_dollar() -> None:
    random = Random(44)
    for _ in range(300):
        spans = [
            Span(
                random.random() / 7,
                random.uniform(1, 100),
                {f"t{n}": random.uniform(0, 40) for n in range(random.randrange(8))},
            )
            for _ in range(random.randrange(1, 40))
        ]
        found = month(spans, [])
        assert found.cost == round(sum(span.cost_usd for span in spans) * MICRO)
        assert found.idle >= 0
        assert all(share >= 0 for share in found.shared.values())
        for tenant, share in found.shared.items():
            exact = sum(span.shares.get(tenant, 0.0) for span in spans) * MICRO
            assert abs(share - exact) <= 1.0


def test_what_cannot_be_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"sent_mb\.ann: -1"):
        Span(1.0, 1.0, {"ann": -1.0})
    with pytest.raises(ValueError, match=r"charges\.ann: -1"):
        month([], [("ann", -1.0)])
