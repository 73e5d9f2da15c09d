"""The price list: GetProducts.

AWS: answers entries of its price list, each a JSON text of its own, by exact match of attributes, a hundred a page.
Emulator: has no such service.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from local.patches.json_services import RefusedError, add
from local.patches.market.list_prices import Product, products

PAGE = 100


def install() -> None:
    """Add the service."""
    add("pricing", "AWSPriceListService", {"GetProducts": get_products})


def get_products(request: dict[str, Any]) -> dict[str, Any]:
    """See AWS."""
    found = _products(request.get("ServiceCode", ""))
    for wanted in request.get("Filters", []):
        if wanted["Type"] != "TERM_MATCH":
            raise RefusedError("InvalidParameterException", f"filter type {wanted['Type']} is not supported here")
        found = [product for product in found if _value(product, wanted["Field"]) == wanted["Value"]]
    size, start = min(int(request.get("MaxResults") or PAGE), PAGE), int(request.get("NextToken") or 0)
    more = {"NextToken": str(start + size)} if start + size < len(found) else {}
    page = [json.dumps(product) for product in found[start : start + size]]
    return {"FormatVersion": "aws_v1", "PriceList": page, **more}


@cache
def _products(service: str) -> list[Product]:
    return list(products(service))


def _value(product: Product, name: str) -> Any:
    entry = product["product"]
    return entry.get(name) if name == "productFamily" else entry["attributes"].get(name)
