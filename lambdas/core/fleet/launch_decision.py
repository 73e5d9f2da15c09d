"""The meaning of each of EC2's errors for a launch; codes as EC2's API reference lists them."""

import re
from enum import Enum

NO_SPOT_ROLE = (
    "the account has no service-linked role for spot: run "
    "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com"
)


class LaunchDecision(Enum):
    """The reaction to a refused RunInstances."""

    ELSEWHERE = "no capacity for this type, in this market and zone"
    OTHER_TYPE = "the zone does not offer the type"
    OTHER_MARKET = "the account has no service-linked role for spot, and we may not create it"
    OTHER_SUBNET = "no address is left in the subnet"
    FEWER = "the quota does not allow so many"
    ABOVE_BUDGET = "not asked of EC2: it costs more than the first choice, which the budget does not bear"
    MISSING_PERMISSION = "not permitted"
    RETRY_LATER = "EC2 asks to slow down, or is disturbed"
    REFUSE = "nothing of this cures it"


_CODES = {
    LaunchDecision.ELSEWHERE: (
        "InsufficientInstanceCapacity",
        "InsufficientHostCapacity",
        "InsufficientCapacity",
        "InsufficientCapacityOnHost",
        "UnfulfillableCapacity",
        "SpotMaxPriceTooLow",
        # The same launch was made before, and its instances are gone: another one needs another token.
        "IdempotentInstanceTerminated",
    ),
    LaunchDecision.OTHER_TYPE: ("Unsupported",),
    LaunchDecision.OTHER_MARKET: ("AuthFailure.ServiceLinkedRoleCreationNotPermitted",),
    LaunchDecision.OTHER_SUBNET: ("InsufficientFreeAddressesInSubnet",),
    LaunchDecision.FEWER: (
        "VcpuLimitExceeded",
        "InstanceLimitExceeded",
        "MaxSpotInstanceCountExceeded",
        "VolumeLimitExceeded",
        "NetworkInterfaceLimitExceeded",
        "InsufficientAddressCapacity",
        "RequestResourceCountExceeded",
        "ResourceCountExceeded",
    ),
    LaunchDecision.MISSING_PERMISSION: (
        "UnauthorizedOperation",
        "AccessDenied",
        "AccessDeniedException",
    ),
    LaunchDecision.RETRY_LATER: (
        "RequestLimitExceeded",
        "EC2ThrottledException",
        "Throttling",
        "ThrottlingException",
        "InternalError",
        "InternalFailure",
        "ServerInternal",
        "Unavailable",
        "ServiceUnavailable",
    ),
}
DECISIONS = {code: decision for decision, codes in _CODES.items() for code in codes}
VCPU_QUOTAS = frozenset({"VcpuLimitExceeded", "InstanceLimitExceeded", "MaxSpotInstanceCountExceeded"})

_DEPLOY_AGAIN = "deploy the stack of this region again: its launch template then has Amazon's current image"
_REMEDIES = {
    "InvalidAMIID": f"the relays' image is gone; {_DEPLOY_AGAIN}",
    "InvalidLaunchTemplateName": f"the relays' launch template is gone; {_DEPLOY_AGAIN}",
    "InvalidSubnetID": "the subnet is gone; enrol those that exist in the deployment's configuration",
    "InvalidGroup": "the relays' security group is gone; deploy the stack of this region again",
    "OptInRequired": "the account is not signed up for EC2 in this region; open EC2 there once",
    "PendingVerification": "AWS is still verifying the account for this region; start again in some hours",
    "Blocked": "AWS has blocked the account; ask AWS Support",
    "AuthFailure": "EC2 takes no calls from this account in this region; see that the region is enabled for it",
}
_ACTION = re.compile(r"perform: (?P<action>[a-z0-9-]+:[A-Za-z0-9]+)")


def decide_launch(code: str) -> LaunchDecision:
    """The decision for EC2's error code; an unknown one is refused."""
    return DECISIONS.get(code, LaunchDecision.REFUSE)


def missing_permission(code: str, message: str) -> str:
    """The action that is not allowed, e.g. `iam:PassRole`: EC2 names it where it lies in another service."""
    named = _ACTION.search(message)
    return named["action"] if named else "ec2:RunInstances"


def remedy(code: str) -> str:
    """Return what a person can do about a refusal, by the part of the code before its dot."""
    return _REMEDIES.get(code.split(".")[0], "see EC2's message, then start again")
