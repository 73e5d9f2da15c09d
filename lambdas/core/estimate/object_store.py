"""What S3 takes or serves, and asks for that: figures of a bucket at an end of a transfer.

Rates are those that AWS publishes in its performance guidelines for S3; numbers of requests are those of the daemon.
"""

from dataclasses import replace
from math import ceil

from lambdas.core.chunks.object_parts import UNKNOWN_BYTES, USUAL_BYTES
from lambdas.core.chunks.plan import MIB, SMALL_FILE_BYTES
from lambdas.core.ends.bucket import BucketEnd, DestinationBucket
from lambdas.core.ends.kinds import DestinationEnd, SourceEnd
from lambdas.core.estimate import measured
from lambdas.core.estimate.figures import STORE_NOTE, EndFigures, Figure, least
from lambdas.core.estimate.profile import Profile
from lambdas.core.estimate.type_choice import Offer
from lambdas.core.tariff import fallback_prices, storage_classes
from lambdas.core.tariff.prices import PriceBook
from lambdas.core.words import size

# "85-90 MB/s of desired network throughput" for each request that is under way.
REQUEST_MB_S = 85.0
# Parts that a receiver sends at once, and ranges that a sender's lanes ask for.
REQUESTS_AT_ONCE = 16
# "At least 3,500 PUT/COPY/POST/DELETE or 5,500 GET/HEAD requests per second per partitioned prefix"; each object that
# is read is asked for what it is as well. A request of a small object takes 30 ms or more.
WRITES_A_SECOND, READS_A_SECOND = 3_500.0, 5_500.0 / 2
SMALL_A_SECOND, LEAST_SMALL_A_SECOND = 1_000.0, 100.0
KEYS_OF_A_LISTING = 1_000
# Both daemons are on one machine: each has half of its processors.
_SHARE = 0.5


def with_bucket(
    ends: EndFigures,
    source: SourceEnd,
    destination: DestinationEnd,
    chunk_mib: int | None,
    size_bytes: int,
    files: int,
    relays: int = 0,
) -> EndFigures:
    """`ends`, one of which is a bucket: it moves what S3 does, and its seats share the other end's machines.

    S3 publishes at which rate it serves a request, and no sum. So that holds each way down, and in all S3 moves what
    all ways do that there may be: those of the machines, and those of `relays`, the most.
    """
    if not (isinstance(source, BucketEnd) or isinstance(destination, BucketEnd)):
        return ends
    is_read = isinstance(source, BucketEnd)
    machines = max(1, len(source.machine_ids) + len(destination.machine_ids))
    whose = f"by each of {machines} machines" if machines > 1 else ""
    more = f"{whose or 'by the machine'} and through each of {relays} relays"
    direct, store = _held(ends.direct, _served(machines, whose)), _served(machines + relays, more if relays else whose)
    if direct.most > store.value:
        store = direct
    changes: dict[str, Figure | None] = {
        "store": store,
        "source" if is_read else "destination": store,
        "direct": direct,
    }
    for name in ("source_processor", "destination_processor"):
        figure: Figure | None = getattr(ends, name)
        changes[name] = figure and figure.scaled(
            _SHARE, f"{figure.note}; half of it, as both daemons are on one machine"
        )
    storage_class = destination.storage_class if isinstance(destination, DestinationBucket) else None
    chunk_bytes = chunk_mib * MIB if chunk_mib else UNKNOWN_BYTES if is_read else USUAL_BYTES
    counted = requests(size_bytes, files, chunk_bytes, machines, is_read=is_read, storage_class=storage_class)
    changes["requests"] = Figure(value=counted.usd, origin="assumed", note=f"{counted.words}: embedded table")
    return ends.model_copy(update=changes)


def offered(offer: Offer) -> Offer:
    """Relays that dial S3: of each as much as S3 serves of the requests that go through it."""
    of_relay = _served(1, "through each relay")
    published = offer.published and _held(offer.published, of_relay)
    return replace(offer, pair=_held(offer.pair, of_relay), published=published)


def _served(ways: int, whose: str) -> Figure:
    """What S3 serves of the requests of so many ways."""
    at_once = " ".join(filter(None, (f"{REQUESTS_AT_ONCE} requests at once", whose)))
    value, note = REQUEST_MB_S * REQUESTS_AT_ONCE * ways, f"{STORE_NOTE}{at_once} at {REQUEST_MB_S:g} MB/s"
    return Figure(value=value, origin="published", note=note)


def _held(rate: Figure, served: Figure) -> Figure:
    """What a way carries; one that was measured has shown what S3 serves."""
    is_known = rate.origin_now in ("measured", "configured") and not rate.is_set_by_request
    return rate if is_known else least(rate, served)


def with_objects(
    ends: EndFigures, size_bytes: int, files: int, machines: Profile | None, *, is_read: bool
) -> EndFigures:
    """`ends` with what S3 takes or serves of objects, where these are small."""
    mean = size_bytes / files if files else 0.0
    if not 0 < mean < SMALL_FILE_BYTES:
        return ends
    most = READS_A_SECOND if is_read else WRITES_A_SECOND
    known = measured.figure(machines, "files", "this machine and this bucket") or Figure(
        value=SMALL_A_SECOND,
        low=LEAST_SMALL_A_SECOND,
        high=most,
        origin="assumed",
        note=f"S3 bears {most:,.0f} a second below a prefix at least",
    )
    note = f"{files:,} objects of {size(mean)}, {known.value:,.0f} a second ({known.note})"
    return ends.model_copy(update={"files": known.scaled(mean / 1e6, note)})


class Requests:
    """Numbers of requests by class: those that write or list, and those that read.

    `objects`: the writes that make an object, of `storage_class`.
    """

    def __init__(
        self, writes: int, lists: int, reads: int, *, objects: int = 0, storage_class: str | None = None
    ) -> None:
        self.writes, self.lists, self.reads = writes, lists, reads
        self._objects, self._class = objects, storage_class

    @property
    def usd(self) -> float:
        """Dollars: a listing costs as much as a write."""
        book = PriceBook()
        dear, cheap = book.unit("object-put", "").usd, book.unit("object-get", "").usd
        writes = storage_classes.writes_usd(self._class, self._objects, self.writes - self._objects)
        return writes + self.lists * dear + self.reads * cheap

    @property
    def words(self) -> str:
        """By class, for people."""
        return f"{self.writes:,} writes, {self.lists:,} listings and {self.reads:,} reads of S3"


def requests(
    size_bytes: int, files: int, chunk_bytes: int, machines: int = 1, *, is_read: bool, storage_class: str | None = None
) -> Requests:
    """How many a transfer makes at most; nobody knows beforehand how many of the files are larger than a chunk.

    To a bucket, a file is a write, and each further chunk of it one more, with two that begin and complete the upload.
    Of several machines one notes each upload, and each reads that; an object that they replace is a write and a read
    more, and nobody knows beforehand how many these are.
    From one, each is asked for what it is and read, and each further chunk read.
    """
    lists, more = ceil(files / KEYS_OF_A_LISTING) + 1, size_bytes // chunk_bytes
    if is_read:
        return Requests(0, lists, 2 * files + more)
    large = min(files, more)
    writes, reads = (3, machines * large) if machines > 1 else (2, 0)
    return Requests(files + more + writes * large, lists, reads, objects=files, storage_class=storage_class)


def stored_usd_per_day(size_bytes: float) -> float:
    """Dollars for a day of so many bytes in uploads that are not completed: they count like objects."""
    return size_bytes / 1e9 * fallback_prices.BUCKET_GB_MONTH * 12 / 365
