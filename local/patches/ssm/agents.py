"""DescribeInstanceInformation: the agents that have registered.

AWS: an instance is listed once its agent has registered, with what the agent says of its machine.
Emulator: lists every instance that it knows.
"""

from __future__ import annotations

import time
from typing import Any

from local.instances.fleet import Fleet
from local.patches.upstream import region_name


def describe(fleet: Fleet, data: dict[str, Any]) -> dict[str, Any]:
    """The agents of the region that are online; the filter by id is the only one that is known."""
    wanted = {
        item.get("Key") or item.get("key"): set(item.get("Values") or item.get("valueSet") or [])
        for item in [*(data.get("Filters") or []), *(data.get("InstanceInformationFilterList") or [])]
    }
    ids = wanted.get("InstanceIds")
    return {
        "InstanceInformationList": [
            {
                "InstanceId": instance.instance_id,
                "PingStatus": "Online",
                "LastPingDateTime": time.time(),
                "AgentVersion": "3.3.3050.0",
                "IsLatestVersion": True,
                "PlatformType": "Linux",
                "PlatformName": "Amazon Linux",
                "PlatformVersion": "2023",
                "ResourceType": "EC2Instance",
                "IPAddress": instance.private_address,
                "ComputerName": instance.instance_id,
            }
            for instance in fleet.live()
            if instance.online and instance.region == region_name() and (ids is None or instance.instance_id in ids)
        ]
    }
