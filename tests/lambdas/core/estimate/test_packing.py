import pytest

from lambdas.core.estimate.packing import Packing


def test_what_need_not_cross_the_network_takes_no_time_and_costs_nothing() -> None:
    found = Packing.of(0.4, 10**10, 500.0, 0.02)
    assert (found.share, found.saved_bytes, found.saved_seconds) == (0.4, 6 * 10**9, 300.0)
    assert found.saved_usd == pytest.approx(0.12)
    assert found.words == (
        "a sample of the data shrinks to 40%: packing saves up to 6 GB, 5 min 00 s and $0.1200 of what is estimated"
    )


def test_photos_are_said_to_go_out_as_they_are() -> None:
    assert Packing.of(0.98, 10**10, 500.0, 0.02).words == "a sample of the data does not shrink: it is sent as it is"
