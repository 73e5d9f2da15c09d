"""What has to be restored, and what that costs."""

import pytest

from lambdas.core.ends.archived import Amount, is_archived, refusal, restoring_usd, told


@pytest.mark.parametrize(
    ("storage_class", "is_restored", "status", "expected"),
    [
        ("GLACIER", False, None, True),
        ("DEEP_ARCHIVE", False, None, True),
        ("DEEP_ARCHIVE", True, None, False),
        ("GLACIER_IR", False, None, False),
        ("INTELLIGENT_TIERING", False, "ARCHIVE_ACCESS", True),
    ],
)
def test_archives_are_read_after_they_were_restored(
    storage_class: str, status: str | None, *, is_restored: bool, expected: bool
) -> None:
    assert is_archived(storage_class, is_restored=is_restored, archive_status=status) == expected


def test_a_daemon_tells_each_class() -> None:
    classes = "DEEP_ARCHIVE: 1 objects, 2 bytes; GLACIER: 2 objects, 7 bytes"
    amounts = told(f"is archived, as are 3 objects of 9 bytes in all ({classes})")
    assert amounts == {"DEEP_ARCHIVE": Amount(1, 2), "GLACIER": Amount(2, 7)}
    assert told("AccessDenied: 3 objects, 9 bytes") == {}


def test_restoring_is_paid_by_bytes_and_by_requests() -> None:
    cold = {"GLACIER": Amount(10_000, 10**11), "DEEP_ARCHIVE": Amount(1_000, 10**11)}
    amounts = {**cold, "INTELLIGENT_TIERING": Amount(9, 9)}
    assert restoring_usd(amounts) == pytest.approx(1 + 0.5 + 2 + 0.1)


def test_a_listing_that_did_not_end_says_at_least() -> None:
    assert refusal({"GLACIER": Amount(1, 5)}, "k", at_least=True).startswith("at least 1 objects of 5 B are archived")
