"""What is known of copies between buckets as a whole: in the record while they go on, in the report afterwards."""

from collections.abc import Mapping

from pydantic import Field

from lambdas.core.copies.estimate import CopyEstimate, Planned, estimate
from lambdas.core.copies.proof import VERIFIES, Proof
from lambdas.core.copies.units import Position
from lambdas.core.documents import Count, Document
from lambdas.core.tariff import storage_classes
from lambdas.core.tariff.prices import PriceBook, What

# States of a round, and of one of its units (statemachine/transfer.asl.json); a test counts them there.
STATES_OF_ROUND, STATES_OF_UNIT = 4, 2
# What S3 asks as much for as for a PUT; HEAD and the reading of tags are as a GET; nothing is asked for an abort.
_AS_PUT = frozenset({"list", "parts"})
# The price of these is that of the class: the first make an object, the others are on the way to one.
_MAKES, _ON_THE_WAY = frozenset({"copy", "complete"}), frozenset({"begin", "part"})
_AS_GET = frozenset({"head", "tags"})
UNIT_GB = 1.0
"""Memory of the function that copies, GB."""


class Copies(Document):
    """Contract `report`, `copies`: objects, bytes; `planned`: what was found to be copied, so far or in all.

    `left`: objects that are left out. `proofs`: copies by the algorithm whose checksums are equal on both sides, `none`
    where S3 has no checksum in common. `requests`: to S3, by kind. `usd`: what requests, transitions and functions
    cost. `began_at`, `ended_at`: the first and the last copy, Unix seconds.
    """

    listed: Count
    listed_bytes: Count
    is_listed: bool
    planned: Count
    planned_bytes: Count
    objects: Count = 0
    bytes: Count = 0
    planned_writes: Count = 0
    """Requests that these take of S3 which are priced as writes."""
    left: Count = 0
    complete: bool = False
    """Every object is copied, or left out by name: nothing is left to go on with."""
    rounds: Count
    units: Count
    proofs: dict[Proof, Count] = Field(default_factory=dict)
    requests: dict[str, Count] = Field(default_factory=dict)
    transitions: Count = 0
    function_seconds: Count = 0
    usd: float = 0.0
    estimate: CopyEstimate | None = None
    """Of what was planned; absent until the listing has ended."""
    began_at: float | None = None
    ended_at: float | None = None

    @property
    def verified(self) -> bool:
        """Whether a CRC-64/NVME of the whole object, equal on both sides, proves each copy."""
        return self.proofs.get(VERIFIES, 0) == self.objects

    def least_usd(self, storage_class: str | None) -> float:
        """What the copies that are planned take of S3 at least: a look at each object, and what it takes to copy it."""
        return planned_usd(self.planned, self.planned_writes, storage_class)

    def expected(self, source_region: str, destination_region: str, storage_class: str | None) -> CopyEstimate:
        """Time and money of all that is planned."""
        planned = Planned(self.planned, self.planned_bytes, self.planned_writes)
        return estimate(planned, source_region, destination_region, storage_class)

    @property
    def in_words(self) -> str | None:
        """What proved copies that are not verified; None where there are none."""
        others = {name: count for name, count in self.proofs.items() if name != VERIFIES and count}
        if not others:
            return None
        words = {"none": "copied by S3, not verified: no checksum of the whole object at the source"}
        told = (f"{count:,} {words.get(name, f'proved by {name}')}" for name, count in sorted(others.items()))
        return "; ".join(told)

    @classmethod
    def listing(cls, position: Position, units: int) -> "Copies":
        """What a listing has found so far; `units`: of all rounds."""
        counts = position.counts
        return cls(
            listed=counts.get("listed", 0),
            listed_bytes=counts.get("listedBytes", 0),
            is_listed=position.round.done,
            planned=counts.get("new", 0) + counts.get("changed", 0),
            planned_bytes=counts.get("newBytes", 0) + counts.get("changedBytes", 0),
            planned_writes=counts.get("writes", 0),
            left=counts.get("left", 0),
            rounds=position.round.number,
            units=units,
        )

    def with_sums(
        self, sums: Mapping[str, int], listing: Mapping[str, int], storage_class: str | None = None
    ) -> "Copies":
        """With what all units have counted, and what the listing took of S3; `storage_class`: of what was written."""
        transitions = STATES_OF_ROUND * self.rounds + STATES_OF_UNIT * self.units
        function_seconds = sums.get("functionSeconds", 0)
        requests = {
            kind: sums.get(f"request {kind}", 0) + listing.get(f"request {kind}", 0)
            for kind in sorted({name.removeprefix("request ") for name in (*sums, *listing) if "request " in name})
        }
        return self.model_copy(
            update={
                "objects": sums.get("copied", 0),
                "bytes": sums.get("copiedBytes", 0),
                "left": self.left + sums.get("left", 0),
                "proofs": {
                    name.removeprefix("proof "): count for name, count in sums.items() if name.startswith("proof ")
                },
                "requests": requests,
                "transitions": transitions,
                "function_seconds": function_seconds,
                "usd": requests_usd(requests, storage_class) + workflow_usd(transitions, function_seconds),
            }
        )


def workflow_usd(transitions: int, function_seconds: float) -> float:
    """What the state machine and the functions that copy cost."""
    book = PriceBook()
    states = transitions * book.unit("state-transition", "").usd
    return states + function_seconds * UNIT_GB * book.unit("lambda-gb-second", "").usd


def planned_usd(objects: int, writes: int, storage_class: str | None) -> float:
    """What S3 asks for copies of so many objects by so many writes."""
    return requests_usd({"head": objects, "copy": objects, "part": writes - objects}, storage_class)


def requests_usd(requests: Mapping[str, int], storage_class: str | None = None) -> float:
    """What S3 asks for requests of these kinds; `storage_class`: of what they write, None: S3 Standard."""
    kinds: tuple[tuple[What, frozenset[str]], ...] = (("object-put", _AS_PUT), ("object-get", _AS_GET))
    made, others = (sum(requests.get(kind, 0) for kind in kinds) for kinds in (_MAKES, _ON_THE_WAY))
    return storage_classes.writes_usd(storage_class, made, others) + sum(
        count * PriceBook().unit(what, "").usd
        for what, those in kinds
        for kind, count in requests.items()
        if kind in those
    )
