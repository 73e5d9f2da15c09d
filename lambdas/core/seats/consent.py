"""The owner's consent that a machine serves: a tag, which nobody but whoever keeps the machine may set.

`requireConsent` of the deployment makes it a condition of each command to an end. Source of the condition key:
AWS's service authorization reference, `ssm:resourceTag/${TagKey}` of SendCommand.
"""

from collections.abc import Iterable

END_TAG = "cpt:end"
"""On an end; its value is the name of the deployment."""
LENT_TAG = "cpt:lent-to"
"""On a machine that relays may use; the same value. Nothing with it alone can be terminated."""


def how_to_tag(instance_ids: Iterable[str], region: str, deployment: str, tag: str = END_TAG) -> str:
    """Return the command by which an owner consents."""
    machines = " ".join(instance_ids)
    return f"aws ec2 create-tags --region {region} --resources {machines} --tags Key={tag},Value={deployment}"
