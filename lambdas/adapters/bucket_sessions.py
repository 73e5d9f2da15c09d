"""Two buckets, with clients of a session each of which is made when it is needed, and again when it expires."""

from collections.abc import Callable, Mapping
from typing import Any

from lambdas.adapters import clients
from lambdas.adapters.bucket_copies import Clients, Place, S3Buckets
from lambdas.core.seats.credentials import BucketPlace, SeatCredentials


def buckets_by_session(
    source: BucketPlace,
    destination: BucketPlace,
    written: Mapping[str, Any],
    session: Callable[[], SeatCredentials],
) -> S3Buckets:
    """Both buckets, each asked at its own region; `written`: how copies are kept there, as a request says it."""

    def renew() -> Clients:
        keys = session()
        there = clients.s3_of_session(destination.region, keys)
        same = source.region == destination.region
        return Clients(there if same else clients.s3_of_session(source.region, keys), there)

    here, there = (Place(place.bucket, place.prefix, place.owner) for place in (source, destination))
    return S3Buckets(here, there, written, renew)
