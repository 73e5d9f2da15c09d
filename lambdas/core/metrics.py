"""Names and units of the CloudWatch metrics of a deployment's transfers.

No transfer, node or chunk is ever a dimension: each value of one would be a metric of its own, and be billed as one.
"""

from collections.abc import Mapping
from typing import Final, Literal

Unit = Literal["Count", "Bytes", "Seconds", "Megabytes/Second", "None"]
MetricName = Literal[
    "EndsUnwatched",
    "TransfersActive",
    "TransfersStarted",
    "TransfersSucceeded",
    "TransfersFailed",
    "TransferSeconds",
    "TransferRate",
    "BytesSent",
    "DollarsSpent",
    "ChunksRetried",
    "ChunksGivenUp",
    "RelaysLaunched",
    "RelaysLost",
    "RelaysStray",
    "PoolNodesLost",
    "PoolLaunchesRefused",
    "Defects",
    "Throttles",
]

UNITS: Final[Mapping[MetricName, Unit]] = {
    "EndsUnwatched": "Count",  # each minute, last: transfers with ends that the watch could not look at
    "TransfersActive": "Count",  # each minute: those whose report is not written yet
    "TransfersStarted": "Count",
    "TransfersSucceeded": "Count",
    "TransfersFailed": "Count",  # of those that were accepted
    "TransferSeconds": "Seconds",  # from start to report
    "TransferRate": "Megabytes/Second",  # of a whole transfer, 10^6 bytes a second
    "BytesSent": "Bytes",  # since the meter's last look, repeats included
    "DollarsSpent": "None",  # since the meter's last look
    "ChunksRetried": "Count",
    "ChunksGivenUp": "Count",
    "RelaysLaunched": "Count",
    "RelaysLost": "Count",
    "RelaysStray": "Count",  # of no active transfer, and terminated for it
    "PoolNodesLost": "Count",
    "PoolLaunchesRefused": "Count",  # in one zone; another one was tried
    "Defects": "Count",  # calls of a Lambda that failed for a reason that errors.py does not know
    "Throttles": "Count",  # calls that AWS asked to come later
}
