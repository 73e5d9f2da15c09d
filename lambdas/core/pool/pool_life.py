"""The life of a pool node: from which states its item may change, into what, and which attributes the change sets.

    STARTING ── boot ──> STARTING ── get-ready ──> FREE ── give ──> SERVING ── give ──> SERVING
    SERVING ── take-back ──> SERVING         SERVING ── take-last ──> FREE
    FREE, SERVING ── drain ──> DRAINING      DRAINING ── take-back, empty ──> DRAINING
    FREE, SERVING, DRAINING ── measure: the state stays
    STARTING ── fail-to-start ──> ENDED      DRAINING ── end ──> ENDED
    all four that live ── lose, take-down ──> ENDED

A change that comes twice, late or out of order finds another state, or another number of leases, and changes nothing,
which every caller takes as a normal answer. A node that drains never serves again.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from lambdas.core.pool.pool_node import LIVE, MOST_LEASES, OPEN, PoolNode, PoolNodeState

ChangeName = Literal[
    "boot",
    "get-ready",
    "measure",
    "give",
    "take-back",
    "take-last",
    "empty",
    "drain",
    "fail-to-start",
    "end",
    "lose",
    "take-down",
]
Function = Literal[
    "keep-pool",
    "spawn-relays",
    "spawn-measured-relays",
    "await-relays",
    "await-measured-relays",
    "pre-test-relays",
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
# As of a relay's item: a reason is a command's last words at worst.
REASON_CHARACTERS = 1000
END = ("reason", "ended_at", "leases")


class Rule(NamedTuple):
    """Arrows of one name in the diagram; `sets` are the node's fields by their Python names.

    `writers`: the functions that make such a change. `leases`: how many the node must have, least and most.
    """

    writers: frozenset[Function]
    sources: frozenset[PoolNodeState]
    target: PoolNodeState | None
    sets: tuple[str, ...]
    leases: tuple[int, int] = (0, MOST_LEASES)

    @property
    def ends(self) -> bool:
        """Whether the node's machine is given back after it."""
        return self.target == "ENDED"


def _from(*states: PoolNodeState) -> frozenset[PoolNodeState]:
    return frozenset(states)


# Nodes begin and end by one hand. Leases come with relays, by whoever may lease some, and go with them, by whoever ends
# some; what these leave, the keeper takes back.
_KEEPER: frozenset[Function] = frozenset({"keep-pool"})
_NOBODY: frozenset[Function] = frozenset()
_LEASERS: frozenset[Function] = frozenset(
    {"spawn-relays", "spawn-measured-relays", "replace-relay", "grow-relays", "replan-routes"}
)
_ENDERS: frozenset[Function] = frozenset(get_args(Function))

RULES: dict[ChangeName, Rule] = {
    "boot": Rule(_KEEPER, _from("STARTING"), None, ("running_at", "private_address", "public_address")),
    "get-ready": Rule(_KEEPER, _from("STARTING"), "FREE", ("ready_at", "idle_since")),
    # Until somebody measures a node, its type's figure counts.
    "measure": Rule(_NOBODY, _from("FREE", "SERVING", "DRAINING"), None, ("capacity_mb_s",)),
    "give": Rule(_LEASERS, OPEN, "SERVING", ("leases", "epoch", "idle_since"), (0, MOST_LEASES - 1)),
    "take-back": Rule(_ENDERS, _from("SERVING", "DRAINING"), None, ("leases",), (2, MOST_LEASES)),
    "take-last": Rule(_ENDERS, _from("SERVING"), "FREE", ("leases", "idle_since"), (1, 1)),
    "empty": Rule(_ENDERS, _from("DRAINING"), None, ("leases",), (1, 1)),
    "drain": Rule(_KEEPER, OPEN, "DRAINING", ("reason", "drained_at", "idle_since")),
    "fail-to-start": Rule(_KEEPER, _from("STARTING"), "ENDED", END),
    "end": Rule(_KEEPER, _from("DRAINING"), "ENDED", ("ended_at",), (0, 0)),
    "lose": Rule(_KEEPER, LIVE, "ENDED", END),
    "take-down": Rule(_NOBODY, LIVE, "ENDED", END),
}


@dataclass(frozen=True)
class Change:
    """A change of a node's item; `values` by the node's Python names, all that the rule sets.

    `before`: the leases and the epoch that the node must have, where the change counts leases; the item is written on
    that condition, so what was counted from an older item changes nothing.
    """

    name: ChangeName
    values: dict[str, Any]
    before: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if set(self.values) != set(self.rule.sets):
            raise ValueError(f"{self.name} sets {self.rule.sets}, not {tuple(self.values)}")

    @property
    def rule(self) -> Rule:
        """The table's rule for changes of this name."""
        return RULES[self.name]


def boot(running_at: float, private_address: str, public_address: str | None) -> Change:
    """Its instance runs, with these addresses (Unix time, s)."""
    values = {"running_at": running_at, "private_address": private_address, "public_address": public_address}
    return Change("boot", values)


def get_ready(ready_at: float) -> Change:
    """It can take leases from now on."""
    return Change("get-ready", {"ready_at": ready_at, "idle_since": ready_at})


def measure(capacity_mb_s: float) -> Change:
    """It has shown what it forwards, MB/s."""
    return Change("measure", {"capacity_mb_s": capacity_mb_s})


def give(node: PoolNode, most: int) -> Change | None:
    """One lease more; None where it has `most` already, or takes none."""
    if node.state not in OPEN or node.leases >= min(most, MOST_LEASES):
        return None
    return Change("give", {"leases": node.leases + 1, "epoch": node.epoch + 1, "idle_since": None}, _seen(node))


def take_back(node: PoolNode, now: float) -> Change | None:
    """One lease less; None where it has none."""
    if not node.leases:
        return None
    if node.leases > 1:
        return Change("take-back", {"leases": node.leases - 1}, _seen(node))
    if node.state == "DRAINING":
        return Change("empty", {"leases": 0}, _seen(node))
    return Change("take-last", {"leases": 0, "idle_since": now}, _seen(node))


def drain(reason: str, drained_at: float) -> Change:
    """It takes no more leases, and lives on for those that it has."""
    return Change("drain", {"reason": reason[:REASON_CHARACTERS], "drained_at": drained_at, "idle_since": None})


def end(ended_at: float) -> Change:
    """It has drained, and its last lease has gone."""
    return Change("end", {"ended_at": ended_at})


def lose(reason: str, ended_at: float, name: Literal["fail-to-start", "lose", "take-down"] = "lose") -> Change:
    """It carries no more, nor do the leases on it; by `name`, in which states the reason holds."""
    return Change(name, {"reason": reason[:REASON_CHARACTERS], "ended_at": ended_at, "leases": 0})


def after(node: PoolNode, change: Change) -> PoolNode | None:
    """The node after the change; None where it is in another state, or its leases have changed since."""
    least, most = change.rule.leases
    is_another = change.before is not None and _seen(node) != change.before
    if node.state not in change.rule.sources or is_another or not least <= node.leases <= most:
        return None
    return node.model_copy(update={"state": change.rule.target or node.state, **change.values})


def _seen(node: PoolNode) -> tuple[int, int]:
    return node.leases, node.epoch
