"""One thing that would do in place of relays."""

from typing import Literal

from lambdas.core.documents import Document
from lambdas.core.estimate.figures import NonNegative


class Alternative(Document):
    """Contract `estimate`, `alternatives`: seconds of data time at best, dollars of the transfer, and what it takes.

    `cost_and_time_usd`: with what its hours are worth, as rows have it.
    """

    kind: Literal["peering", "larger-ends", "checksum", "s3", "datasync"]
    what: str
    seconds: NonNegative
    cost_usd: NonNegative
    cost_and_time_usd: NonNegative
    note: str
