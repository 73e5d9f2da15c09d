"""What an estimate is computed from: every number with where it comes from."""

from math import inf
from typing import Annotated, Literal

from pydantic import Field

from lambdas.core.documents import Document

LIMIT_NOTE = "$.bandwidthLimitMbps"
"""Of a figure that the request's limit holds down, which people may lift while the transfer runs."""
Origin = Literal["measured", "configured", "published", "assumed"]
_BEST_FIRST: tuple[Origin, ...] = ("measured", "configured", "published", "assumed")


class Figure(Document):
    """A number, who says so, and in words what it is of."""

    value: Annotated[float, Field(ge=0)]
    origin: Origin
    note: str


class EndFigures(Document):
    """What is known of the two end machines: MB/s, dollars."""

    source: Figure = Field(alias="sourceMBps")
    """V_src: what the source machine sends in all."""
    destination: Figure = Field(alias="destinationMBps")
    """V_dst."""
    direct: Figure = Field(alias="directMBps")
    """v_e of the ends: the direct path."""
    egress: Figure = Field(alias="egressUsdPerGB")
    """Per GB (10^9 bytes) that leaves the source's region."""

    source_disk: Figure | None = Field(default=None, alias="sourceDiskMBps")
    """What the source's disk reads; absent where nothing is known of it."""
    destination_disk: Figure | None = Field(default=None, alias="destinationDiskMBps")
    """What the destination's disk writes."""

    @property
    def send(self) -> float:
        """What leaves the source in all, MB/s: by its network and its disk."""
        return least(self.source, *filter(None, [self.source_disk])).value

    @property
    def send_without_limit(self) -> float:
        """What leaves the source whatever the request's limit, MB/s; infinite where only the limit is known."""
        known = [figure.value for figure in (self.source, self.source_disk) if figure and figure.note != LIMIT_NOTE]
        return min(known, default=inf)

    @property
    def receive(self) -> float:
        """What the destination takes in all, MB/s: by its network and its disk."""
        return least(self.destination, *filter(None, [self.destination_disk])).value

    @property
    def ends(self) -> float:
        """What the two machines can move, whatever the paths between them, MB/s."""
        return min(self.send, self.receive)

    @property
    def ends_without_limit(self) -> float:
        """As `ends`, whatever the request's limit."""
        return min(self.send_without_limit, self.receive)


class Figures(EndFigures):
    """Contract `estimate`, `figures`: MB/s, seconds, dollars."""

    pair: Figure = Field(alias="pairMBps")
    """What one pair of relays carries."""
    pair_spread: Figure
    """How much pairs differ: standard deviation over mean."""
    spawn: Figure = Field(alias="spawnSeconds")
    """T_v: from asking for a relay until it carries data."""
    relay_hour: Figure = Field(alias="relayHourUsd")
    """One relay with its address and disk; mean of both regions."""


def least(*figures: Figure) -> Figure:
    """The one that limits; of equal ones the better known."""
    return min(figures, key=lambda figure: (figure.value, _BEST_FIRST.index(figure.origin)))


def most(*figures: Figure) -> Figure:
    """The largest: what was seen to pass is possible, whatever is published."""
    return max(figures, key=lambda figure: (figure.value, -_BEST_FIRST.index(figure.origin)))
