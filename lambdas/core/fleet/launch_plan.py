"""The launch of one side's relays as a plan: what EC2 is asked for, in order, and what follows each of its answers.

A cheaper place comes first (docs/design/007-fleet.md): the end's own zone with every market and type, then the others.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Network
from typing import NamedTuple

from lambdas.core.fleet.launch_decision import NO_SPOT_ROLE, VCPU_QUOTAS, LaunchDecision
from lambdas.core.tariff.prices import Market
from lambdas.core.tariff.quotas import is_standard


class Way(NamedTuple):
    """A route of a subnet to an IPv4 block; `joins`: through a peering connection or a transit gateway."""

    block: str
    joins: bool


@dataclass(frozen=True)
class Subnet:
    """A subnet that relays may be in; `public`: it has a route to an internet gateway.

    `block`: its addresses, empty where nobody asked. `ways`: its active routes.
    """

    subnet_id: str
    zone: str
    public: bool = True
    block: str = ""
    ways: tuple[Way, ...] = ()

    def reaches(self, other: "Subnet") -> bool:
        """Return whether the narrowest route to another VPC's subnet joins the two."""
        if not other.block:
            return True
        wanted = IPv4Network(other.block)
        blocks = ((IPv4Network(way.block), way.joins) for way in self.ways)
        leading = [(block.prefixlen, joins) for block, joins in blocks if wanted.subnet_of(block)]
        return max(leading, default=(0, False))[1]


@dataclass(frozen=True)
class Step:
    """A kind of instance in a place."""

    market: Market
    instance_type: str
    subnet: Subnet

    def __str__(self) -> str:
        """`spot c6in.large`."""
        return f"spot {self.instance_type}" if self.market == "spot" else self.instance_type


@dataclass(frozen=True)
class Attempt:
    """One RunInstances: at most `count` instances of a step."""

    step: Step
    count: int


@dataclass(frozen=True)
class Setback:
    """A launch that got fewer relays than it asked for; `code` is EC2's, empty where EC2 gave no error."""

    step: Step
    decision: LaunchDecision
    code: str = ""


@dataclass(frozen=True)
class LaunchPlan:
    """Steps left, the next one first; `at_once`: as many as the quota of the next one may still allow."""

    wanted: int
    steps: tuple[Step, ...]
    at_once: int
    launches: tuple[Attempt, ...] = ()
    setbacks: tuple[Setback, ...] = ()

    @property
    def launched(self) -> int:
        """The number of relays that there are."""
        return sum(attempt.count for attempt in self.launches)

    @property
    def attempt(self) -> Attempt | None:
        """The launch to try next; None when all are launched or nothing is left to try."""
        missing = self.wanted - self.launched
        return Attempt(self.steps[0], min(missing, self.at_once)) if missing and self.steps else None

    def after_launch(self, attempt: Attempt, count: int) -> "LaunchPlan":
        """EC2 launched `count`; fewer than asked for is all that it has of this step."""
        done = replace(self, launches=(*self.launches, replace(attempt, count=count)))
        return done if count == attempt.count else done._without(attempt.step, LaunchDecision.ELSEWHERE)

    def after_refusal(self, attempt: Attempt, decision: LaunchDecision, code: str) -> "LaunchPlan":
        """EC2 refused with `code`; `decision` is one of those that leave something to try."""
        if decision is LaunchDecision.FEWER and attempt.count > 1:
            return replace(self, at_once=attempt.count // 2)
        return self._without(attempt.step, decision, code)

    def left_out(self, step: Step) -> "LaunchPlan":
        """Without a step that costs more than the budget bears, wherever it would be."""
        return self._without(step, LaunchDecision.ABOVE_BUDGET)

    def _without(self, step: Step, decision: LaunchDecision, code: str = "") -> "LaunchPlan":
        over = _OVER[decision]
        left = tuple(other for other in self.steps if not over(step, other))
        quota_changes = bool(left) and not _same_quota(step, left[0])
        at_once = self.wanted if quota_changes else self.at_once
        return replace(self, steps=left, at_once=at_once, setbacks=(*self.setbacks, Setback(step, decision, code)))

    def notes(self, region: str) -> list[str]:
        """Return in words why relays are fewer, or others, than were wanted first."""
        found: dict[str, list[str]] = {}
        for setback in self.setbacks:
            kinds = found.setdefault(self._what(setback, region), [])
            if str(setback.step) not in kinds:
                kinds.append(str(setback.step))
        return [what.format(kinds=", ".join(kinds)) for what, kinds in found.items()]

    def _what(self, setback: Setback, region: str) -> str:
        step = setback.step
        match setback.decision:
            case LaunchDecision.FEWER:
                of_spot = "spot " if step.market == "spot" else ""
                quota = f"the quota of {of_spot}vCPUs" if setback.code in VCPU_QUOTAS else f"a limit ({setback.code})"
                return f"{quota} in {region} allowed {self._launched_like(step)} of {self.wanted} relays"
            case LaunchDecision.OTHER_TYPE:
                return f"{step.subnet.zone} does not offer {{kinds}}"
            case LaunchDecision.OTHER_MARKET:
                return NO_SPOT_ROLE
            case LaunchDecision.ABOVE_BUDGET:
                return f"$.objective.maxCostUsd does not bear more relays in {region} as {{kinds}}"
            case LaunchDecision.OTHER_SUBNET:
                return f"no address is left in {step.subnet.subnet_id}"
            case _:
                return f"EC2 has too little capacity in {step.subnet.zone} for {{kinds}}"

    def _launched_like(self, step: Step) -> int:
        return sum(attempt.count for attempt in self.launches if _same_quota(attempt.step, step))


def plan(wanted: int, types: Sequence[str], subnets: Sequence[Subnet], own_zone: str, *, spot: bool) -> LaunchPlan:
    """The plan for `wanted` relays of the first of `types` that is to be had; spot falls back to on-demand.

    `subnets` in order of preference; those of `own_zone` come first whatever their place.
    """
    markets: tuple[Market, ...] = ("spot", "on-demand") if spot else ("on-demand",)
    own = [subnet for subnet in subnets if subnet.zone == own_zone]
    others = [subnet for subnet in subnets if subnet.zone != own_zone]
    steps = [
        Step(market, kind, subnet)
        for group in (own, others)
        for market in markets
        for kind in types
        for subnet in group
    ]
    return LaunchPlan(wanted, tuple(steps), at_once=wanted)


def usable(subnets: Iterable[Subnet], own_subnet: str, *, public: bool) -> list[Subnet]:
    """Return the subnets that relays can serve from, the end's own first; `public`: by way of the internet."""
    found = [subnet for subnet in subnets if subnet.public or not public]
    return sorted(found, key=lambda subnet: (subnet.subnet_id != own_subnet, subnet.zone, subnet.subnet_id))


def _same_quota(one: Step, other: Step) -> bool:
    standard = is_standard(one.instance_type) == is_standard(other.instance_type)
    return one.market == other.market and standard


def _same_offer(one: Step, other: Step) -> bool:
    same_type = one.instance_type == other.instance_type
    return one.market == other.market and same_type and one.subnet.zone == other.subnet.zone


# Which steps are over together with the one that was tried.
_OVER: dict[LaunchDecision, Callable[[Step, Step], bool]] = {
    LaunchDecision.ELSEWHERE: _same_offer,
    LaunchDecision.OTHER_TYPE: lambda one, other: (
        (one.instance_type, one.subnet.zone) == (other.instance_type, other.subnet.zone)
    ),
    LaunchDecision.OTHER_MARKET: lambda one, other: one.market == other.market,
    LaunchDecision.OTHER_SUBNET: lambda one, other: one.subnet == other.subnet,
    LaunchDecision.FEWER: _same_quota,
    LaunchDecision.ABOVE_BUDGET: lambda one, other: (
        (one.market, one.instance_type) == (other.market, other.instance_type)
    ),
}
