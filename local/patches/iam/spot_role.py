"""The service-linked role without which an account has no spot instances.

AWS: EC2 makes it at the first spot launch, for callers who may create it; the launch of others is refused. IAM names
it AWSServiceRoleForEC2Spot.
Emulator: launches without it, and derives another name.
"""

from __future__ import annotations

from typing import Any

from local.config import LocalConfig
from local.patches.iam.checks import caller_may
from local.patches.upstream import account_id, iam, request_scope

SERVICE, NAME = "spot.amazonaws.com", "AWSServiceRoleForEC2Spot"
REFUSAL = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
ACTION = "CreateServiceLinkedRole"
_DERIVED = "AWSServiceRoleForSpot"

_create = iam._create_service_linked_role


def install(config: LocalConfig) -> None:
    """Make the role of an account that has used spot before; name it as AWS does where somebody makes it later."""
    iam._IAM_HANDLERS[ACTION] = _named
    if config.spot_role:
        with request_scope(config.account, config.home_region):
            _named({"AWSServiceName": [SERVICE]})


def spot_permitted() -> bool:
    """Return whether the account has the role, or whoever makes the present request may create it, and now has."""
    arn = f"arn:aws:iam::{account_id()}:role/aws-service-role/{SERVICE}/{NAME}"
    if NAME not in iam._roles and caller_may(f"iam:{ACTION}", arn):
        _named({"AWSServiceName": [SERVICE]})
    return NAME in iam._roles


def _named(params: dict[str, Any]) -> Any:
    if iam._p(params, "AWSServiceName") != SERVICE:
        return _create(params)
    if NAME in iam._roles:
        # As IAM says it of a service-linked role, which is no EntityAlreadyExists.
        return iam._error(400, "InvalidInput", f"Service role name {NAME} has been taken in this account.", ns="iam")
    status, headers, body = _create(params)
    role = iam._roles.pop(_DERIVED)
    iam._roles[NAME] = {**role, "RoleName": NAME, "Arn": role["Arn"].replace(_DERIVED, NAME)}
    return status, headers, body.replace(_DERIVED.encode(), NAME.encode())
