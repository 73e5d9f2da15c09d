from lambdas.core.report.tally import Tally
from tests.lambdas.builders import chunk


def test_what_an_earlier_run_delivered_is_not_of_this_one() -> None:
    chunks = [
        chunk(0, state="DELIVERED", started_at=9.0, delivered_at=10.0, path_id="direct", lane=0),
        chunk(1, state="DELIVERED", started_at=109.0, delivered_at=110.0, path_id="direct", lane=0),
        chunk(2, state="FAILED", attempt=5, reason="poison after 5 attempts"),
    ]
    tally = Tally.of(chunks, since=100.0)
    assert (tally.bytes, tally.chunks, tally.first, len(tally.failed)) == (100, 1, 109.0, 1)
    assert Tally.of(chunks).chunks == 2
