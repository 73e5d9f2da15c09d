"""A VM's network caps as htb classes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from local.caps import Caps

FAST_MB_S = 5_000  # where only the other cap is set; above what two cores can move
QUANTUM = 60_000  # bytes that the class with the smaller share may send in its turn, about one packet of 64 KiB
LARGEST_SHARE = 10.0  # 600 kB in a turn: 60 ms of the other class's time at 10 MB/s
SURE = 0.02  # of the card

# TCP packets that only acknowledge: IP header without options, less than 128 bytes, no flag but ACK.
ACKNOWLEDGES = "match ip protocol 6 0xff match u8 0x05 0x0f at 0 match u16 0 0xff80 at 2 match u8 0x10 0xff at 33"

Side = Literal["src", "dst"]


@dataclass(frozen=True)
class Link:
    """Cap of what a VM sends to region `number`, from 0, or receives from it: addresses of that region, MB/s."""

    number: int
    ranges: Sequence[str]
    mb_s: float

    @property
    def class_id(self) -> str:
        """Class id, in hexadecimal digits as `tc` reads them; 1:20 and 1:2f are not among them."""
        return f"1:{0x21 + self.number:x}"


def link_commands(
    caps: Caps, device: str, side: Side, own_ranges: Sequence[str], links: Sequence[Link] = ()
) -> list[list[str]]:
    """Arguments for `tc`: one cap for addresses of the own region (`own_ranges`), one for all others, both below their
    sum's cap; below that for all others one for each of `links`.

    `side` is "dst" on the VM's own device, "src" on the bridge's. MB/s are 10⁶ bytes; tc's "bps" are bytes per second.
    """
    if caps.inter_region_mb_s is None and caps.intra_region_mb_s is None and not links:
        return []
    filters = [
        (f"match ip {side} {cidr}", class_id)
        for class_id, ranges in (("1:10", own_ranges), *((link.class_id, link.ranges) for link in links))
        for cidr in ranges
    ]
    commands = [
        ["qdisc", "add", "dev", device, "root", "handle", "1:", "htb", "default", "2f" if links else "20"],
        *_classes(caps, device, "add", links),
    ]
    if links:
        # Behind data that goes the other way they would wait for that direction's cap, and slow their own down.
        commands.append(_class(device, "1:", "1:3", FAST_MB_S, FAST_MB_S, "add"))
        filters.insert(0, (ACKNOWLEDGES, "1:3"))
    into = ["filter", "add", "dev", device, "parent", "1:", "protocol", "ip", "prio", "1", "u32"]
    return commands + [[*into, *match.split(), "flowid", class_id] for match, class_id in filters]


def change_commands(caps: Caps, device: str, links: Sequence[Link] = ()) -> list[list[str]]:
    """Arguments for `tc` that put other caps in the place of those that `link_commands` has set."""
    return _classes(caps, device, "change", links)


def _classes(caps: Caps, device: str, verb: str, links: Sequence[Link]) -> list[list[str]]:
    inter = caps.inter_region_mb_s or FAST_MB_S
    intra = caps.intra_region_mb_s or FAST_MB_S
    # The network card's own limit holds for both together: what leaves the region is not on top. With credits the
    # card's bucket fills at its baseline and empties at what is sent.
    burst = caps.burst_mb_s
    rate = intra if burst else max(inter, intra)
    card = burst or rate
    other = min(inter, card)
    own = max(card - other, card / 10)
    # By region of the other end, and for regions without a cap of their own.
    below = [(link.class_id, min(link.mb_s, other)) for link in links] + ([("1:2f", other)] if links else [])
    most = min(own, other, *(cap for _, cap in below))
    sure = rate * SURE
    # htb lets each class send what it is sure of even when the card's bucket is empty: so that is next to nothing, and
    # they share by their quantums what the card moves, whether that is its burst or its baseline.
    return [
        _class(device, "1:", "1:1", rate, card, verb, credit=caps.credit_mb or 0.0),
        _class(device, "1:1", "1:10", sure, burst or intra, verb, share=own / most),
        _class(device, "1:1", "1:20", sure, other, verb, share=other / most),
        *(
            _class(device, "1:20", class_id, min(sure / len(below), cap), cap, verb, share=cap / most)
            for class_id, cap in below
        ),
    ]


def _class(
    device: str,
    parent: str,
    class_id: str,
    rate: float,
    ceil: float,
    verb: str,
    credit: float = 0.0,
    share: float = 1.0,
) -> list[str]:
    """`credit`: MB that may be sent at `ceil` before `rate` holds; `share`: of what the classes borrow, at least 1."""
    # A burst of 10 ms at the cap: less throttles below it on a busy machine, more shows in short measurements.
    burst = max(int(ceil * 1e6 * 0.01), 64_000)
    bucket = str(max(int(credit * 1e6), burst))
    limits = ["rate", _rate(rate), "ceil", _rate(ceil), "burst", bucket, "cburst", str(burst)]
    return [
        *("class", verb, "dev", device, "parent", parent, "classid", class_id, "htb"),
        *limits,
        *("quantum", str(int(QUANTUM * min(share, LARGEST_SHARE)))),
    ]


def _rate(mb_s: float) -> str:
    return f"{int(mb_s * 1e6)}bps"
