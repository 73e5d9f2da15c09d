"""What an estimate is computed from: every number with where it comes from."""

from math import inf
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from lambdas.core.documents import Count, Document
from lambdas.core.estimate.pair_route import PairRoute
from lambdas.core.models.zero_wait import Limit, Serving
from lambdas.core.words import size

NonNegative = Annotated[float, Field(ge=0)]
LIMIT_NOTE = "$.bandwidthLimitMbps"
"""Of a figure that the request's limit holds down, which people may lift while the transfer runs."""
STORE_NOTE = "S3: "
"""Begins the note of a figure that S3 holds down, by what it serves of so many requests."""
LENT_SECONDS = 10.0
# A node of the pool looks for leases twice a second, and the sender for paths.
POOLED_SECONDS = 2.0
"""A round of Run Command, 2 s, an installation, 4 s (docs/design/023-first-byte.md), and a look at its record."""
OPEN = 1.5
"""A figure whose highest value is more than so many times its lowest one is unknown, not only measured with noise."""
SHOWN_FROM = 1.2
"""A figure whose upper bound is more than so many times its lower one is shown with both."""
Origin = Literal["measured", "configured", "published", "assumed"]
_BEST_FIRST: tuple[Origin, ...] = ("measured", "configured", "published", "assumed")


Bound = Literal["low", "high"]


class Figure(Document):
    """A number, who says so, and in words what it is of.

    `value` is what to expect, of a rate what lasts; `low` and `high` are bounds where it is not known exactly. A lower
    bound (a baseline, a rate that a short transfer reached) is `low` and never `high`.
    """

    value: NonNegative
    low: NonNegative | None = None
    high: NonNegative | None = None
    burst: "Burst | None" = None
    """How much faster than `value` a rate is while credit lasts; absent where it never is."""
    origin: Origin
    note: str

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.least <= self.value <= self.greatest:
            raise ValueError(f"value: {self.value}; must lie between low, {self.low}, and high, {self.high}")
        return self

    @property
    def least(self) -> float:
        """`low`, or the value where that is known exactly."""
        return self.value if self.low is None else self.low

    @property
    def greatest(self) -> float:
        """`high`, or the value where that is known exactly; what lasts, without a burst."""
        return self.value if self.high is None else self.high

    @property
    def most(self) -> float:
        """The highest rate that is possible at any moment, MB/s: a bound, not an expectation."""
        return max(self.greatest, self.burst.rate.greatest if self.burst else 0.0)

    @property
    def now(self) -> float:
        """The rate that is expected at first, MB/s: that of the burst, if there is one."""
        return max(self.value, self.burst.rate.value if self.burst else 0.0)

    @property
    def least_now(self) -> float:
        """The rate that is possible at first whatever is not known, MB/s."""
        return max(self.least, self.burst.rate.least if self.burst else 0.0)

    @property
    def origin_now(self) -> Origin:
        """Who says what is expected at first."""
        return self.burst.rate.origin if self.burst and self.burst.rate.value > self.value else self.origin

    @property
    def is_open(self) -> bool:
        """Whether so little is known that the choice of relays may hang on it."""
        return self.most > OPEN * self.least_now

    @property
    def is_set_by_request(self) -> bool:
        """Whether the request's limit holds it down, at once or while it bursts."""
        return LIMIT_NOTE in (self.note, self.burst.rate.note if self.burst else None)

    @property
    def is_set_by_store(self) -> bool:
        """Whether S3 holds it down."""
        return self.note.startswith(STORE_NOTE)

    @property
    def limit(self) -> Limit:
        """A rate as the model takes it."""
        return Limit(self.value, *((self.burst.rate.value, self.burst.credit.value) if self.burst else ()))

    @property
    def words(self) -> str:
        """The value, its range where that is wide, and its burst: `100 (16 to 625), 16 after 152 GB of credit`."""
        wide = self.greatest > SHOWN_FROM * self.least
        lasting = f"{self.value:.4g} ({self.least:.3g} to {self.greatest:.4g})" if wide else f"{self.value:.4g}"
        if self.burst is None:
            return lasting
        return f"{self.burst.rate.words}, {lasting} after {size(self.burst.credit.value * 1e6)} of credit"

    @property
    def told(self) -> str:
        """Who says so, and of what: `published: t3.small: baseline 0.128 Gbps`."""
        beyond = f"; {self.burst.rate.told}" if self.burst and self.burst.rate.note != self.note else ""
        return f"{self.origin}: {self.note}{beyond}"

    def scaled(self, factor: float, note: str) -> "Figure":
        """So many times it, bounds and burst too."""
        low, high = (None if bound is None else bound * factor for bound in (self.low, self.high))
        burst = self.burst
        if burst:
            rate, credit = (one.scaled(factor, one.note) for one in (burst.rate, burst.credit))
            burst = Burst(rate=rate, credit=credit)
        changes = {"value": self.value * factor, "low": low, "high": high, "burst": burst, "note": note}
        return self.model_copy(update=changes)

    def later(self, seconds: float, note: str) -> "Figure":
        """Of seconds: so many more, bounds too."""
        low, high = (None if bound is None else bound + seconds for bound in (self.low, self.high))
        return Figure(value=self.value + seconds, low=low, high=high, origin=self.origin, note=note)

    def at(self, bound: Bound) -> "Figure":
        """The figure as if its lower or its upper bound were known exactly."""
        value = self.least if bound == "low" else self.greatest
        burst = self.burst and Burst(rate=self.burst.rate.at(bound), credit=self.burst.credit.at(bound))
        return Figure(value=value, burst=burst, origin=self.origin, note=self.note)


class Burst(Document):
    """A token bucket above a lasting rate: `rate` MB/s pass until `credit` MB beyond what lasts are used up.

    Credit comes back at the lasting rate, as far as that is not used, and never exceeds `credit`.
    """

    rate: Figure = Field(alias="rateMBps")
    credit: Figure = Field(alias="creditMB")


class TimedLimit(Document):
    """What the request's timetable lets pass, MB/s, in seconds from the start; without `until` for ever."""

    since: NonNegative = Field(alias="fromSecond")
    until: NonNegative | None = Field(default=None, alias="untilSecond")
    rate: NonNegative = Field(alias="rateMBps")


class LentPair(Document):
    """What a pair carries at most that has machines of the user, MB/s; `launches_one`: its other relay is launched."""

    rate: Figure = Field(alias="rateMBps")
    launches_one: bool


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

    cross_zone: Figure | None = Field(default=None, alias="crossZoneUsdPerGB")
    """Per GB between the zones of the two ends; absent where that is free."""
    relay_cross_zone: Figure | None = Field(default=None, alias="relayCrossZoneUsdPerGB")
    """The same with relays, where machines of the user stand in other zones than their ends."""
    source_disk: Figure | None = Field(default=None, alias="sourceDiskMBps")
    """What the source's disk reads; absent where nothing is known of it."""
    destination_disk: Figure | None = Field(default=None, alias="destinationDiskMBps")
    """What the destination's disk writes."""
    source_processor: Figure | None = Field(default=None, alias="sourceProcessorMBps")
    """What the source's processors hash and encrypt; absent where nobody knows the type."""
    destination_processor: Figure | None = Field(default=None, alias="destinationProcessorMBps")
    """What the destination's processors decrypt and hash."""
    source_mount: Figure | None = Field(default=None, alias="sourceMountMBps")
    """What all mounts of the source's file system carry; absent where it is not known to be one of AWS's."""
    source_file_system: Figure | None = Field(default=None, alias="sourceFileSystemMBps")
    """What that file system serves in all."""
    destination_mount: Figure | None = Field(default=None, alias="destinationMountMBps")
    """The same at the destination."""
    destination_file_system: Figure | None = Field(default=None, alias="destinationFileSystemMBps")
    """What the destination's file system takes in all."""
    file_systems: Figure | None = Field(default=None, alias="fileSystemsUsdPerGB")
    """Per GB that is read from the source's file system and written to the destination's; absent where that is free."""
    files: Figure | None = Field(default=None, alias="filesMBps")
    """What the ends move of files as small as these: their mean size times files per second; absent for large ones."""

    store: Figure | None = Field(default=None, alias="storeMBps")
    """What S3 takes or serves in all, on the direct way and those of relays; absent where no end is a bucket."""
    requests: Figure | None = Field(default=None, alias="requestsUsd")
    """All requests of the data to a bucket, dollars; absent where there is none."""
    restores: Figure | None = Field(default=None, alias="restoresUsd")
    """What restoring archived objects takes, dollars; absent where none is restored."""

    lent: list[LentPair] = Field(default_factory=list, alias="lentPairs")
    """Pairs with machines of the user; they come first."""
    pooled: Count | None = Field(default=None, alias="pooledPairs")
    """Pairs after these that have a lease in the pool at both sides: no machine has to boot for them; None: no pool."""
    pool_usd: Figure | None = Field(default=None, alias="poolUsdPerGB")
    """Per GB (10^9 bytes) through a pair of the pool's relays, fixed at the transfer's start; absent: no pool."""
    pool_node: Figure | None = Field(default=None, alias="poolNodeMBps")
    """What one node of the pool forwards for all who share it."""
    pair_route: PairRoute | None = None
    """Absent: of regions that nobody has named, with as many relays at both sides."""
    timetable: list[TimedLimit] | None = None
    """The limits of the request's timetable, where it has one; in other seconds there is none."""
    gateway: Figure | None = Field(default=None, alias="gatewayUsdPerGB")
    """Per GB that a transit gateway between the two VPCs passes on; absent where there is none."""
    distcp: Figure | None = Field(default=None, alias="distcpSeconds")
    """What DistCp would take for the same files, s; absent where it could not copy them, or nobody counted them."""
    distcp_maps: Figure | None = Field(default=None, alias="distcpMaps")
    distcp_map_rate: Figure | None = Field(default=None, alias="distcpMapMBps")
    distcp_start: Figure | None = Field(default=None, alias="distcpStartSeconds")
    """M, v_map and T_0, which that follows from."""
    repeated: Figure | None = Field(default=None, alias="repeatedShare")
    """How many bytes are sent beyond those that arrive: a last chunk on two lanes, and what is sent again."""
    machines: list[int] | None = None
    """How many there are at the source and at the destination; absent: one and one."""
    entries: Count | None = None
    """Files, directories and links that are moved; absent where nobody has listed them."""

    @property
    def route(self) -> PairRoute:
        """The route of the pairs, whether or not anybody has named its regions."""
        return self.pair_route or PairRoute()

    @property
    def sent_share(self) -> float:
        """Bytes that are sent for each that arrives."""
        return 1.0 + (self.repeated.value if self.repeated else 0.0)

    @property
    def leaving_gb_usd(self) -> float:
        """Dollars per GB that is sent, between zones apart: out of the region, and through a transit gateway."""
        return self.egress.value + (self.gateway.value if self.gateway else 0.0)

    @property
    def file_systems_gb_usd(self) -> float:
        """Dollars per GB that file systems charge at most for reading and writing it."""
        return self.file_systems.greatest if self.file_systems else 0.0

    @property
    def pool_gb_usd(self) -> float:
        """Dollars per GB that is sent through a pair of the pool."""
        return self.pool_usd.value if self.pool_usd else 0.0

    def sent_gb_usd(self, pairs: int) -> float:
        """Dollars per GB that is sent: it leaves the region, and goes between zones."""
        zones = (self.relay_cross_zone if pairs else None) or self.cross_zone
        return self.leaving_gb_usd + (zones.value if zones else 0.0)

    def gb_usd(self, pairs: int) -> float:
        """Dollars per GB that arrives, with what is sent again for it."""
        return self.sent_share * self.sent_gb_usd(pairs)

    @property
    def of_ends(self) -> dict[str, Figure]:
        """What each end moves in all, whatever the paths between them, by field: network, disk, processors, files."""
        return {name: figure for name in OF_ENDS if (figure := getattr(self, name)) is not None}

    @property
    def caps(self) -> list[Serving]:
        """The timetable's limits as the model takes them."""
        return [Serving(one.rate, one.since, inf if one.until is None else one.until) for one in self.timetable or []]

    @property
    def send_without_limit(self) -> float:
        """What leaves the source whatever the request's limit, MB/s; infinite where only the limit is known."""
        return min((figure.now for figure in self._of_source if not figure.is_set_by_request), default=inf)

    @property
    def receive(self) -> float:
        """What the destination takes at first in all, MB/s."""
        return min(figure.now for name, figure in self.of_ends.items() if name.startswith("destination"))

    @property
    def ends(self) -> float:
        """What the two machines move at first, whatever the paths between them, MB/s."""
        return min(figure.now for figure in self.of_ends.values())

    @property
    def ends_without_limit(self) -> float:
        """What the two machines move at least, whatever the request's limit, MB/s."""
        return min(figure.least_now for figure in self.of_ends.values() if not figure.is_set_by_request)

    @property
    def _of_source(self) -> list[Figure]:
        return [figure for name, figure in self.of_ends.items() if name.startswith("source")]


_PARTS = ("", "_disk", "_processor", "_mount", "_file_system")
OF_ENDS = ("store", *(f"{side}{part}" for side in ("source", "destination") for part in _PARTS), "files")


class Figures(EndFigures):
    """Contract `estimate`, `figures`: MB/s, seconds, dollars."""

    pair: Figure = Field(alias="pairMBps")
    """What one pair of relays carries."""
    pair_spread: Figure
    """How much pairs differ: standard deviation over mean."""
    spawn: Figure = Field(alias="spawnSeconds")
    """T_v: from asking for a relay until it carries data."""
    lanes: Figure | None = Field(default=None, alias="lanesPerPlanned")
    """How many lanes the sender opens for each that is planned, which makes the tail; absent: no tail is counted."""
    gain: Figure | None = Field(default=None, alias="pairGain")
    """What each pair after the first adds, in shares of the first (GEO-DMS, Eq. 5); absent: all of it, 1."""
    relay_hour: Figure = Field(alias="relayHourUsd")
    """One relay with its address and disk; mean of both regions."""
    relay_hours: list[Figure] | None = Field(default=None, alias="relayHoursUsd")
    """The same for each stage of relays, at its own region's price; absent where all cost the same."""
    relay_tail: Figure | None = Field(default=None, alias="relayTailSeconds")
    """How much longer relays live than data moves: from their request to the first byte, and until they are ended."""

    def hour_usd(self, stage: int) -> float:
        """Dollars for an hour of one relay of a stage."""
        hours = self.relay_hours or []
        return hours[stage].value if stage < len(hours) else self.relay_hour.value

    @property
    def tail_seconds(self) -> float:
        """Seconds that each relay is paid for beside those of the data."""
        return self.relay_tail.value if self.relay_tail else 0.0

    def pair_at(self, slot: int) -> Figure:
        """What the pair of a slot carries, from 0 on: lent machines come first, and are held to their share."""
        if slot >= len(self.lent):
            return self.pair
        lent = self.lent[slot]
        return least(lent.rate, self.pair) if lent.launches_one else lent.rate

    @property
    def lent_whole(self) -> int:
        """Pairs that need no relay to be launched."""
        return sum(not one.launches_one for one in self.lent)

    def joins(self, slot: int) -> float:
        """Seconds until a pair carries data, by slot from 0: of machines that run there is none to boot."""
        if len(self.lent) <= slot < len(self.lent) + (self.pooled or 0):
            return min(self.spawn.value, POOLED_SECONDS)
        return min(self.spawn.value, LENT_SECONDS) if slot < self.lent_whole else self.spawn.value

    def at(self, bound: Bound) -> "Figures":
        """The figures as if all of them were at their worse (`low`) or their better bound: relays late, paths slow."""
        changes = {name: getattr(self, name).at(bound) for name in ("direct", "pair", *self.of_ends)}
        other: Bound = "high" if bound == "low" else "low"
        changes["spawn"] = self.spawn.at(other)
        if self.lanes:
            changes["lanes"] = self.lanes.at(other)
        if self.gain:
            changes["gain"] = self.gain.at(bound)
        lent = [one.model_copy(update={"rate": one.rate.at(bound)}) for one in self.lent]
        return self.model_copy(update={**changes, "lent": lent})


def most(*figures: Figure) -> Figure:
    """The largest of figures; of equal ones the better known."""
    return max(figures, key=lambda figure: (figure.value, -_BEST_FIRST.index(figure.origin)))


def least(*figures: Figure) -> Figure:
    """The one that limits; of equal ones the better known. What another one holds down, bounds or burst, is lower."""
    first = min(figures, key=lambda figure: (figure.value, _BEST_FIRST.index(figure.origin)))
    # What another one lasts is no bound of what passes while it bursts.
    low, high = min(one.least for one in figures), min(one.greatest if first.burst else one.most for one in figures)
    known = low == high == first.value
    burst = first.burst
    if burst:
        most = min(one.most for one in figures)
        rate = burst.rate.model_copy(
            update={
                "value": min(one.now for one in figures),
                "low": min(one.least_now for one in figures),
                "high": most,
            }
        )
        burst = burst.model_copy(update={"rate": rate}) if most > first.value else None
    return first.model_copy(
        update={"low": None if known else low, "high": None if known else high, "burst": burst},
    )
