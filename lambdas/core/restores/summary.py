"""What is known of the archived objects of a transfer: what restoring them takes, and how far S3 is."""

from collections.abc import Mapping
from math import ceil
from typing import Annotated

from pydantic import Field

from lambdas.core.documents import Count, Document
from lambdas.core.ends.archived import Amount, RestoreWish, restoring_usd
from lambdas.core.ends.retrieval import (
    DEARER_AT_MOST,
    PRICED_REGIONS,
    Tier,
    retrieval,
)
from lambdas.core.estimate import object_store
from lambdas.core.estimate.figures import Figure
from lambdas.core.words import dollars, duration, many, moment, size

NonNegative = Annotated[float, Field(ge=0)]
HOUR, HOURS_A_DAY = 3_600.0, 24
# What is restored from its archives is an object as any other from then on: there is no copy beside it.
_STAYS_OUT = "INTELLIGENT_TIERING"


class ArchivedClass(Document):
    """Contract `report`, `restores`, `classes`: what is to be restored of a storage class.

    `usual_hours`: within which S3 usually restores it. `days`: those for which its copies stay, so that they are there
    as long as the request says after the slowest class is restored, too.
    """

    objects: Count
    bytes: Count
    usd: NonNegative
    usual_hours: NonNegative
    days: Count


class Restores(Document):
    """Contract `report`, `restores`: archived objects of the source, and what has become of them.

    `days`: as the request says. `usd`: the retrieval, bytes and requests; `copies_usd`: what the copies cost for their
    days. `asked`: for how many S3 was asked. `left`: those of them that are gone, replaced, or not restored after all;
    `where` has their names. In Unix seconds: the first request, when S3 has usually restored all, and when nobody waits
    any longer.
    """

    tier: Tier
    days: Count
    classes: dict[str, ArchivedClass]
    usd: NonNegative
    copies_usd: NonNegative
    asked: Count = 0
    ready: Count = 0
    left: Count = 0
    where: str | None = None
    asked_at: float | None = None
    expected_at: float | None = None
    waits_until: float | None = None

    @classmethod
    def of(cls, amounts: Mapping[str, Amount], wish: RestoreWish) -> "Restores":
        """What a listing has found. Every class has the tier (`refused_tier`)."""
        hours = {name: _hours(name, wish.tier) for name in sorted(amounts)}
        slowest = max(hours.values(), default=0.0)
        classes = {
            name: ArchivedClass(
                objects=amounts[name].objects,
                bytes=amounts[name].bytes,
                usd=round(restoring_usd({name: amounts[name]}, wish.tier), 6),
                usual_hours=own,
                days=wish.days + ceil((slowest - own) / HOURS_A_DAY),
            )
            for name, own in hours.items()
        }
        copies = sum(_copies_usd(one) for name, one in classes.items() if name != _STAYS_OUT)
        return cls(
            tier=wish.tier,
            days=wish.days,
            classes=classes,
            usd=round(restoring_usd(amounts, wish.tier), 6),
            copies_usd=round(copies, 6),
        )

    @property
    def objects(self) -> int:
        """How many are to be restored."""
        return sum(one.objects for one in self.classes.values())

    @property
    def bytes(self) -> int:
        """Their bytes."""
        return sum(one.bytes for one in self.classes.values())

    @property
    def total_usd(self) -> float:
        """What its owner pays for all of it."""
        return self.usd + self.copies_usd

    @property
    def spent_usd(self) -> float:
        """What that was so far, by the objects that S3 was asked for."""
        return self.total_usd * self.asked / self.objects if self.objects else 0.0

    @property
    def usual_seconds(self) -> float:
        """Within which S3 usually restores all."""
        return HOUR * max((one.usual_hours for one in self.classes.values()), default=0.0)

    def asked_from(self, now: float, wish: RestoreWish) -> "Restores":
        """With the time of the first request, and what follows from it."""
        times = {"expected_at": now + self.usual_seconds, "waits_until": now + HOUR * wish.max_wait_hours}
        return self.model_copy(update={"asked_at": now, **times})

    def figure(self, region: str) -> Figure | None:
        """All of it as a figure of the estimate; None where nothing is to be restored."""
        if not self.objects:
            return None
        high = None if region in PRICED_REGIONS else self.total_usd * DEARER_AT_MOST
        return Figure(value=self.total_usd, high=high, origin="published", note=self.price_in_words)

    @property
    def progress_in_words(self) -> str:
        """How many are ready, and when all usually are, for those who watch."""
        told = f"S3 restores archived objects: {self.ready:,} of {many(self.objects, 'object')} ready"
        left = f", {self.left:,} left out" if self.left else ""
        return f"{told}{left}" + (f", usually all by {moment(self.expected_at)}" if self.expected_at else "")

    @property
    def outcome_in_words(self) -> str:
        """What was restored, or would be, and its price."""
        if self.asked_at is None:
            return f"archived objects would be restored first: {self.price_in_words}"
        left = f", {self.left:,} left out: {self.where}" if self.left else ""
        return f"{self.ready:,} of {many(self.objects, 'archived object')} restored{left}; {self.price_in_words}"

    @property
    def price_in_words(self) -> str:
        """By class, for people: `3 objects of GLACIER (12 GB) $0.12, usually within 5 h 00 min; … by Standard`."""
        told = [
            f"{many(one.objects, 'object')} of {name} ({size(one.bytes)}) {dollars(one.usd)}, usually within "
            f"{duration(HOUR * one.usual_hours)}"
            for name, one in self.classes.items()
        ]
        copies = f"copies that stay {many(self.days, 'day')} {dollars(self.copies_usd)}"
        return f"S3's {self.tier} retrieval: {'; '.join([*told, copies])}"


def _copies_usd(one: ArchivedClass) -> float:
    """S3 asks for restored copies as for S3 Standard."""
    return one.days * object_store.stored_usd_per_day(one.bytes)


def _hours(storage_class: str, tier: Tier) -> float:
    price = retrieval(storage_class, tier)
    return price.hours if price else 0.0
