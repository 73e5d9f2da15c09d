"""TaaS's gains as transfers between two regions have shown them: end to end, and by the pool, over relays of one's own.

a = rate with launched relays / rate of the direct path,   c = rate with launched relays / rate through the pool
"""

from lambdas.core.estimate.profile import Metric, Profile
from lambdas.core.pool.price import Gains

LEAST_SAMPLES = 3
"""Of each kind of transfer: fewer say more of their ends than of the pool."""


def gains(profile: Profile | None) -> Gains:
    """Those that were learnt (`profile`: of `TRANSFERS`); the paper's until transfers of all three kinds have come."""
    direct, launched, pooled = (_rate(profile, metric) for metric in ("rateDirect", "rateLaunched", "ratePooled"))
    if direct is None or launched is None or pooled is None:
        return Gains()
    return Gains(a=launched / direct, c=launched / pooled)


def _rate(profile: Profile | None, metric: Metric) -> float | None:
    known = profile.known(metric) if profile else None
    if known is None or known.value <= 0:
        return None
    return known.value if known.origin == "configured" or known.samples >= LEAST_SAMPLES else None
