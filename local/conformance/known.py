"""Known differences of requests or answers from AWS's models that are right or harmless, each with the reason."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

_EMPTY = "AWS answers it empty when there is none, though its model asks for one."
_TIME = (
    "The model's pattern takes one digit of a fraction; AWS answers three. Before the start and the end it is empty."
)
_REVIEW = "AWS shows a stack that has only a change set as under review, which the model knows of stacks alone."
_REASON = "The emulator has words of its own, or none, for why a function is in its state. Nothing of ours reads them."
_TEXT = "The emulator answers an empty element for a text that the template does not have. Nothing of ours reads it."
_WARM = "The emulator’s tables are never warmed: it answers 0. Nothing of ours reads it."
_STATE = "The model's enum has capitals; AWS answers in lower case."
_ATTACHED = "AWS answers that a gateway is available to its VPC, as its documentation says; the model has other words."
_CASE = "S3 takes names of checksums in any case, and has codes of its own for others, which the patches give."
_ORDER = "S3 looks for the bucket first; the patches refuse what is left."
_TYPES = "EC2 has new types before botocore, and refuses others by a code of its own, as the emulator does."


@dataclass(frozen=True)
class Known:
    """Members of operations' requests or answers that may violate their shapes; `*` stands for anything."""

    operation: str
    """The operation as signed: `ec2.DescribeVpcs`."""
    path: str
    why: str

    def covers(self, operation: str, path: str) -> bool:
        """Return whether this entry speaks for a member."""
        pairs = ((operation, self.operation), (path, self.path))
        return all(re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), value) for value, pattern in pairs)


KNOWN = (
    Known("cloudformation.DescribeStackEvents", "StackEvents[].ResourceStatus", _REVIEW),
    Known("cloudformation.DescribeStacks", "Stacks[].*Description", _TEXT),
    Known("dynamodb.*Table", "Table*.WarmThroughput.*UnitsPerSecond", _WARM),
    Known("dynamodb.BatchGetItem", "UnprocessedKeys", _EMPTY),
    Known("dynamodb.BatchWriteItem", "UnprocessedItems", _EMPTY),
    Known("ec2.*InternetGateway*", "InternetGateway*.Attachments[].State", _ATTACHED),
    Known("ec2.Describe*", "InstanceTypes[]", _TYPES),
    Known("ec2.DescribeInstanceTypes", "InstanceTypes[].InstanceType", _TYPES),
    Known("ec2.DescribeInstanceTypes", "InstanceTypes[].ProcessorInfo.SupportedFeatures[]", _TYPES),
    Known("ec2.*VpcEndpoint*", "VpcEndpoint*.State", _STATE),
    Known("ec2.RunInstances", "InstanceType", _TYPES),
    Known("lambda.*", "*LastUpdateStatusReasonCode", _REASON),
    Known("lambda.*", "*StateReasonCode", _REASON),
    Known("s3.*", "ChecksumAlgorithm", _CASE),
    Known("s3.*", "ChecksumType", _CASE),
    Known("s3.*", "CopySource", _ORDER),
    Known("s3.GetObjectAttributes", "ObjectAttributes*", _ORDER),
    Known("ssm.GetCommandInvocation", "Execution*Time", _TIME),
)


@cache
def is_known(operation: str, path: str) -> bool:
    """Return whether a difference there is known."""
    return any(known.covers(operation, path) for known in KNOWN)
