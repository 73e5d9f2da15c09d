"""The key of all that the two ends of a transfer share."""

from collections.abc import Iterable


def shared_key(execution_arn: str, ends: Iterable[tuple[str, str]], transfer_id: str) -> str:
    """`AcceptedTransfer.shared` of an execution, (region, instance id) of source and destination, and a transfer id."""
    _, partition, _, _, account, *_ = execution_arn.split(":")
    arns = (f"arn:{partition}:ec2:{region}:{account}:instance/{instance_id}" for region, instance_id in ends)
    return "+".join((*arns, transfer_id))
