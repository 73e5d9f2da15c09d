"""What a request with a bucket at an end may say of relays: they stand beside the machine, and dial S3 from there."""

from collections.abc import Iterator, Mapping
from typing import Any

_ONE_SIDE = "relays stand beside the machine alone"
_NO_RELAY = "S3 copies by itself, and its data passes no relay"
_LEAVE_OUT = "leave it out"
_Refused = tuple[str, object, bool, str, str]


def of_one_bucket(said: Mapping[str, Any]) -> Iterator[_Refused]:
    """Key, value, whether it is refused, why, and what would be right: of a transfer that a machine has a part in."""
    relays = said["relays"]
    pairs, types, through, existing = (relays.get(key) for key in ("pairs", "instanceTypes", "through", "existing"))
    yield "relays.pairs", pairs, isinstance(pairs, dict), _ONE_SIDE, "write one number, of relays there"
    yield "relays.instanceTypes", types, isinstance(types, dict), _ONE_SIDE, "write one list, of types there"
    yield "relays.through", through, through != "none", f"{_ONE_SIDE}, and dial S3 from there", _LEAVE_OUT
    only_ours = "only relays that are launched for the transfer dial S3"
    yield "relays.existing", existing, bool(existing), only_ours, _LEAVE_OUT
    pool = relays.get("pool")
    yield "relays.pool", pool, pool == "only", only_ours, _LEAVE_OUT
    for key in ("maxUsdPerGB", "startBy", "weight"):
        yield f"relays.{key}", relays.get(key), relays.get(key) is not None, only_ours, _LEAVE_OUT
    from_relay_to_relay = "a pre-test measures from relay to relay, and none stands beside S3"
    yield "preTest", True, said["preTest"] is True, from_relay_to_relay, _LEAVE_OUT


def of_two_buckets(said: Mapping[str, Any]) -> Iterator[_Refused]:
    """The same where S3 copies."""
    relays = said["relays"]
    for key, free in (("pairs", ("auto", 0)), ("through", ("none",)), ("existing", ([],))):
        yield f"relays.{key}", relays[key], relays[key] not in free, _NO_RELAY, _LEAVE_OUT
    for key in ("maxUsdPerGB", "startBy", "weight"):
        yield f"relays.{key}", relays.get(key), relays.get(key) is not None, _NO_RELAY, _LEAVE_OUT
    is_tested = f"{_NO_RELAY}, and relays are what is tested"
    yield "preTest", True, said["preTest"] is True, is_tested, _LEAVE_OUT
