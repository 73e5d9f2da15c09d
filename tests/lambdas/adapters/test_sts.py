import json
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lambdas.adapters.sts import RoleSessions
from lambdas.core.errors import MissingPermission
from lambdas.core.seats.credentials import SeatCredentials

ROLE = "arn:aws:iam::000000000000:role/cpt-buckets"
ANSWER = {
    "AccessKeyId": "ASIAX",
    "SecretAccessKey": "hidden",
    "SessionToken": "token",
    "Expiration": datetime.fromtimestamp(4600, UTC),
}


class Sts:
    def __init__(self, code: str | None = None) -> None:
        self.code = code
        self.asked: dict[str, Any] = {}

    def assume_role(self, **asked: Any) -> dict[str, Any]:
        self.asked = asked
        if self.code:
            raise ClientError({"Error": {"Code": self.code, "Message": "no"}}, "AssumeRole")
        return {"Credentials": ANSWER}


def assume(client: Any) -> SeatCredentials:
    return RoleSessions(client).assume(ROLE, "r0-0123456789abcdef", "{}", 3600)


def test_a_session_is_asked_for_with_its_policy_and_its_length() -> None:
    client = Sts()
    keys = assume(client)
    asked = {"RoleArn": ROLE, "RoleSessionName": "r0-0123456789abcdef", "Policy": "{}", "DurationSeconds": 3600}
    assert client.asked == asked
    assert (keys.access_key_id, keys.expires_at) == ("ASIAX", 4600.0)
    assert json.loads(keys.to_json())["sessionToken"] == "token"


def test_a_role_that_cannot_be_had_is_named() -> None:
    with pytest.raises(MissingPermission, match=f"{ROLE} cannot be assumed: deploy all stacks"):
        assume(Sts("AccessDenied"))


def test_a_policy_that_sts_does_not_take_is_said_to_whoever_waits() -> None:
    with pytest.raises(MissingPermission, match=r"with the policy of this transfer: .*PackedPolicyTooLarge"):
        assume(Sts("PackedPolicyTooLarge"))


@pytest.mark.parametrize("code", ["Throttling", "InternalFailure", "ServiceUnavailable"])
def test_whatever_else_sts_says_is_what_it_is(code: str) -> None:
    with pytest.raises(ClientError, match=code):
        assume(Sts(code))
