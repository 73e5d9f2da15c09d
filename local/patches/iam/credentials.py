"""Sessions of roles.

AWS hands each instance temporary keys of its profile's role. The emulator's own metadata service gives every caller
the same unregistered keys; here a session of the very role is registered, so that IAM policies apply to it.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

from local.instances.model import Instance
from local.patches.replace import override
from local.patches.upstream import sts

SESSION_HOURS = 6


def install() -> None:
    """Keep a session that has ended: AWS says that its token has expired, and not that it does not know the key."""
    override(sts, _evict_expired_sessions=lambda: None)


def expire(access_key: str) -> bool:
    """Have a session end now; whether there is one."""
    session = sts._sessions.get(access_key)
    if session is not None:
        session["Expiration"] = 0
    return session is not None


def source_instance(access_key: str) -> dict[str, str]:
    """Condition keys of the instance whose credentials these are; none for any others."""
    arn = (sts._sessions.get(access_key) or {}).get("SourceInstanceArn")
    return {"ec2:SourceInstanceARN": arn} if arn else {}


def role_session(role_arn: str, session: str, instance_arn: str | None = None) -> dict[str, str]:
    """Keys of a session of `role_arn`: `AccessKeyId`, `SecretAccessKey`, `Token`; the same for the same session.

    `instance_arn`: of the instance that they are handed to; policies know it as `ec2:SourceInstanceARN`.
    """
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
            "SourceInstanceArn": instance_arn,
        },
    )
    return keys


def instance_credentials(instance: Instance) -> dict[str, str] | None:
    """The metadata service's credentials document, or None without a role."""
    if instance.role is None:
        return None
    now = datetime.now(UTC)
    arn = f"arn:aws:ec2:{instance.region}:{instance.account}:instance/{instance.instance_id}"
    keys = role_session(f"arn:aws:iam::{instance.account}:role/{instance.role}", instance.instance_id, arn)
    return {
        "Code": "Success",
        "Type": "AWS-HMAC",
        "LastUpdated": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "Expiration": (now + timedelta(hours=SESSION_HOURS)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        **keys,
    }
