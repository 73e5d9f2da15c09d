"""AWS's price list: what to ask GetProducts for an item, and how to read its answer."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import Field

from lambdas.core.documents import Handover
from lambdas.core.tariff.prices import PriceItem

_WITHOUT = ("us-gov-", "cn-", "eusc-")


def has_price_list(region: str) -> bool:
    """Return whether credentials of this region may ask for prices in dollars.

    AWS has the API in its commercial partition, and in China with prices in yuan. Credentials of one partition are
    refused in every other one.
    """
    return not region.startswith(_WITHOUT)


class PriceListError(Exception):
    """The answer has not exactly one price for the item; the message names the item and what was found."""


@dataclass(frozen=True)
class Query:
    """One GetProducts call: `filters` by attribute, all exact; what is kept ends its usage type in `usage`."""

    service: str
    filters: Mapping[str, str]
    unit: str
    usage: str = ""


class _Product(Handover):
    attributes: dict[str, str]


class _Dimension(Handover):
    unit: str
    price_per_unit: dict[str, str]


class _Term(Handover):
    price_dimensions: dict[str, _Dimension]


class _Terms(Handover):
    on_demand: dict[str, _Term] = Field(alias="OnDemand", default_factory=dict)


class PriceListDocument(Handover):
    """One entry of `PriceList`, as far as it is read; attributes and terms by AWS's own names."""

    product: _Product
    terms: _Terms

    def prices(self, unit: str) -> set[float]:
        """Nonzero dollars per `unit`, on demand."""
        dimensions = (one for term in self.terms.on_demand.values() for one in term.price_dimensions.values())
        dollars = (float(one.price_per_unit.get("USD", "0")) for one in dimensions if one.unit == unit)
        return {usd for usd in dollars if usd > 0}


def query(item: PriceItem) -> Query | None:
    """What to ask for `item`; None for what the price list is not asked for."""
    match item.what:
        case "instance-hour":
            filters = {
                "regionCode": item.region,
                "instanceType": item.detail,
                "operatingSystem": "Linux",
                "tenancy": "Shared",
                "preInstalledSw": "NA",
                "capacitystatus": "Used",
                "licenseModel": "No License required",
            }
            return Query("AmazonEC2", filters, "Hrs")
        case "egress-gb":
            # By region codes: usage types carry prefixes that follow no rule (Ireland's is EU).
            filters = {
                "fromRegionCode": item.region,
                "toRegionCode": item.detail,
                "transferType": "InterRegion Outbound",
            }
            return Query("AWSDataTransfer", filters, "GB", "-AWS-Out-Bytes")
        case "public-address-hour":
            filters = {"regionCode": item.region, "group": "VPCPublicIPv4Address"}
            return Query("AmazonVPC", filters, "Hrs", "PublicIPv4:InUseAddress")
        case "disk-gb-month":
            filters = {"regionCode": item.region, "productFamily": "Storage", "volumeApiName": "gp3"}
            return Query("AmazonEC2", filters, "GB-Mo", "EBS:VolumeUsage.gp3")
        case _:
            return None


def only_price(item: PriceItem, question: Query, documents: Iterable[str]) -> float:
    """The one nonzero price in the entries of `PriceList`; raises PriceListError."""
    found: set[float] = set()
    for text in documents:
        try:
            document = PriceListDocument.model_validate_json(text)
            if document.product.attributes.get("usagetype", "").endswith(question.usage):
                found |= document.prices(question.unit)
        except ValueError as error:  # pydantic's ValidationError is one
            raise PriceListError(f"{item}: an entry of the price list cannot be read: {error}") from error
    if len(found) != 1:
        prices = ", ".join(f"{usd:g}" for usd in sorted(found)) or "none"
        raise PriceListError(
            f"{item}: exactly one price per {question.unit} expected in the price list, found {prices}"
        )
    return found.pop()
