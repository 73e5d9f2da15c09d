"""Service Quotas of one region."""

from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from lambdas.core.tariff.prices import Market
from lambdas.core.tariff.quotas import QUOTA_CODES

if TYPE_CHECKING:
    from mypy_boto3_service_quotas import ServiceQuotasClient


class ServiceQuotas:
    """Quotas over Service Quotas."""

    def __init__(self, client: "ServiceQuotasClient") -> None:
        self._client = client

    def vcpus(self, market: Market) -> float | None:
        """See Quotas; without an answer the launch itself finds the limit."""
        try:
            answer = self._client.get_service_quota(ServiceCode="ec2", QuotaCode=QUOTA_CODES[market])
        except (ClientError, BotoCoreError):
            return None
        return answer["Quota"].get("Value")
