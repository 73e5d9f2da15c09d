"""The plan of a transfer: how many chunks of which sizes, and where they are listed."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from lambdas.core.documents import Count, Document, PlanId, TransferId


class PlanListing(Document):
    """The place of the listing that a plan is made of; the last look at the destination goes by it.

    `parts` objects of `listing/` have `digest`; what of them is planned lies in `planned_parts` objects of
    `planned_folder`, what a comparison found equal in `equal_folder`.
    """

    parts: Count
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    planned_folder: str
    planned_parts: Count
    equal_folder: str | None = None


class TransferPlan(Document):
    """Contract `transfer-plan`; more is added while it is `open`.

    `plan_id`: no two plans share it; nothing that was kept of another plan is believed.
    """

    schema_version: Literal[1] = 1
    transfer_id: TransferId
    plan_id: PlanId
    chunk_size_bytes: Count
    chunks: Count
    range_size: Count
    first_range: Annotated[Count, Field(le=9_999_999)]
    last_phase_chunks: Count
    bytes: Count
    files: Count
    manifest_parts: list[str]
    lanes_per_path: Annotated[int, Field(ge=1)]
    open: bool = False
    listing: PlanListing | None = None

    @model_validator(mode="after")
    def _what_comes_with_the_end(self) -> Self:
        if self.open and self.last_phase_chunks:
            raise ValueError(f"lastPhaseChunks is {self.last_phase_chunks}; while the plan is open it is 0")
        if self.open and self.listing:
            raise ValueError("listing is given; while the plan is open it is not known")
        if not self.open and self.chunks and not self.listing:
            raise ValueError("listing is absent; a plan that is whole names it")
        return self

    @property
    def ranges(self) -> range:
        """Numbers of the ranges that hold its chunks."""
        return range(self.first_range, self.first_range + -(-self.chunks // max(self.range_size, 1)))
