"""Prices and times of S3's retrievals."""

from lambdas.core.ends.object_writing import ARCHIVES
from lambdas.core.ends.retrieval import TIERS, retrieval, tiers_of


def test_every_archive_has_a_standard_and_a_bulk_retrieval_and_one_an_expedited_one() -> None:
    assert {name: tiers_of(name) for name in ARCHIVES} == {
        "GLACIER": ["Standard", "Bulk", "Expedited"],
        "DEEP_ARCHIVE": ["Standard", "Bulk"],
    }
    assert tiers_of("GLACIER_IR") == []


def test_what_takes_longer_costs_no_more() -> None:
    for name in ARCHIVES:
        found = sorted((one for tier in TIERS if (one := retrieval(name, tier))), key=lambda one: one.hours)
        assert found == sorted(found, key=lambda one: (-one.gb, -one.request))
