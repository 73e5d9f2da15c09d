"""Sessions are named by the transfer, so that S3 says of each upload whose it is, and of no other one's."""

import re

import pytest

from lambdas.core.seats.session_names import Work, initiator, role_arn, session_name
from tests.lambdas.builders import ARN

WORK: list[Work] = ["copies", "sender", "receiver", "sweep"]
ROLE = "arn:aws:iam::000000000000:role/cpt-buckets"


def test_the_role_and_its_sessions_are_named_as_sts_and_s3_name_them() -> None:
    assert role_arn("cpt", ARN) == ROLE
    assert initiator(ROLE, session_name("receiver", "nightly")) == (
        "arn:aws:sts::000000000000:assumed-role/cpt-buckets/receiver-nightly"
    )


@pytest.mark.parametrize("work", WORK)
def test_no_transfer_has_the_name_of_another_ones_session(work: Work) -> None:
    ids = ["t", "t" * 55, "t" * 56, "t" * 57, "t" * 58, "t" * 79 + "a", "t" * 79 + "b"]
    # Somebody who knows how names are cut cannot call a transfer like the cut name of another one: ids have no '='.
    ids += [session_name(work, "t" * 80).removeprefix(f"{work}-").replace("=", "-")]
    names = [session_name(work, one) for one in ids]
    assert len(set(names)) == len(ids)
    assert all(re.fullmatch(r"[\w+=,.@-]{2,64}", name) for name in names)
    assert {name for other in WORK if other != work for name in [session_name(other, "t")]}.isdisjoint(names)
