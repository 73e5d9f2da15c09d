"""What `cpt seats drain` asks for."""

from typing import Annotated

from pydantic import Field

from lambdas.core.documents import Document, InstanceId, TransferId


class DrainRequest(Document):
    """Contract `drain-request`; the report has `reason`."""

    transfer_id: TransferId
    instance_id: InstanceId
    reason: Annotated[str, Field(min_length=1, max_length=1000)] = "a person has drained it"
