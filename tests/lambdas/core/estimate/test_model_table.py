"""What limits each model, and what it costs."""

import pytest

from lambdas.core.estimate.model_table import GivenFigures, ModelRow, compare
from lambdas.core.models.models import ModelName

GB = 10**9


def given(**changes: float) -> GivenFigures:
    """Table 4.3's t2.small."""
    figures = {"intra": 90, "inter": 15, "pair_inter": 15, "source": 90, "destination": 90, "spawn_seconds": 90}
    return GivenFigures(**{**figures, "relay_hour_usd": 0.024, "egress_usd_per_gb": 0.02, **changes})


def row(model: ModelName, pairs: int, size: int = 8 * GB, **changes: float) -> ModelRow:
    (found,) = compare(size, given(**changes), [model], [pairs]).rows
    return found


@pytest.mark.parametrize(
    ("found", "limit"),
    [
        (row("sequential", 0), "the direct path"),
        (row("sequential", 0, destination=5), "what the destination machine receives"),
        (row("basic", 4, split=65), "split and merge on disk"),
        (row("piped", 1), "the paths between the regions"),
        (row("piped", 16, intra=10), "the hop from the source to the relays"),
        (row("piped", 8, size=GB // 10), "the start of the relays"),
        (row("pre-tested", 64, pre_test_seconds=600), "the pre-test"),
        (row("hdfs", 64, export_seconds=300, import_seconds=300), "export and import"),
        (row("cut-through", 64, source=20), "what the source machine sends"),
        (row("zero-wait", 2), "the direct path and the pairs together"),
        (row("zero-wait", 2, size=GB), "the start of the relays"),
        (row("zero-wait", 64, destination=30), "what the destination machine receives"),
    ],
)
def test_the_longest_step_limits(found: ModelRow, limit: str) -> None:
    assert found.limit == limit


def test_relays_are_paid_for_the_models_own_time_and_egress_once() -> None:
    found = row("piped", 4)
    assert found.cost_usd == pytest.approx(8 * 402 * 0.024 / 3600 + 8 * 0.02, abs=1e-6)


def test_pre_test_pays_for_the_relays_that_it_sends_away() -> None:
    tested, piped = row("pre-tested", 4, pre_test_seconds=60), row("piped", 4)
    # n · C_v · 2 · T_pt (Eq. 4.2)
    assert tested.cost_usd - piped.cost_usd == pytest.approx(8 * 120 * 0.024 / 3600, abs=1e-6)
