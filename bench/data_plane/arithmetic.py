"""What follows from measured numbers. Pure."""

from collections.abc import Mapping, Sequence

GB = 1e9
# What each packet carries beside its payload: Ethernet; IPv4 and TCP with timestamps. A TLS record of 16 KiB adds 22.
ETHERNET, IP_TCP = 14, 52
RECORD, RECORD_OVERHEAD = 16_384, 22


def bound(cores: int, cpu_seconds_per_gb: Mapping[str, float]) -> float:
    """Bytes per second if every core did nothing but these steps all the time."""
    return cores * GB / sum(cpu_seconds_per_gb.values())


def payload_share(mtu: int) -> float:
    """Payload bytes per byte that a cap counts (Ethernet frames without preamble and checksum)."""
    return (mtu - IP_TCP) / (mtu + ETHERNET) * RECORD / (RECORD + RECORD_OVERHEAD)


def capped_rate(source: float, destination: float, ends: float, pairs: Sequence[float]) -> float:
    """What the caps allow: V_src, V_dst, v_e of the ends, and v_e of each pair, in one unit."""
    return min(source, destination, ends + sum(pairs))


def steady_rate(samples: Sequence[tuple[float, int]], payload: int, begin: float = 0.2, end: float = 0.9) -> float:
    """Payload bytes per second between these shares of the received bytes.

    Samples are (seconds, bytes received so far) of the receiver's device; what is not payload is assumed to be spread
    evenly, as it is among packets of one size. Bytes that came twice make the payload's share smaller, as they should.
    """
    first, total = samples[0][1], samples[-1][1] - samples[0][1]
    inside = [(at, count) for at, count in samples if begin <= (count - first) / total <= end]
    if len(inside) < 2:
        raise ValueError("too few samples for a steady rate")
    (begin_at, begin_count), (end_at, end_count) = inside[0], inside[-1]
    return (end_count - begin_count) / (end_at - begin_at) * payload / total
