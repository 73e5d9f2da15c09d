import pytest

from lambdas.core import words


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (999_600, "1.00 MB"),
        (12_345_678, "12.3 MB"),
        (5e12, "5 TB"),
        (5.2e12, "5.20 TB"),
        (5e18, "5,000 PB"),
    ],
)
def test_sizes(count: float, text: str) -> None:
    assert words.size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0.04, "0.0 s"),
        (59.9, "59.9 s"),
        (59.96, "1 min 00 s"),
        (3599.6, "1 h 00 min"),
        (7500, "2 h 05 min"),
        (172_799, "1 d 23 h"),
        (300_000, "3 d 11 h"),
    ],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert words.duration(seconds) == text


def test_rates_dollars_and_counts() -> None:
    assert [words.rate(value) for value in (0.35, 9.996, 64.13, 99.4, 895.2)] == [
        "0.35 MB/s",
        "10.0 MB/s",
        "64.1 MB/s",
        "99.4 MB/s",
        "895 MB/s",
    ]
    assert [words.dollars(value) for value in (0, 0.0685, 122.5, 1234.5)] == [
        "$0.0000",
        "$0.0685",
        "$122.50",
        "$1,234.50",
    ]
    assert [words.dollars(-0.0007), words.dollars(-0.00001), words.dollars(-1234.5)] == [
        "-$0.0007",
        "$0.0000",
        "-$1,234.50",
    ]
    assert [words.dollars_more(usd) for usd in (0.0124, -0.0007)] == ["$0.0124 more", "$0.0007 less"]
    assert [words.many(1, "entry", "entries"), words.many(4021, "entry", "entries")] == ["1 entry", "4,021 entries"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (47.9 * 3600, "47 h"),
        (48 * 3600, "2 d"),
        (2000 * 86_400, "2,000 d"),
    ],
)
def test_ages(seconds: float, text: str) -> None:
    assert words.age(seconds) == text
