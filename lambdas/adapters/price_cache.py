"""Prices kept in one object of the control bucket."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from botocore.exceptions import ClientError
from pydantic import ValidationError

from lambdas.adapters.throttling import is_absent
from lambdas.core.documents import Document
from lambdas.core.tariff.prices import Price, PriceItem, What

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

KEY = "prices.json"


class CachedPrice(Document):
    """One price; `as_of` in Unix seconds."""

    what: What
    region: str
    detail: str
    usd: float
    as_of: float


class CachedPrices(Document):
    """Content of the object in the control bucket that keeps prices between executions."""

    schema_version: Literal[1] = 1
    prices: list[CachedPrice]


class S3PriceCache:
    """PriceCache over S3."""

    def __init__(self, client: "S3Client", bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def read(self) -> dict[PriceItem, Price]:
        """See PriceCache; an object that another version wrote counts as none."""
        try:
            body = self._client.get_object(Bucket=self._bucket, Key=KEY)["Body"].read()
            prices = CachedPrices.model_validate_json(body).prices
        except ValidationError:
            return {}
        except ClientError as error:
            if is_absent(error):
                return {}
            raise
        return {PriceItem(one.what, one.region, one.detail): Price(one.usd, "price list", one.as_of) for one in prices}

    def write(self, prices: Mapping[PriceItem, Price]) -> None:
        """See PriceCache."""
        entries = [CachedPrice(**item._asdict(), usd=price.usd, as_of=price.as_of) for item, price in prices.items()]
        document = CachedPrices(prices=entries)
        self._client.put_object(Bucket=self._bucket, Key=KEY, Body=document.to_json().encode())
