"""What a file system of AWS's charges for a GB that is moved: dollars, the most that it may be, and the least."""

from dataclasses import dataclass
from typing import Literal

from lambdas.core.estimate.figures import Figure
from lambdas.core.survey.served import Served, Told
from lambdas.core.tariff import file_system_prices as prices

# EFS meters 32 KiB of an access to data at least, and 4 KiB of one to metadata.
LEAST_DATA_BYTES, METADATA_BYTES = 32 * 1024, 4 * 1024
# A file of the source is listed, looked up, opened and closed; one of the destination is made in another directory,
# synced, given its times, mode and owner, renamed, and looked at once more.
METADATA_CALLS = {"source": 4, "destination": 10}

Side = Literal["source", "destination"]


@dataclass(frozen=True)
class Load:
    """What is moved: bytes and files; `rereads`: the destination is read again when all is written."""

    size_bytes: int
    files: int
    rereads: bool = False

    @property
    def files_per_byte(self) -> float:
        """None where nothing but empty files is moved, which costs nothing for each GB."""
        return self.files / self.size_bytes if self.size_bytes else 0.0


def charge(side: Side, served: Served, told: Told | None, load: Load) -> Figure:
    """The value is the most that it may be: what a budget has to bear is what is counted."""
    if served.service == "FSx":
        return Figure(value=0.0, origin="published", note=f"{served.words} charges nothing per GB")
    low, high = _least_gb(side, prices.least(served.region), load), _most_gb(side, prices.most(served.region), load)
    if told is None:
        low = 0.0
    elif told.mode != "elastic":
        low = high = 0.0
    # What is written is in Standard, and costs no more when it is read again; a source's files may be in any class.
    high += _cold(told) if side == "source" else 0.0
    mode = told.mode if told else "mode not known"
    asks = f"{'reads' if side == 'source' else 'writes'} ${high:.4g} a GB at most" if high else "charges nothing per GB"
    note = f"{served.words}, {mode}: {asks} (published, {prices.AS_OF})"
    return Figure(value=high, low=low if low < high else None, origin="assumed", note=note)


def _least_gb(side: Side, gb: prices.GbPrices, load: Load) -> float:
    """Dollars for a GB whose files are all as large as the mean, and whose metadata is known already."""
    data = max(load.files_per_byte * LEAST_DATA_BYTES, 1.0)
    return gb.read * data if side == "source" else (gb.write + (gb.read if load.rereads else 0.0)) * data


def _most_gb(side: Side, gb: prices.GbPrices, load: Load) -> float:
    """The same with each file's last access as small as one can be, and with all calls about its metadata."""
    data = 1.0 + load.files_per_byte * LEAST_DATA_BYTES
    metadata = load.files_per_byte * METADATA_CALLS[side] * METADATA_BYTES
    if side == "source":
        return gb.read * (data + metadata)
    return gb.write * (data + metadata) + (gb.read * data if load.rereads else 0.0)


def _cold(told: Told | None) -> float:
    """Dollars for a GB that is read from a colder class, as if all of it were in the coldest that has any."""
    if told is None or told.archive_bytes:
        return prices.ARCHIVE_READ
    return prices.INFREQUENT_READ if told.infrequent_bytes else 0.0
