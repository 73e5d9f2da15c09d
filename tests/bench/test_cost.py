"""From counts of transfers that differ in one thing each to what each thing takes."""

import pytest

from bench.cost import Extent, Rates


def test_what_is_asked_once_and_for_each_thing_is_told_apart() -> None:
    extents = {
        "base": Extent(2.0, 10, 1),
        "slow": Extent(42.0, 10, 1),
        "chunks": Extent(5.0, 400, 1),
        "files": Extent(4.0, 12, 20_000),
    }
    made = Rates(once=30.0, second=1.5, chunk=2.2, file=0.01)
    found = Rates.of({name: (extent, made.at(extent)) for name, extent in extents.items()})
    assert vars(found) == pytest.approx(vars(made))


def test_noise_makes_nothing_cheaper() -> None:
    base, slow = Extent(2.0, 10, 1), Extent(42.0, 10, 1)
    seen = {
        "base": (base, 20.0),
        "slow": (slow, 19.0),
        "chunks": (Extent(2.0, 99, 1), 20.0),
        "files": (Extent(2.0, 10, 9), 20.0),
    }
    assert Rates.of(seen).at(slow) == 20.0
