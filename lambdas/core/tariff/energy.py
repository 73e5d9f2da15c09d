"""The energy that a transfer's machines take, by TaaS' figures for a data centre; watt-hours, seconds.

Nothing of it is measured: an instance counts as a whole node, whatever its size, for as long as the transfer has it.
"""

NODE_WATTS = 200.0
SWITCH_WATTS = 60.0
NODES_PER_SWITCH = 24
# P1 in TaaS' Eq. 1: 202.5 W.
MACHINE_WATTS = NODE_WATTS + SWITCH_WATTS / NODES_PER_SWITCH
ASSUMPTION = f"{MACHINE_WATTS:g} W a machine: a node, and its share of a rack switch for {NODES_PER_SWITCH}"


def watt_hours(machine_seconds: float) -> float:
    """Energy of machines that run so many seconds together: both ends while data moves, relays from request to end."""
    return MACHINE_WATTS * machine_seconds / 3600
