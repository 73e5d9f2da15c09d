"""Energy of transfers with relays of their own and through a pool: TaaS's Equations 2 to 4, watt-hours and seconds.

Equation 2 is printed with the node's 200 W multiplied by the extra VMs alone; here all 2 + N count, as in Equation 4.
"""

from collections.abc import Iterable
from math import fsum

from lambdas.core.models.checks import not_negative, positive
from lambdas.core.tariff.energy import watt_hours


def own_relays_wh(applications: int, extra_vms: float, seconds: float) -> float:
    """Equation 2, corrected: each application has both ends and `extra_vms` relays for `seconds`."""
    not_negative("extra_vms", extra_vms, "VMs")
    return watt_hours(applications * (2 + extra_vms) * seconds)


def pool_wh(applications: int, pool_nodes: float, seconds: float, c: float) -> float:
    """Equation 3: the ends of all applications and the pool's nodes, for `c` times the `seconds` of Equation 2."""
    not_negative("pool_nodes", pool_nodes, "nodes")
    return watt_hours((2 * applications + pool_nodes) * seconds * c)


def own_over_pool(applications: int, extra_vms: float, pool_nodes: float, c: float) -> float:
    """Equation 4: how many times the pool's energy users take with relays of their own."""
    positive("applications", applications, "applications")
    positive("c", c, "times")
    return own_relays_wh(applications, extra_vms, 1.0) / pool_wh(applications, pool_nodes, 1.0, c)


def transfer_wh(
    ends: int, data_seconds: float, relay_seconds: Iterable[float] = (), pool_node_seconds: float = 0.0
) -> float:
    """Energy of one transfer.

    `ends`: machines at both ends, while data moves. `relay_seconds`: of each relay that was launched for it, from its
    request to its end. `pool_node_seconds`: its part of the pool's nodes (`node_seconds`); what is idle is the pool's.
    """
    return watt_hours(ends * data_seconds + fsum(relay_seconds) + pool_node_seconds)


def node_seconds(sent_mb: float, capacity_mb_s: float) -> float:
    """Seconds of a whole node that so many MB take, by its capacity."""
    positive("capacity_mb_s", capacity_mb_s, "MB/s")
    return sent_mb / capacity_mb_s
