"""Where daemons work for the ends of a transfer."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field

from lambdas.core.documents import Document
from lambdas.core.ends.seated import MOST_AT_AN_END
from lambdas.core.places.machines import EndMachine

SeatId = Annotated[str, Field(pattern=r"^[sr](0|[1-9][0-9]?)$")]
"""`s0`, `s1` … send, `r0`, `r1` … receive."""
SenderId = Annotated[str, Field(pattern=r"^s(0|[1-9][0-9]?)$")]
ReceiverId = Annotated[str, Field(pattern=r"^r(0|[1-9][0-9]?)$")]
Role = Literal["sender", "receiver"]
MOST_SEATS = MOST_AT_AN_END
"""At one end."""


class Seat(Document):
    """A machine at an end, with the id under which its daemon keeps what it says."""

    seat_id: SeatId
    machine: EndMachine

    @property
    def role(self) -> Role:
        """What its daemon does."""
        return role_of(self.seat_id)


def role_of(seat_id: str) -> Role:
    """What the daemon of a seat does."""
    return "sender" if seat_id.startswith("s") else "receiver"


def seats_of(role: Role, machines: Iterable[EndMachine]) -> list[Seat]:
    """The seats of an end, in the order of its machines."""
    return [Seat(seat_id=f"{role[0]}{index}", machine=machine) for index, machine in enumerate(machines)]
