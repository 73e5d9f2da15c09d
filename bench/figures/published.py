"""The dissertation's parameters: MB, MB/s, seconds; dollars per hour and per GB."""

from lambdas.core.models.models import Ends, Pair, Parameters

T2_SMALL_HOUR = 0.024
"""Table 4.1 and the mean with Ireland; Table 4.4 prints ten times as much."""
PRINTED_T2_SMALL_HOUR = 0.241
H1_2XLARGE_HOUR = 0.468
EGRESS_GB = 0.02
M4_LARGE_HOUR = 0.1
T2_MICRO_HOUR = 0.0116

T2_SMALL_PAIR = Pair(inter=15, intra=90, spawn_seconds=90)
H1_2XLARGE_PAIR = Pair(inter=30, intra=315, spawn_seconds=90)
M4_LARGE_INTRA = 593 / 8
"""Table 4.2."""
T2_MICRO_PAIR = Pair(inter=107 / 8, intra=595 / 8, spawn_seconds=83)
"""Table 5.4; inside a datacenter it meets an m4.large (Table 4.2)."""


def t2_small(size: float, pairs: int) -> Parameters:
    """Table 4.3: ends and relays are t2.small."""
    return Parameters.uniform(size, pairs, inter=15, intra=90, spawn_seconds=90, split=65)


def h1_ends(size: float, pairs: int, relay: Pair) -> Parameters:
    """4.2.4: ends of h1.2xlarge (Table 4.5) and relays of either type."""
    return Parameters(size, Ends(30, 315, 315), (relay,) * pairs)


def ratio(times: float, pairs: int) -> Parameters:
    """4.2.3: 5 GB over v_e = 10 Mbit/s with v_i `times` as fast; T_v of Table 4.3."""
    return Parameters.uniform(5000, pairs, inter=1.25, intra=1.25 * times, spawn_seconds=90)
