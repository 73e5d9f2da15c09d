"""What S3 asks for writing and keeping objects, by class."""

import pytest

from lambdas.core.copies.summary import requests_usd
from lambdas.core.ends.object_writing import STORAGE_CLASSES
from lambdas.core.estimate.object_store import requests
from lambdas.core.tariff.storage_classes import price_of, words, writes_usd

MIB = 1 << 20


@pytest.mark.parametrize(
    ("storage_class", "times"),
    [("STANDARD_IA", 2), ("ONEZONE_IA", 2), ("GLACIER_IR", 4), ("GLACIER", 6), ("DEEP_ARCHIVE", 10), (None, 1)],
)
def test_objects_of_a_class_cost_so_many_times_what_standard_ones_do(storage_class: str | None, times: int) -> None:
    assert writes_usd(storage_class, 1_000) == pytest.approx(times * 0.005)
    assert requests_usd({"copy": 900, "complete": 100}, storage_class) == pytest.approx(times * 0.005)


def test_parts_on_their_way_into_an_archive_are_standard_ones() -> None:
    assert writes_usd("GLACIER", 0, 1_000) == pytest.approx(0.005)
    assert writes_usd("STANDARD_IA", 0, 1_000) == pytest.approx(0.01)
    assert requests_usd({"begin": 500, "part": 500, "list": 1_000}, "DEEP_ARCHIVE") == pytest.approx(0.01)


def test_an_estimate_prices_each_file_by_its_class_and_its_parts_by_theirs() -> None:
    """One object of three parts: an upload that is begun, three parts, one completion, two listings."""
    usd = requests(160 * MIB, 1, 64 * MIB, is_read=False, storage_class="DEEP_ARCHIVE").usd
    assert usd == pytest.approx(0.05 / 1e3 + 4 * 0.005 / 1e3 + 2 * 0.005 / 1e3)


def test_every_class_that_a_request_may_name_has_a_price_and_says_what_is_billed_at_least() -> None:
    assert all(price_of(one).gb_month > 0 for one in STORAGE_CLASSES)
    assert words(None, 1e9, 1) is None
    assert words("STANDARD_IA", 1e12, 2_000) == (
        "in STANDARD_IA 2,000 objects of 1 TB cost $12.50 a month; each is billed for 30 days at least; one of less "
        "than 128 KB as one of 128 KB"
    )
    assert words("DEEP_ARCHIVE", 1e12, 1) == (
        "in DEEP_ARCHIVE 1 object of 1 TB cost $0.9900 a month; each is billed for 180 days at least; each counts 40 "
        "KB more"
    )
