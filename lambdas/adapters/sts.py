"""Sessions of roles, by STS."""

from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from lambdas.adapters.throttling import is_denied
from lambdas.core.errors import MissingPermission
from lambdas.core.seats.credentials import SeatCredentials

if TYPE_CHECKING:
    from mypy_boto3_sts import STSClient

# What asking again does not change.
_NEVER = frozenset({"MalformedPolicyDocument", "PackedPolicyTooLarge", "RegionDisabledException", "ValidationError"})


class RoleSessions:
    """Sessions over STS."""

    def __init__(self, client: "STSClient") -> None:
        self._client = client

    def assume(self, role: str, name: str, policy: str, seconds: int) -> SeatCredentials:
        """See Sessions."""
        try:
            answer = self._client.assume_role(
                RoleArn=role, RoleSessionName=name, Policy=policy, DurationSeconds=seconds
            )
        except ClientError as error:
            if is_denied(error):
                raise MissingPermission(f"{role} cannot be assumed: deploy all stacks; STS says: {error}") from None
            if error.response["Error"]["Code"] in _NEVER:
                raise MissingPermission(f"{role} cannot be had with the policy of this transfer: {error}") from None
            raise
        keys = answer["Credentials"]
        return SeatCredentials(
            access_key_id=keys["AccessKeyId"],
            secret_access_key=keys["SecretAccessKey"],
            session_token=keys["SessionToken"],
            expires_at=keys["Expiration"].timestamp(),
        )
