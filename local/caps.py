"""Configuration of network caps: what one VM may move, by its type, its launch and the regions at both ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import Field, model_validator

from local.section import Section

# The kernel counts a bucket in ticks of 64 ns, of which 32 bits hold 274 s.
MOST_CREDIT_SECONDS = 270

Factor = Annotated[float, Field(gt=0)]
Pair = Annotated[str, Field(pattern=r"^[a-z0-9-]+>[a-z0-9-]+$")]
"""Regions of the sending and of the receiving VM, as in `us-west-2>eu-west-1`."""


class CapChange(Section):
    """From `after_seconds` on a cap is `mb_s`, or `factor` times what it was at first."""

    after_seconds: float = Field(gt=0)
    factor: Factor | None = None
    mb_s: float | None = Field(default=None, gt=0, alias="MBps")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.factor is None) == (self.mb_s is None):
            raise ValueError("give factor or MBps, one of both")
        return self

    def of(self, first: float) -> float:
        """Return the cap from this change on, MB/s, where it was `first`."""
        return self.mb_s or first * (self.factor or 1.0)


def changed(first: float, changes: Sequence[CapChange], began: float, now: float) -> float:
    """Return the cap at the moment `now`, MB/s, if its changes count from the moment `began`."""
    past = [change for change in changes if began + change.after_seconds <= now]
    return max(past, key=lambda change: change.after_seconds).of(first) if past else first


class Caps(Section):
    """Most that one VM may send or receive, MB/s (10⁶ bytes per second); absent: no cap.

    With `burst_mb_s` the VM moves that much in all while its credit lasts, `intra_region_mb_s` after that: `credit_mb`
    is a full bucket, which the launch finds, and what is not used fills it again. `changes` are other traffic: they
    change the cap between regions, and count from the moment at which the VM runs.
    """

    inter_region_mb_s: float | None = Field(default=None, gt=0, alias="interRegionMBps")
    intra_region_mb_s: float | None = Field(default=None, gt=0, alias="intraRegionMBps")
    burst_mb_s: float | None = Field(default=None, gt=0, alias="burstMBps")
    credit_mb: float | None = Field(default=None, gt=0, alias="creditMB")
    changes: list[CapChange] = Field(default_factory=list)

    @model_validator(mode="after")
    def _burst_is_whole(self) -> Self:
        given = [value is not None for value in (self.burst_mb_s, self.credit_mb)]
        baseline = self.intra_region_mb_s
        if any(given) and not (all(given) and baseline and (self.burst_mb_s or 0) > baseline):
            raise ValueError("burstMBps and creditMB come together, with intraRegionMBps below burstMBps")
        if self.credit_mb and baseline and self.credit_mb > MOST_CREDIT_SECONDS * baseline:
            most = MOST_CREDIT_SECONDS * baseline
            raise ValueError(f"creditMB: {self.credit_mb:g}; at most {most:g}, {MOST_CREDIT_SECONDS} s of the baseline")
        return self

    @staticmethod
    def of(inter: float | None, intra: float | None) -> Caps:
        """Caps from two figures."""
        return Caps.model_validate({"interRegionMBps": inter, "intraRegionMBps": intra})

    def scaled(self, factor: float) -> Caps:
        """The same caps times `factor`; the credit, which is no rate, as well."""
        names = ("inter_region_mb_s", "intra_region_mb_s", "burst_mb_s", "credit_mb")
        return self.model_copy(update={name: value * factor for name in names if (value := getattr(self, name))})

    def at(self, began: float, now: float) -> Caps:
        """Return the caps at the moment `now` of a VM that runs since the moment `began`."""
        if self.inter_region_mb_s is None or not self.changes:
            return self
        return self.model_copy(update={"inter_region_mb_s": changed(self.inter_region_mb_s, self.changes, began, now)})


class PairCap(Section):
    """Most that one VM of a region may send to all VMs of another, and one of these may receive from the first."""

    mb_s: float = Field(gt=0, alias="MBps")
    changes: list[CapChange] = Field(default_factory=list)


class LaunchCaps(Section):
    """Scales the caps of every n-th launch among those that carry a tag (a noisy neighbour, counted)."""

    tag: str | None = Field(default=None, description="Tag key that a launch must carry to be counted.")
    value: str | None = Field(default=None, description="Value of that tag; absent: any.")
    region: str | None = None
    every: int = Field(default=1, ge=1)
    factor: Factor | Annotated[list[Factor], Field(min_length=1)] = Field(
        description="Of each n-th launch; a list: one after the other, and round again."
    )

    def factor_of(self, count: int) -> float:
        """Return what the counted launch `count`, from 1, has its caps multiplied with."""
        if count % self.every:
            return 1.0
        if isinstance(self.factor, float):
            return self.factor
        return self.factor[(count // self.every - 1) % len(self.factor)]


class CapsSection(Caps):
    """Default caps, by instance type, and by pair of regions; `launches` scales counted launches."""

    by_type: dict[str, Caps] = Field(default_factory=dict)
    between: dict[Pair, PairCap] = Field(default_factory=dict)
    launches: list[LaunchCaps] = Field(default_factory=list)

    def of_type(self, instance_type: str) -> Caps:
        """Caps of a type; what it does not name comes from the default."""
        own = self.by_type.get(instance_type, Caps())
        return Caps.model_construct(**{name: getattr(own, name) or getattr(self, name) for name in Caps.model_fields})
