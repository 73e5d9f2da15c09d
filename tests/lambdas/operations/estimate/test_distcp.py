"""Estimates between two Hadoop clusters: their rows are the model's, and DistCp's time stands beside them."""

from typing import Any

import pytest

from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.first_contact import Sight
from lambdas.core.estimate.profile import hosts_of
from lambdas.core.estimate.row_cost import control_plane_dollars
from lambdas.core.models.distcp import Clusters
from lambdas.core.models.models import Ends, Pair
from lambdas.core.record import transfer_life
from lambdas.core.tariff import cost
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.estimate.deciding import decide_first
from lambdas.operations.estimate.estimation import estimate_again, estimate_for
from lambdas.operations.fence import estimated
from tests.lambdas.builders import paths, plan, profile, survey
from tests.lambdas.cloud import Cloud
from tests.lambdas.hdfs import between_clusters, from_hdfs_to_bucket

SIZE, FILES = 12 * 512 * 10**6, 12
DISTCP = {"maps": 7, "mapMBps": 1.55, "startSeconds": 100}


def known(accepted: AcceptedTransfer, **rates: float) -> Cloud:
    """Relays carry 15 MB/s, the workers' own paths 22 MB/s in all."""
    cloud = Cloud()
    cloud.profiles.profiles["m5.large", accepted.region_pair] = profile(15, 400, 80)
    cloud.profiles.profiles["t3.small", accepted.region_pair] = profile(15, 400, 80)
    machines = profile(15, 400, 80)
    measured = {"direct": 22.0, "ends": 400.0, **rates}
    for metric, rate in measured.items():
        machines = machines.refined(metric, rate, 900.0)  # type: ignore[arg-type]
    cloud.profiles.profiles[hosts_of(accepted), accepted.region_pair] = machines
    return cloud


def found(accepted: AcceptedTransfer, files: int = FILES, **rates: float) -> Estimate:
    return estimate_for(accepted, SIZE, known(accepted, **rates).world, files=files)


def asked(minimise: str = "pairs", **more: Any) -> AcceptedTransfer:
    return between_clusters(2, 2, objective={"minimise": minimise}, preTest=False, **more)


def test_rows_are_zero_wait_of_the_workers_and_with_pairs_from_t_v_on() -> None:
    rows = found(asked(distcp=DISTCP)).rows
    workers = Pair(inter=11.0, intra=200.0)
    clusters = Clusters(Ends(11.0, 200.0, 200.0), (workers, workers))
    launched = Pair(inter=15.0, intra=400.0, spawn_seconds=80.0)
    for row in rows[:5]:
        # Lanes that wait at the end for the last chunks are beyond the model.
        assert row.seconds == pytest.approx(clusters.streamed(SIZE / 1e6, [launched] * row.pairs), rel=0.02)
    assert rows[0].seconds == pytest.approx(clusters.streamed(SIZE / 1e6), abs=0.001)


def test_only_what_is_launched_costs_more_than_the_bytes_that_leave() -> None:
    estimate = found(asked(distcp=DISTCP))
    figures = estimate.figures
    for row in estimate.rows[:5]:
        launched = cost.relays(2 * row.pairs, row.seconds + figures.tail_seconds, figures.relay_hour.value)
        requests = control_plane_dollars(SIZE, row.pairs, row.seconds, figures, row.pairs)
        left = cost.egress(SIZE, figures.sent_share * figures.egress.value)
        assert row.cost_usd == pytest.approx(launched + requests + left, abs=1e-6)


def test_distcps_time_stands_beside_with_the_origin_of_each_figure() -> None:
    figures = found(asked("time", distcp={"maps": 4})).figures
    assert figures.distcp
    assert figures.distcp_maps
    assert figures.distcp_map_rate
    assert figures.distcp_start
    origins = [one.origin for one in (figures.distcp_maps, figures.distcp_map_rate, figures.distcp_start)]
    assert origins == ["configured", "measured", "assumed"]
    assert figures.distcp_map_rate.value == pytest.approx(22.0 / 4)
    assert figures.distcp.value == pytest.approx(100 + 3 * 512 / 5.5)


def test_the_fewest_pairs_with_which_it_is_no_slower_are_chosen() -> None:
    estimate = found(asked(distcp={**DISTCP, "mapMBps": 8, "startSeconds": 40}))
    assert estimate.figures.distcp
    most = estimate.figures.distcp.value
    enough = [row.pairs for row in estimate.rows if row.expected_seconds <= most]
    assert estimate.chosen_pairs == min(enough)
    assert estimate.chosen_pairs > 0
    assert estimate.reason.startswith(f"{estimate.chosen_pairs} pairs are the fewest that take at most as long")
    assert any(note.startswith("DistCp would take ") for note in estimate.notes)


def test_a_survey_counts_the_files() -> None:
    accepted = asked(distcp=DISTCP)
    estimate = estimate_for(accepted, SIZE, known(accepted).world, survey(size=SIZE))
    assert estimate.figures.distcp
    assert f"{survey(size=SIZE).to_send.files:,} file" in estimate.figures.distcp.note


def test_there_is_none_where_distcp_could_not_copy_or_nobody_counted() -> None:
    assert found(asked("time"), files=0).figures.distcp is None
    accepted = from_hdfs_to_bucket(2)
    assert estimate_for(accepted, SIZE, Cloud().world, files=FILES).figures.distcp is None


def test_it_outlasts_the_wait_for_a_person() -> None:
    accepted = asked(distcp=DISTCP)
    cloud = known(accepted)
    before = estimate_for(accepted, SIZE, cloud.world, files=FILES)
    after = estimate_again(accepted, before, 60.0, cloud.world)
    assert after.figures.distcp == before.figures.distcp
    assert after.chosen_pairs == before.chosen_pairs


def test_what_the_first_seconds_decide_goes_by_it_too() -> None:
    accepted = asked(distcp={**DISTCP, "mapMBps": 8, "startSeconds": 40})
    cloud = known(accepted)
    cloud.transfers.create(accepted)
    first = estimate_for(accepted, SIZE, cloud.world, files=FILES)
    cloud.transfers.change(accepted, transfer_life.note(paths=paths(), plan=plan(size=SIZE), estimate=first))
    seen = Sight(at=1_010.0, after=10.0, direct=12.0, total=12.0, pairs=0)
    second = decide_first(cloud.world, estimated(cloud.world, accepted.transfer_id), seen)
    assert second.figures.distcp == first.figures.distcp
    assert second.chosen_pairs > first.chosen_pairs, "the workers carry less than was expected"
    assert "DistCp" in second.reason


@pytest.mark.parametrize(
    ("start", "words"), [(0, "none takes at most as long as DistCp, "), (3000, "no pair is needed: ")]
)
def test_where_relays_do_not_help_the_reason_still_says_whether_distcp_is_met(start: int, words: str) -> None:
    accepted = asked(distcp={"maps": 12, "mapMBps": 1e6, "startSeconds": start})
    estimate = estimate_for(accepted, 10**6, known(accepted).world, files=FILES)
    assert estimate.chosen_pairs == 0
    assert estimate.reason.startswith(words)
    assert "relays do not help: " in estimate.reason
    if not start:
        assert "; the direct path takes the least time, " in estimate.reason
