"""The key of all that the seats of a transfer share. Made and read here alone: to everybody else it is opaque."""

from collections.abc import Iterable
from typing import NewType

Partition = NewType("Partition", str)
"""Of their records; the keys of their chunks and objects begin with it."""
# In no ARN and in no id: the key can be read in one way only.
_JOINT = "+"


def partition_of(execution_arn: str, machines: Iterable[tuple[str, str]], transfer_id: str) -> Partition:
    """Of an execution, (region, instance id) of each of its seats' machines, and a transfer id.

    A machine's policy has its own ARN as a variable: it reaches the keys that name it, wherever, and no others.
    """
    arns = (machine_arn(execution_arn, region, instance_id) for region, instance_id in machines)
    return Partition(_JOINT.join((*arns, transfer_id)))


def machine_arn(beside: str, region: str, instance_id: str) -> str:
    """ARN of an instance in the account and AWS partition of another resource's ARN, e.g. of an execution."""
    _, partition, _, _, account, *_ = beside.split(":")
    return f"arn:{partition}:ec2:{region}:{account}:instance/{instance_id}"


def machines_in(partition: Partition) -> int:
    """How many machines it names."""
    return partition.count(_JOINT)


def transfer_id_of(partition: Partition) -> str:
    """The transfer's id."""
    return partition.rpartition(_JOINT)[-1]
