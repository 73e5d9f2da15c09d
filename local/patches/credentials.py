"""Sessions of roles.

AWS hands each instance temporary keys of its profile's role. The emulator's own metadata service gives every caller
the same unregistered keys; here a session of the very role is registered, so that IAM policies apply to it.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

from local.instances.model import Instance
from local.patches.upstream import sts

SESSION_HOURS = 6


def role_session(role_arn: str, session: str) -> dict[str, str]:
    """Keys of a session of `role_arn`: `AccessKeyId`, `SecretAccessKey`, `Token`; the same for the same session."""
    account = role_arn.split(":")[4]
    role = role_arn.rsplit("/", 1)[-1]
    digest = hashlib.sha256(f"{role_arn}:{session}".encode()).hexdigest()
    keys = {
        "AccessKeyId": f"ASIA{digest[:16].upper()}",
        "SecretAccessKey": hashlib.sha256(f"secret:{digest}".encode()).hexdigest(),
        "Token": hashlib.sha256(f"token:{digest}".encode()).hexdigest(),
    }
    sts.register_session(
        keys["AccessKeyId"],
        {
            "Arn": f"arn:aws:sts::{account}:assumed-role/{role}/{session[:64]}",
            "UserId": f"{role}:{session[:64]}",
            "SecretAccessKey": keys["SecretAccessKey"],
            "SessionToken": keys["Token"],
        },
    )
    return keys


def instance_credentials(instance: Instance) -> dict[str, str] | None:
    """The metadata service's credentials document, or None without a role."""
    if instance.role is None:
        return None
    now = datetime.now(UTC)
    keys = role_session(f"arn:aws:iam::{instance.account}:role/{instance.role}", instance.instance_id)
    return {
        "Code": "Success",
        "Type": "AWS-HMAC",
        "LastUpdated": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "Expiration": (now + timedelta(hours=SESSION_HOURS)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        **keys,
    }
