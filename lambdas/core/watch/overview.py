"""All transfers of a deployment at one look."""

from collections.abc import Sequence
from dataclasses import dataclass

from lambdas.core.watch.transfer_state import TransferState


@dataclass(frozen=True)
class Running:
    """Transfers that run; of many the first, and how many there are."""

    states: Sequence[TransferState]
    count: int


@dataclass(frozen=True)
class Execution:
    """An execution that has ended, as Step Functions lists it; Unix seconds."""

    name: str
    status: str
    started_at: float
    ended_at: float
