import pytest

from lambdas.core.report.page.axes import rate_axis, time_axis


@pytest.mark.parametrize(
    ("seconds", "labels"),
    [
        (0.4, ["0", "0.1 s", "0.2 s", "0.3 s", "0.4 s"]),
        (49.9, ["0", "10 s", "20 s", "30 s", "40 s"]),
        (200.0, ["0", "1 min", "2 min", "3 min"]),
        (7000.0, ["0", "30 min", "60 min", "90 min"]),
        (90_000.0, ["0", "6 h", "12 h", "18 h", "24 h"]),
        (40 * 86400.0, ["0", "14 d", "28 d"]),
    ],
)
def test_times_have_round_ticks_of_one_unit(seconds: float, labels: list[str]) -> None:
    assert [tick.label for tick in time_axis(seconds, 50, 350, 5).ticks] == labels


@pytest.mark.parametrize(
    ("mb_s", "labels"),
    [
        (0.0, ["0", "0.0002"]),
        (0.37, ["0", "0.1", "0.2", "0.3", "0.4"]),
        (80.5, ["0", "20", "40", "60", "80", "100"]),
        (1180.0, ["0", "250", "500", "750", "1000", "1250"]),
    ],
)
def test_rates_end_at_a_round_value_above_the_data(mb_s: float, labels: list[str]) -> None:
    assert [tick.label for tick in rate_axis(mb_s, 300, 20).ticks] == labels


def test_values_outside_stop_at_the_edge() -> None:
    axis = time_axis(10.0, 50, 350, 5)
    assert [axis.at(value) for value in (-3.0, 0.0, 5.0, 10.0, 12.0)] == [50, 50, 200, 350, 350]
