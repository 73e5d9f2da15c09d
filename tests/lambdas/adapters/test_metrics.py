"""What CloudWatch makes metrics of: lines of the log in its embedded metric format."""

import json
from typing import Any

import pytest

from lambdas.adapters.metrics import EmfMetrics
from lambdas.core.metrics import UNITS, MetricName


def written(capsys: pytest.CaptureFixture[str], measured: dict[MetricName, float]) -> dict[str, Any]:
    EmfMetrics().put(measured)
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_values_and_units_are_one_line_that_cloudwatch_reads(capsys: pytest.CaptureFixture[str]) -> None:
    found = written(capsys, {"DollarsSpent": 0.25, "BytesSent": 5_000_000_000})
    (directive,) = found["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "cpt"
    assert directive["Metrics"] == [{"Name": "DollarsSpent", "Unit": "None"}, {"Name": "BytesSent", "Unit": "Bytes"}]
    assert (found["DollarsSpent"], found["BytesSent"]) == ([0.25], [5_000_000_000])


@pytest.mark.parametrize("name", UNITS)
def test_every_function_counts_into_one_sum_of_one_dimension(
    capsys: pytest.CaptureFixture[str], name: MetricName
) -> None:
    found = written(capsys, {name: 1.0})
    assert found["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["service"]]
    assert found["service"] == "control-plane"
