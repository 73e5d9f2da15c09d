from datetime import UTC, datetime

import pytest

from cli.quantities import OptionError, deadline_seconds, pair_range, size_bytes

NOW = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "size"),
    [("8GB", 8 * 10**9), ("1.5 TiB", 3 << 39), ("500 kB", 500_000), ("300000", 300_000), ("1KiB", 1024), ("7B", 7)],
)
def test_sizes_are_read_with_their_units(text: str, size: int) -> None:
    assert size_bytes(text) == size


@pytest.mark.parametrize("text", ["0", "0GB", "-1GB", "8XB", "", "GB", "nan", "0.1B"])
def test_size_that_is_none_is_named_with_an_example(text: str) -> None:
    with pytest.raises(OptionError, match=rf"^--size {text}: write a size above 0 with its unit, e\.g\. 8GB"):
        size_bytes(text)


def test_pairs_are_one_number_or_a_range() -> None:
    assert (list(pair_range("3")), list(pair_range("0..2")), list(pair_range("4..4"))) == ([3], [0, 1, 2], [4])


@pytest.mark.parametrize("text", ["8..0", "..3", "3..", "-1", "0..65", "a", "1.5", "0...3", "0..8..9", ""])
def test_pairs_that_are_none_are_named_with_an_example(text: str) -> None:
    with pytest.raises(OptionError, match=r"^--pairs .*the smaller first, e\.g\. 0\.\.8$"):
        pair_range(text)


def test_deadline_is_seconds_or_a_time_with_its_zone() -> None:
    assert deadline_seconds("3600", NOW) == 3600
    assert deadline_seconds("2026-11-21T20:01:30Z", NOW) == 90
    assert deadline_seconds("2026-11-21T21:01:30+01:00", NOW) == 90


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2026-11-21T19:59Z", "it is past, now is 2026-11-21T20:00Z"),
        ("2026-11-22T06:00", "its zone is missing"),
        ("0", "whole seconds above 0"),
        ("-5", "whole seconds above 0"),
        ("soon", "whole seconds above 0"),
    ],
)
def test_deadline_that_is_none_says_why(text: str, words: str) -> None:
    with pytest.raises(OptionError, match=rf"^--deadline {text}: .*{words}"):
        deadline_seconds(text, NOW)
