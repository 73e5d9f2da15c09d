"""The quotas of vCPUs: GetServiceQuota.

AWS: an account's limits by service and code; a new one may run few vCPUs of standard instances.
Emulator: has no such service; `ec2_launch` keeps to the quota that is told here.
"""

from __future__ import annotations

from typing import Any

from local.config import LocalConfig
from local.patches.json_services import Action, RefusedError, add
from local.patches.upstream import account_id, region_name

QUOTAS = {
    "L-1216C47A": ("on-demand", "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"),
    "L-34B43A08": ("spot", "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests"),
}


def install(config: LocalConfig) -> None:
    """Add the service with the configured quota."""
    add("servicequotas", "ServiceQuotasV20190624", {"GetServiceQuota": _answering(config)})


def _answering(config: LocalConfig) -> Action:
    def get_service_quota(request: dict[str, Any]) -> dict[str, Any]:
        service, code = request.get("ServiceCode"), request.get("QuotaCode", "")
        if service != "ec2" or code not in QUOTAS:
            raise RefusedError("NoSuchResourceException", f"{service} has no quota {code} here")
        market, name = QUOTAS[code]
        return {
            "Quota": {
                "ServiceCode": "ec2",
                "ServiceName": "Amazon Elastic Compute Cloud (Amazon EC2)",
                "QuotaArn": f"arn:aws:servicequotas:{region_name()}:{account_id()}:ec2/{code}",
                "QuotaCode": code,
                "QuotaName": name,
                "Value": float(config.vcpus(market)),
                "Unit": "None",
                "Adjustable": True,
                "GlobalQuota": False,
            }
        }

    return get_service_quota
