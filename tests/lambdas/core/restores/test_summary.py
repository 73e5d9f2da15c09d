"""What restoring takes, by class and tier, and what people are told of it."""

import pytest

from lambdas.core.ends.archived import Amount, RestoreWish
from lambdas.core.ends.retrieval import Tier
from lambdas.core.restores.summary import Restores

COLD = {"GLACIER": Amount(10_000, 10**11), "DEEP_ARCHIVE": Amount(1_000, 10**11)}


@pytest.mark.parametrize(
    ("tier", "usd", "hours", "days"),
    [("Standard", 1 + 0.5 + 2 + 0.1, 12, (4, 3)), ("Bulk", 0.25 + 0.025, 48, (5, 3))],
)
def test_each_tier_has_its_price_and_its_time(tier: Tier, usd: float, hours: float, days: tuple[int, int]) -> None:
    """What comes early stays for the slowest class, too."""
    found = Restores.of(COLD, RestoreWish(tier=tier))
    assert found.usd == pytest.approx(usd)
    assert found.usual_seconds == 3_600 * hours
    assert (found.classes["GLACIER"].days, found.classes["DEEP_ARCHIVE"].days) == days
    assert found.copies_usd == pytest.approx(sum(days) * 100 * 0.023 * 12 / 365, abs=1e-6)
    assert (found.objects, found.bytes) == (11_000, 2 * 10**11)


def test_requests_by_expedited_retrieval_are_dear_and_quick() -> None:
    found = Restores.of({"GLACIER": Amount(1_000, 10**9)}, RestoreWish(tier="Expedited", days=1))
    assert found.usd == pytest.approx(10.03)
    assert found.usual_seconds == pytest.approx(300)


def test_what_comes_out_of_intelligent_tiering_stays_out_and_has_no_copy() -> None:
    found = Restores.of({"INTELLIGENT_TIERING": Amount(5, 10**12)}, RestoreWish())
    assert found.total_usd == 0


def test_the_price_is_told_by_class_with_the_time() -> None:
    told = Restores.of(COLD, RestoreWish()).price_in_words
    assert told == (
        "S3's Standard retrieval: 1,000 objects of DEEP_ARCHIVE (100 GB) $2.10, usually within 12 h 00 min; 10,000 "
        "objects of GLACIER (100 GB) $1.50, usually within 5 h 00 min; copies that stay 3 days $0.5293"
    )


def test_a_region_that_the_table_has_not_is_a_range() -> None:
    found = Restores.of(COLD, RestoreWish())
    known, other = found.figure("us-west-2"), found.figure("sa-east-1")
    assert known
    assert other
    assert (known.greatest, other.value, other.greatest) == (known.value, known.value, 2 * known.value)
    assert Restores.of({}, RestoreWish()).figure("us-west-2") is None


def test_what_was_spent_goes_by_what_was_asked() -> None:
    found = Restores.of(COLD, RestoreWish())
    assert found.spent_usd == 0
    assert found.model_copy(update={"asked": 5_500}).spent_usd == pytest.approx(found.total_usd / 2)
