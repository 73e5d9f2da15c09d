"""What S3 asks for writing and keeping objects of each storage class: published figures, no price list is asked.

Dollars in us-west-2 (https://aws.amazon.com/s3/pricing/), gathered on `fallback_prices.AS_OF`; least sizes and
times are those of S3's user guide ("Understanding and managing Amazon S3 storage classes").
"""

from collections.abc import Mapping
from typing import NamedTuple

from lambdas.core.ends.object_writing import ARCHIVES
from lambdas.core.tariff import fallback_prices
from lambdas.core.words import dollars, many, size

STANDARD = "STANDARD"
# Of an object in an archive: 32 KB of its index there, and 8 KB of its name in S3 Standard.
INDEX_KB, NAME_KB = 32, 8


class ClassPrice(NamedTuple):
    """Dollars of a request that makes an object, and of a GB (10^9 bytes) for a month.

    An object is billed for `least_bytes` and for `least_days` at least.
    """

    write: float
    gb_month: float
    least_days: int = 0
    least_bytes: int = 0


_KB_128 = 128 << 10
_PRICES: Mapping[str, ClassPrice] = {
    STANDARD: ClassPrice(fallback_prices.OBJECT_PUT, fallback_prices.BUCKET_GB_MONTH),
    "INTELLIGENT_TIERING": ClassPrice(fallback_prices.OBJECT_PUT, fallback_prices.BUCKET_GB_MONTH),
    "STANDARD_IA": ClassPrice(0.01 / 1e3, 0.0125, 30, _KB_128),
    "ONEZONE_IA": ClassPrice(0.01 / 1e3, 0.01, 30, _KB_128),
    "GLACIER_IR": ClassPrice(0.02 / 1e3, 0.004, 90, _KB_128),
    "GLACIER": ClassPrice(0.03 / 1e3, 0.0036, 90),
    "DEEP_ARCHIVE": ClassPrice(0.05 / 1e3, 0.00099, 180),
}


def price_of(storage_class: str | None) -> ClassPrice:
    """Of one class; None: S3 Standard."""
    return _PRICES[storage_class or STANDARD]


def writes_usd(storage_class: str | None, objects: int, others: int = 0) -> float:
    """Dollars of requests that make so many objects, and of others that begin uploads and send parts of them.

    Into an archive these others are S3 Standard's, as the parts are until the object is complete.
    """
    own = price_of(storage_class).write
    of_others = fallback_prices.OBJECT_PUT if storage_class in ARCHIVES else own
    return objects * own + others * of_others


def words(storage_class: str | None, size_bytes: float, objects: int) -> str | None:
    """What keeping them costs, and what is billed at least; None where the request names no other class."""
    if storage_class is None or storage_class == STANDARD:
        return None
    price = price_of(storage_class)
    told = [f"in {storage_class} {many(objects, 'object')} of {size(size_bytes)} cost "]
    told[0] += f"{dollars(size_bytes / 1e9 * price.gb_month)} a month"
    if price.least_days:
        told.append(f"each is billed for {price.least_days} days at least")
    if price.least_bytes:
        told.append(f"one of less than {price.least_bytes >> 10} KB as one of {price.least_bytes >> 10} KB")
    if storage_class in ARCHIVES:
        told.append(f"each counts {INDEX_KB + NAME_KB} KB more")
    if storage_class == "INTELLIGENT_TIERING":
        told.append("less for what nobody reads for 30 days, and $0.0025 a month for watching 1,000 objects")
    return "; ".join(told)
