"""The life of a node: from which states a relay's item may change, into what, and which attributes the change sets.

    SPAWNED ── boot, answer ──> SPAWNED ── start ──> READY ── join ──> JOINED
    READY ── measure ──> READY               READY ── reject ──> REJECTED
    READY, JOINED ── drain ──> DRAINING      SPAWNED ── fail-to-start ──> LOST
    SPAWNED, READY ── discard ──> LOST       all four that live ── lose, release ──> LOST
    all four that live ── take-down ──> TERMINATED
    DRAINING, LOST, TERMINATED ── succeed, stay-alone: the state stays

A change that comes twice, late or out of order finds another state and changes nothing, which every caller takes as a
normal answer. `release` is `lose` for a relay that could have gone on and that nobody is to replace.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from lambdas.core.fleet.relay_node import LIVE_STATES, Node, NodeState

ChangeName = Literal[
    "boot",
    "answer",
    "start",
    "measure",
    "reject",
    "join",
    "drain",
    "fail-to-start",
    "discard",
    "lose",
    "release",
    "take-down",
    "succeed",
    "stay-alone",
]
Function = Literal[
    "spawn-relays",
    "await-relays",
    "pre-test-relays",
    "join-relays",
    "spawn-measured-relays",
    "await-measured-relays",
    "measure-relays",
    "decide-relays",
    "replace-relay",
    "grow-relays",
    "replan-routes",
    "reconcile",
    "release-relays",
    "tear-down",
    "teardown-request",
    "sweep-execution",
]
# A reason is a command's last words at worst; an item of the table holds 400 KB in all.
REASON_CHARACTERS = 1000
RATES = ("measured_inter_region", "measured_intra_region", "measured_hop")
END = ("reason", "ended_at")


class Rule(NamedTuple):
    """Arrows of one name in the diagram; `sets` are the node's fields by their Python names.

    `writers`: the functions that make such a change; nobody else may write node items at all. Without a target the
    state stays what it is.
    """

    writers: frozenset[Function]
    sources: frozenset[NodeState]
    target: NodeState | None
    sets: tuple[str, ...]

    @property
    def ends(self) -> bool:
        """Whether the relay's machine is given back after it."""
        return self.target is not None and self.target not in LIVE_STATES


def _from(*states: NodeState) -> frozenset[NodeState]:
    return frozenset(states)


# Whoever starts relays waits for them too, and gives up those that do not come.
_CHANGERS: frozenset[Function] = frozenset({"replace-relay", "grow-relays", "replan-routes"})
STARTERS: frozenset[Function] = frozenset({*_CHANGERS, "await-relays", "await-measured-relays"})
# Whoever decides that there are to be fewer.
RELEASERS: frozenset[Function] = frozenset({*_CHANGERS, "decide-relays", "reconcile"})
LEASERS: frozenset[Function] = frozenset({*_CHANGERS, "spawn-relays", "spawn-measured-relays"})
"""Who puts new items."""
_TESTERS: frozenset[Function] = frozenset({"pre-test-relays", "measure-relays"})
_JOINERS: frozenset[Function] = frozenset({*STARTERS, "join-relays"})
_DISCARDERS: frozenset[Function] = frozenset({*STARTERS, *LEASERS, *_TESTERS, "reconcile"})
_ENDERS: frozenset[Function] = frozenset({"release-relays", "tear-down", "teardown-request", "sweep-execution"})

RULES: dict[ChangeName, Rule] = {
    "boot": Rule(STARTERS, _from("SPAWNED"), "SPAWNED", ("running_at", "public_address", "private_address")),
    "answer": Rule(STARTERS, _from("SPAWNED"), "SPAWNED", ("online_at",)),
    "start": Rule(STARTERS, _from("SPAWNED"), "READY", ("ready_at", "port")),
    "measure": Rule(_TESTERS, _from("READY"), "READY", RATES),
    "reject": Rule(_TESTERS, _from("READY"), "REJECTED", RATES + END),
    "join": Rule(_JOINERS, _from("READY"), "JOINED", ("joined_at",)),
    "drain": Rule(RELEASERS, _from("READY", "JOINED"), "DRAINING", ("reason",)),
    "fail-to-start": Rule(STARTERS, _from("SPAWNED"), "LOST", END),
    "discard": Rule(_DISCARDERS, _from("SPAWNED", "READY"), "LOST", END),
    "lose": Rule(STARTERS, LIVE_STATES, "LOST", END),
    "release": Rule(RELEASERS, LIVE_STATES, "LOST", (*END, "not_replaced")),
    "take-down": Rule(_ENDERS, LIVE_STATES, "TERMINATED", ("ended_at",)),
    "succeed": Rule(frozenset({"replace-relay"}), _from("DRAINING", "LOST", "TERMINATED"), None, ("successor",)),
    "stay-alone": Rule(RELEASERS, _from("DRAINING", "LOST", "TERMINATED"), None, ("not_replaced",)),
}


@dataclass(frozen=True)
class Change:
    """A change of a node's item; `values` by the node's Python names, all that the rule sets."""

    name: ChangeName
    values: dict[str, Any]

    def __post_init__(self) -> None:
        if set(self.values) != set(self.rule.sets):
            raise ValueError(f"{self.name} sets {self.rule.sets}, not {tuple(self.values)}")

    @property
    def rule(self) -> Rule:
        """The table's rule for changes of this name."""
        return RULES[self.name]


def boot(running_at: float, private_address: str, public_address: str | None) -> Change:
    """Its instance runs, with these addresses (Unix time, s)."""
    return Change(
        "boot", {"running_at": running_at, "private_address": private_address, "public_address": public_address}
    )


def answer(online_at: float) -> Change:
    """Its agent takes commands."""
    return Change("answer", {"online_at": online_at})


def start(ready_at: float, port: int) -> Change:
    """Its daemon listens on a port."""
    return Change("start", {"ready_at": ready_at, "port": port})


def measure(inter_region: float, intra_region: float, hop: float | None = None) -> Change:
    """The pre-test has measured its path: the slowest hop between relays, the one to the first, and its own, MB/s."""
    return Change("measure", dict(zip(RATES, (inter_region, intra_region, hop), strict=True)))


def reject(inter_region: float, intra_region: float, reason: str, ended_at: float, hop: float | None = None) -> Change:
    """The pre-test has measured its path, and others are better."""
    return Change("reject", {**measure(inter_region, intra_region, hop).values, **_end(reason, ended_at)})


def join(joined_at: float) -> Change:
    """It is in the membership from now on, and carries data."""
    return Change("join", {"joined_at": joined_at})


def drain(reason: str) -> Change:
    """It leaves the membership, and lives on for what is under way."""
    return Change("drain", {"reason": reason[:REASON_CHARACTERS]})


def lose(reason: str, ended_at: float, name: Literal["fail-to-start", "discard", "lose"] = "lose") -> Change:
    """It carries no more; by `name`, in which states the reason holds."""
    return Change(name, _end(reason, ended_at))


def release(reason: str, ended_at: float) -> Change:
    """It could go on, and is given up without a successor."""
    return Change("release", {**_end(reason, ended_at), "not_replaced": reason[:REASON_CHARACTERS]})


def take_down(ended_at: float) -> Change:
    """Its transfer has ended."""
    return Change("take-down", {"ended_at": ended_at})


def succeed(successor: str) -> Change:
    """The relay of this id works in its place."""
    return Change("succeed", {"successor": successor})


def stay_alone(reason: str) -> Change:
    """Nobody works in its place, for this reason."""
    return Change("stay-alone", {"not_replaced": reason[:REASON_CHARACTERS]})


def after(node: Node, change: Change) -> Node | None:
    """The node after the change; None where it is in another state."""
    if node.state not in change.rule.sources:
        return None
    return node.model_copy(update={"state": change.rule.target or node.state, **change.values})


def _end(reason: str, ended_at: float) -> dict[str, Any]:
    return {"reason": reason[:REASON_CHARACTERS], "ended_at": ended_at}
