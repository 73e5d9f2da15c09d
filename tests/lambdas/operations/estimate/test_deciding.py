"""Decisions about relays of a bucket while its data moves: by the same estimate, whose pairs are relays."""

import pytest

from lambdas.core.estimate.first_contact import Sight
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Estimated
from lambdas.operations.estimate.deciding import decide_again, decide_first
from lambdas.operations.estimate.estimation import estimate_for
from lambdas.operations.fence import estimated
from tests.lambdas.buckets import to_bucket
from tests.lambdas.builders import paths, plan
from tests.lambdas.cloud import Cloud

SIZE = 100 * 10**9
ACCEPTED = to_bucket(objective={"minimise": "time"})


def begun() -> tuple[Cloud, Estimated]:
    """Data flows; nobody has measured the machine's way to S3."""
    cloud = Cloud()
    cloud.transfers.create(ACCEPTED)
    chosen = estimate_for(ACCEPTED, SIZE, cloud.world)
    assert chosen.on_the_way is not None
    cloud.transfers.change(ACCEPTED, transfer_life.note(paths=paths(), plan=plan(size=SIZE), estimate=chosen))
    return cloud, estimated(cloud.world, ACCEPTED.transfer_id)


def sight(direct: float, pairs: int = 0, each: float = 0.0) -> Sight:
    return Sight(at=1_010.0, after=10.0, direct=direct, total=direct + pairs * each, pairs=pairs)


def test_the_first_seconds_choose_a_number_of_relays_beside_the_machine() -> None:
    cloud, record = begun()
    found = decide_first(cloud.world, record, sight(20.0))
    assert found.chosen_pairs > 1
    (use,) = found.routes
    assert (use.regions, use.relays) == (["us-west-2"], [found.chosen_pairs])
    (decision,) = estimated(cloud.world, ACCEPTED.transfer_id).decisions
    assert decision.pairs == found.chosen_pairs
    assert decision.reason.startswith("the direct path carries 20.0 MB/s; ")
    assert f"{found.chosen_pairs} relays take the least time" in decision.reason
    assert "pair" not in decision.reason


@pytest.mark.parametrize(
    ("seen", "is_more", "words"),
    [
        (
            sight(20.0, 2, 20.0),
            True,
            "2 relays and the direct path carry 60.0 MB/s (20.0 MB/s passed without them); of ",
        ),
        (sight(10.0, 2, 5.0), False, "relays do not help: 2 relays and the direct path carry 20.0 MB/s"),
        (sight(10.0, 2, 15.0), False, "2 relays and the direct path carry 40.0 MB/s (20.0 MB/s passed without them)"),
    ],
    ids=["they help", "they do not", "the machine is full"],
)
def test_what_served_decides_about_more_of_them(seen: Sight, is_more: bool, words: str) -> None:
    cloud, record = begun()
    decide_first(cloud.world, record, sight(20.0))
    decide_again(cloud.world, estimated(cloud.world, ACCEPTED.transfer_id), seen)
    last = estimated(cloud.world, ACCEPTED.transfer_id).decisions[-1]
    assert last.reason.startswith(words)
    assert (last.pairs > last.served) == is_more
