"""AWS's price list over GetProducts."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from lambdas.adapters.market import PriceAnswers
from lambdas.core.tariff.price_list import PriceListError, Query, only_price, query
from lambdas.core.tariff.prices import PriceItem

if TYPE_CHECKING:
    from mypy_boto3_pricing import PricingClient

# An estimate waits no longer for prices; what came in time counts, and the next estimate asks for the rest.
MOST_SECONDS = 3.0
WORKERS = 8


class NoPriceList:
    """PriceList where AWS has none: the table that comes with CPT has every price."""

    def ask(self, items: Iterable[PriceItem]) -> PriceAnswers:
        """See PriceList."""
        return PriceAnswers(problems=tuple(f"{item}: this partition has no price list in dollars" for item in items))


class AwsPriceList:
    """PriceList over the Pricing API."""

    def __init__(self, client: "PricingClient", most_seconds: float = MOST_SECONDS) -> None:
        self._client = client
        self._most_seconds = most_seconds

    def ask(self, items: Iterable[PriceItem]) -> PriceAnswers:
        """See PriceList."""
        questions = {item: question for item in items if (question := query(item)) is not None}
        pool = ThreadPoolExecutor(WORKERS)
        asked = {item: pool.submit(self._price, item, question) for item, question in questions.items()}
        wait(asked.values(), self._most_seconds)
        # Calls still under way end by the client's own timeouts.
        pool.shutdown(wait=False, cancel_futures=True)
        dollars, problems = {}, []
        for item, answer in asked.items():
            if answer.cancelled() or not answer.done():
                problems.append(f"{item}: no answer within {self._most_seconds:g} s")
            elif isinstance(found := answer.result(), float):
                dollars[item] = found
            else:
                problems.append(found)
        return PriceAnswers(dollars, tuple(problems))

    def _price(self, item: PriceItem, question: Query) -> float | str:
        """Dollars, or what is wrong: whatever AWS answers, the fallback table still has a price."""
        filters: list[Any] = [
            {"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in question.filters.items()
        ]
        try:
            pages = self._client.get_paginator("get_products").paginate(ServiceCode=question.service, Filters=filters)
            return only_price(item, question, (text for page in pages for text in page["PriceList"]))
        except PriceListError as error:
            return str(error)
        except (ClientError, BotoCoreError) as error:
            return f"{item}: pricing:GetProducts: {error}"
