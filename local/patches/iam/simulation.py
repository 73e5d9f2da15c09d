"""SimulatePrincipalPolicy.

AWS: takes the ARN of a user or role that exists, its path included, and answers NoSuchEntity for any other.
Emulator: takes what follows the kind as the name, so that a path belongs to it, and simulates nobody's policies for it.
"""

from __future__ import annotations

from typing import Any

from local.patches.upstream import iam

ACTION = "SimulatePrincipalPolicy"


def install() -> None:
    """Put the check in front of the emulator's answer."""
    simulate = iam._IAM_HANDLERS[ACTION]

    def checked(params: dict[str, Any]) -> Any:
        source = str(iam._p(params, "PolicySourceArn"))
        for kind, known in (("role", iam._roles), ("user", iam._users)):
            for name, found in known.items():
                if found["Arn"] == source:
                    prefix = source.partition(f":{kind}/")[0]
                    return simulate({**params, "PolicySourceArn": [f"{prefix}:{kind}/{name}"]})
        return iam._error(404, "NoSuchEntity", f"The entity {source} cannot be found.")

    iam._IAM_HANDLERS[ACTION] = checked
