"""A VM's network caps as htb classes. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from local.config import Caps

FAST_MB_S = 5_000  # where only the other cap is set; above what two cores can move
QUANTUM = 60_000  # bytes a class may send in its turn; htb's own choice warns above 200 kB at these rates


def link_commands(caps: Caps, device: str, side: str, own_ranges: Sequence[str]) -> list[list[str]]:
    """Arguments for `tc`: one cap for addresses of the own region (`own_ranges`), one for all others, both below their
    sum's cap.

    `side` is "dst" on the VM's own device, "src" on the bridge's. MB/s are 10⁶ bytes; tc's "bps" are bytes per second.
    """
    if caps.inter_region_mb_s is None and caps.intra_region_mb_s is None:
        return []
    inter = caps.inter_region_mb_s or FAST_MB_S
    intra = caps.intra_region_mb_s or FAST_MB_S
    # The network card's own limit holds for both together: what leaves the region is not on top.
    total = max(inter, intra)
    commands = [
        ["qdisc", "add", "dev", device, "root", "handle", "1:", "htb", "default", "20"],
        _class(device, "1:", "1:1", total, total),
        _class(device, "1:1", "1:10", max(intra - inter, intra / 10), intra),
        _class(device, "1:1", "1:20", inter, inter),
    ]
    for cidr in own_ranges:
        match = ["match", "ip", side, cidr, "flowid", "1:10"]
        commands.append(["filter", "add", "dev", device, "parent", "1:", "protocol", "ip", "prio", "1", "u32", *match])
    return commands


def _class(device: str, parent: str, class_id: str, rate: float, ceil: float) -> list[str]:
    # A burst of 10 ms at the cap: less throttles below it on a busy machine, more shows in short measurements.
    burst = max(int(ceil * 1e6 * 0.01), 64_000)
    limits = ["rate", _rate(rate), "ceil", _rate(ceil), "burst", str(burst), "cburst", str(burst)]
    return [
        "class",
        "add",
        "dev",
        device,
        "parent",
        parent,
        "classid",
        class_id,
        "htb",
        *limits,
        "quantum",
        str(QUANTUM),
    ]


def _rate(mb_s: float) -> str:
    return f"{int(mb_s * 1e6)}bps"
