"""What EFS charges for data that is read and written, dollars per GB (10^9 bytes); FSx charges by the month alone.

Gathered by hand on `AS_OF` (docs/shared-file-systems.md, sources): AWS's price list is not asked.
"""

from typing import NamedTuple

AS_OF = "2026-11-29"


class GbPrices(NamedTuple):
    """Of Elastic throughput."""

    read: float
    write: float


_BY_REGION = {"us-east-1": GbPrices(0.03, 0.06), "eu-west-1": GbPrices(0.03, 0.07)}
_LEAST = GbPrices(min(one.read for one in _BY_REGION.values()), min(one.write for one in _BY_REGION.values()))
# São Paulo, the dearest of the commercial regions, asks 1.62 times Oregon's price of a t3.
_ELSEWHERE = 1.62
_MOST = GbPrices(0.03 * _ELSEWHERE, 0.07 * _ELSEWHERE)
# For each GB read of Infrequent Access, with any throughput; of Archive three times as much, as its storage is colder.
INFREQUENT_READ = 0.01
ARCHIVE_READ = 0.03


def least(region: str) -> GbPrices:
    """What a region charges at least."""
    return _BY_REGION.get(region, _LEAST)


def most(region: str) -> GbPrices:
    """What it charges at most: more than that is known of none."""
    return _BY_REGION.get(region, _MOST)
