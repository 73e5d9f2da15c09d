"""Security-group rules as an nftables ruleset. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from local.facts import fact

INTERNET_MTU, PEERING_MTU = fact("mtu-internet-bytes"), fact("mtu-peering-bytes")
IP_AND_TCP = 40  # bytes of both headers

PROTOCOLS = {"tcp": "tcp", "udp": "udp", "6": "tcp", "17": "udp"}


@dataclass(frozen=True)
class Rule:
    """One permission for one CIDR; protocol "-1" is all, ports are inclusive."""

    protocol: str
    from_port: int | None
    to_port: int | None
    cidr: str


def ruleset(ingress: Sequence[Rule], egress: Sequence[Rule]) -> str:
    """Text for `nft -f`: default drop both ways, answers of allowed connections pass, loopback is free.

    Loopback carries the instance's own metadata service and the AWS endpoint, which no security group governs.
    """
    lines = [
        "table inet cpt",
        "delete table inet cpt",
        "table inet cpt {",
        *_chain("input", "iifname", "saddr", ingress),
        *_chain("output", "oifname", "daddr", egress),
        "}",
    ]
    return "\n".join(lines) + "\n"


def path_mtu(private_range: str) -> str:
    """Text for `nft -f`: what the network takes of a machine whose own MTU is 9 001.

    An internet gateway passes packets of 1 500 bytes on, peering between regions 8 500. Nobody says which were dropped.
    A connection that announces larger segments would stand still with its first full packet. Here its first packet is
    dropped: packets of full size are never seen one by one on a virtual link, which carries them in lots.
    """
    first = "tcp flags & (syn | ack) == syn tcp option maxseg size gt"
    lines = [
        "table ip path {",
        "  chain output {",
        "    type filter hook output priority 10; policy accept;",
        f"    ip daddr 100.64.0.0/10 {first} {INTERNET_MTU - IP_AND_TCP} drop",
        f"    ip daddr 10.0.0.0/8 ip daddr != {private_range} {first} {PEERING_MTU - IP_AND_TCP} drop",
        "  }",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _chain(hook: str, interface: str, side: str, rules: Sequence[Rule]) -> list[str]:
    return [
        f"  chain {hook} {{",
        f"    type filter hook {hook} priority 0; policy drop;",
        f'    {interface} "lo" accept',
        "    ct state established,related accept",
        *(f"    {_match(rule, side)} accept" for rule in dict.fromkeys(rules)),
        "  }",
    ]


def _match(rule: Rule, side: str) -> str:
    address = f"ip {side} {rule.cidr}"
    protocol = PROTOCOLS.get(rule.protocol)
    if protocol is None:
        return f"{address} ip protocol icmp" if rule.protocol in ("icmp", "1") else address
    if rule.from_port is None or rule.from_port < 0:
        return f"{address} meta l4proto {protocol}"
    last = rule.to_port if rule.to_port is not None else rule.from_port
    ports = f"{rule.from_port}" if last == rule.from_port else f"{rule.from_port}-{last}"
    return f"{address} {protocol} dport {ports}"
