"""Configured faults of EC2's actions, and dry runs, in front of them all.

AWS: any call may be refused; codes of the server's faults come with HTTP 5xx, which clients try again by themselves. A
dry run that would succeed is refused too, as DryRunOperation.
Emulator: refuses nothing by itself, and does what a dry run asks about. RunInstances and Run Command know more about a
call and ask for their own faults.
"""

from __future__ import annotations

from collections.abc import Callable

from local.instances.faults import Faults
from local.patches.ec2.wire import Params, Response, is_dry_run, refuse
from local.patches.upstream import ec2, region_name

Action = Callable[[Params], Response]

DRY_RUN = "DryRunOperation"
STATUS = {
    DRY_RUN: 412,
    "InsufficientAddressCapacity": 500,
    "InsufficientCapacity": 500,
    "InsufficientHostCapacity": 500,
    "InsufficientInstanceCapacity": 500,
    "InternalError": 500,
    "RequestLimitExceeded": 503,
    "ServiceUnavailable": 503,
    "Unavailable": 503,
    "UnauthorizedOperation": 403,
}
MESSAGES = {
    "AuthFailure.ServiceLinkedRoleCreationNotPermitted": "The provided credentials do not have permission to create "
    "the service-linked role for EC2 Spot Instances.",
    DRY_RUN: "Request would have succeeded, but DryRun flag is set.",
    "InvalidAMIID.NotFound": "The image id '[ami-00000000000000000]' does not exist",
    "MaxSpotInstanceCountExceeded": "Max spot instance count exceeded",
    "RequestLimitExceeded": "Request limit exceeded.",
    "UnauthorizedOperation": "You are not authorized to perform this operation.",
    "VcpuLimitExceeded": "You have requested more vCPU capacity than your current vCPU limit allows for the instance "
    "bucket that the specified instance type belongs to.",
}


def refused(code: str, message: str = "") -> Response:
    """The answer of a faulty call."""
    return refuse(code, message or MESSAGES.get(code, "Spoiled by a script of the local cloud."), STATUS.get(code, 400))


def install(faults: Faults) -> None:
    """Guard every action of EC2 but RunInstances, which is told what it launches."""
    for name, action in list(ec2._ACTION_MAP.items()):
        if name != "RunInstances":
            ec2._ACTION_MAP[name] = _guarded(name, action, faults)


def _guarded(name: str, action: Action, faults: Faults) -> Action:
    def guarded(params: Params) -> Response:
        fault = faults.hit(name, region_name())
        if fault or is_dry_run(params):
            return refused(fault.code if fault else DRY_RUN)
        return action(params)

    return guarded
