"""What requests with a bucket say of relays: their number, and nothing of a side that has none."""

from typing import Any

import pytest

from tests.lambdas.core.request.test_bucket_rules import BACKUPS, BUCKET, MACHINE, THERE, parsed, refused


@pytest.mark.parametrize("bucket_at", ["source", "destination"])
@pytest.mark.parametrize("pairs", ["auto", 0, 2, 8])
def test_relays_beside_the_machine_are_asked_for_by_their_number(bucket_at: str, pairs: int | str) -> None:
    ends = (BUCKET, THERE) if bucket_at == "source" else (MACHINE, BACKUPS)
    found = parsed(*ends, relays={"pairs": pairs, "instanceTypes": ["t3.small"], "market": "spot"})
    assert found.relays.wanted == pairs
    assert not found.testing


@pytest.mark.parametrize("bucket_at", ["source", "destination"])
@pytest.mark.parametrize(
    ("key", "value", "right"),
    [
        ("pairs", {"source": 1, "destination": 2}, "write one number, of relays there"),
        ("instanceTypes", {"source": ["t3.small"], "destination": ["t3.small"]}, "write one list, of types there"),
    ],
)
def test_what_is_asked_for_by_side_is_refused_where_one_has_no_relays(
    bucket_at: str, key: str, value: dict[str, Any], right: str
) -> None:
    ends = (BUCKET, THERE) if bucket_at == "source" else (MACHINE, BACKUPS)
    (problem,) = refused(*ends, relays={key: value})
    assert problem.startswith(f"$.relays.{key}: ")
    assert problem.endswith(f"and $.{bucket_at} is a bucket: relays stand beside the machine alone; {right}")
    assert parsed(MACHINE, THERE, relays={key: value})


@pytest.mark.parametrize(
    ("key", "keys"),
    [
        ("relays.pairs", {"relays": {"pairs": 2}}),
        ("relays.through", {"relays": {"through": "auto"}}),
        ("relays.existing", {"relays": {"existing": ["i-0ccccccccccccccc1"]}}),
        ("preTest", {"preTest": True}),
    ],
)
def test_a_copy_by_s3_passes_no_relay(key: str, keys: dict[str, Any]) -> None:
    (problem,) = refused(BUCKET, BACKUPS, **keys)
    assert problem.startswith(f"$.{key}: ")
    assert "S3 copies by itself, and its data passes no relay" in problem
    assert parsed(BUCKET, BACKUPS, relays={"pairs": 0})


@pytest.mark.parametrize("bucket_at", ["source", "destination"])
@pytest.mark.parametrize(
    ("key", "keys", "why"),
    [
        ("relays.through", {"relays": {"through": "auto"}}, "stand beside the machine alone, and dial S3 from there"),
        ("relays.existing", {"relays": {"existing": ["i-0ccccccccccccccc1"]}}, "launched for the transfer dial S3"),
        ("preTest", {"preTest": True}, "none stands beside S3"),
    ],
)
def test_what_relays_that_dial_s3_cannot_do_is_refused(
    bucket_at: str, key: str, keys: dict[str, Any], why: str
) -> None:
    ends = (BUCKET, THERE) if bucket_at == "source" else (MACHINE, BACKUPS)
    (problem,) = refused(*ends, **keys)
    assert problem.startswith(f"$.{key}: ")
    assert f"$.{bucket_at} is a bucket: " in problem
    assert problem.endswith(f"{why}; leave it out")
    assert parsed(MACHINE, THERE, **keys)
