"""What holds an end back beside its network, MB/s: its disk, its processors, and the making of small files."""

from typing import TypeVar

from lambdas.core.chunks.plan import SMALL_FILE_BYTES
from lambdas.core.estimate import measured
from lambdas.core.estimate.figures import Burst, EndFigures, Figure
from lambdas.core.estimate.profile import Profile
from lambdas.core.tariff import processor_credits
from lambdas.core.tariff.instance_types import TypeFacts
from lambdas.core.words import size

_Ends = TypeVar("_Ends", bound=EndFigures)
Facts = tuple[TypeFacts | None, TypeFacts | None]
"""Of the source's and of the destination's type."""

# What EBS lets a machine read and write above its baseline: 30 minutes of each day at least, unless they are used up.
EBS_BURST_SECONDS = 30 * 60
# A gp2 volume of up to 33 GB whose credits are used up makes 100 operations of 256 KiB in a second.
LEAST_VOLUME_MB_S = 25.0
# Reading, BLAKE3 and TLS: 1 179 MB/s with a core for each end (docs/design/003), and a vCPU is half a core. Processors
# without AVX-512 or AES in hardware may do half of it, those whose vCPU is a core (Graviton) twice as much.
VCPU_MB_S, LEAST_VCPU_MB_S, MOST_VCPU_MB_S = 600.0, 300.0, 1200.0
# With checksums in place of BLAKE3, either end: 0.59 for 0.72 s of a core for a GB, 0.91 for 1.10 (docs/design/055).
CHECKSUM_GAIN = 1.2
# Made, written, synced and renamed: 34 200 in memory (docs/design/003), 1 000 on a volume of 3 000 operations a second.
FILES_PER_SECOND, LEAST_FILES_PER_SECOND, MOST_FILES_PER_SECOND = 10_000.0, 1_000.0, 34_200.0


def with_disks(
    ends: EndFigures,
    read_mb_s: float | None,
    write_mb_s: float | None,
    facts: Facts = (None, None),
    *,
    readback: bool = False,
) -> EndFigures:
    """`ends` with what the survey saw of the disks in 0.3 s, MB/s: a burst, until something is known to last.

    With `readback` the destination's disk reads all that it wrote, and takes half as much.
    """
    written = _disk(write_mb_s, "unnamed file", facts[1])
    if written and readback:
        written = written.scaled(0.5, f"half of it, since all is read again: {written.note}")
    disks = {"source_disk": _disk(read_mb_s, "largest file", facts[0]), "destination_disk": written}
    return ends.model_copy(update=disks)


def _disk(rate: float | None, what: str, facts: TypeFacts | None) -> Figure | None:
    if not rate:
        return None
    seen = Figure(value=rate, origin="measured", note=f"{what}, 0.3 s in the survey")
    if facts is None or not 0 < facts.disk < rate or rate > facts.peak_disk:
        # The volume itself is the limit, or it is none of EBS: a disk of the machine, which has no credits.
        is_volume = facts is not None and rate <= facts.peak_disk
        return seen.model_copy(update={"low": min(rate, LEAST_VOLUME_MB_S)}) if is_volume else seen
    most = (rate - facts.disk) * EBS_BURST_SECONDS
    credit = Figure(value=most, low=0, origin="published", note="30 min of a day, unless they are used up")
    note = f"{facts.instance_type}: EBS baseline {facts.disk:g} MB/s"
    return Figure(value=facts.disk, burst=Burst(rate=seen, credit=credit), origin="published", note=note)


def with_processors(ends: EndFigures, facts: Facts, *, checksum: bool = False) -> EndFigures:
    """`ends` with what their processors hash and encrypt, MB/s; nothing for a type that EC2 does not describe.

    With `checksum` they do not hash.
    """
    known = ends.model_copy(
        update={
            name: _processor(one) if one else None
            for name, one in zip(("source_processor", "destination_processor"), facts, strict=True)
        }
    )
    return with_checksums(known) if checksum else known


def with_checksums(ends: _Ends) -> _Ends:
    """`ends`, whose processors are those that hash, with checksums in place of that."""
    processors = {"source_processor": ends.source_processor, "destination_processor": ends.destination_processor}
    note = f"{CHECKSUM_GAIN:g} times as much by checksum"
    return ends.model_copy(
        update={name: one.scaled(CHECKSUM_GAIN, f"{one.note}; {note}") for name, one in processors.items() if one}
    )


def _processor(facts: TypeFacts) -> Figure:
    """A T2 is held to its share once its credits are used up; other T types may spend what they have not earned."""
    rate = Figure(
        value=facts.vcpus * VCPU_MB_S,
        low=facts.vcpus * LEAST_VCPU_MB_S,
        high=facts.vcpus * MOST_VCPU_MB_S,
        origin="assumed",
        note=f"{facts.instance_type}: {facts.vcpus} vCPUs at {VCPU_MB_S:g} MB/s",
    )
    earned = processor_credits.earned(facts.instance_type)
    if earned is None:
        return rate
    share = earned.share
    bursts = Figure(
        value=earned.day_vcpu_seconds / 2 * VCPU_MB_S,
        low=earned.launch_vcpu_seconds * LEAST_VCPU_MB_S,
        high=earned.day_vcpu_seconds * MOST_VCPU_MB_S,
        origin="assumed",
        note="half a day's credits",
    )
    lasting = {"value": rate.value * share, "low": rate.least * share, "high": rate.greatest * share}
    return rate.model_copy(update={**lasting, "burst": Burst(rate=rate, credit=bursts)})


def with_files(ends: EndFigures, files: int, size_bytes: int, machines: Profile | None) -> EndFigures:
    """`ends` with what they move of so many files, where these are small; `machines`: what the two have shown."""
    mean = size_bytes / files if files else 0.0
    if not 0 < mean < SMALL_FILE_BYTES:
        return ends
    known = measured.figure(machines, "files", "these two machines") or Figure(
        value=FILES_PER_SECOND,
        low=LEAST_FILES_PER_SECOND,
        high=MOST_FILES_PER_SECOND,
        origin="assumed",
        note="as disks differ",
    )
    mb = mean / 1e6
    note = f"{files:,} files of {size(mean)}, {known.value:,.0f} a second ({known.note})"
    rate = Figure(
        value=known.value * mb, low=known.least * mb, high=known.greatest * mb, origin=known.origin, note=note
    )
    return ends.model_copy(update={"files": rate})
