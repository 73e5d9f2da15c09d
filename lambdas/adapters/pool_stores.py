"""What handlers need of the pool's table, as protocols: nodes and leases, and what they cost and are paid."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from lambdas.core.fleet.relay_node import Node
from lambdas.core.pool.lease_share import LeaseShare
from lambdas.core.pool.month_account import MonthAccount, PoolCharge
from lambdas.core.pool.place_in_queue import QueuedTransfer
from lambdas.core.pool.pool_life import Change as PoolChange
from lambdas.core.pool.pool_node import Lease, LeaseLimit, PoolNode
from lambdas.core.pool.region_price import RegionPrice
from lambdas.core.pool.size import Need


class PoolStore(Protocol):
    """The pool's table: nodes by region, and of each node its leases, its keepalive and what it says."""

    def nodes(self, region: str) -> list[PoolNode]:
        """All nodes of a region that are not forgotten, by a consistent read."""

    def put(self, node: PoolNode) -> bool:
        """Write a new node; False when there is one, which stays as it is."""

    def change(self, node: PoolNode, change: PoolChange) -> PoolNode | None:
        """One arrow of the node's life; None where the item is in another state, or its leases have changed."""

    def forget(self, node: PoolNode) -> None:
        """Remove a node that has ended, with all that is written for it."""

    def standing(self, node: PoolNode) -> tuple[list[Lease], float | None]:
        """Its leases, ended ones included, and when it said last that it lives; by a consistent read."""

    def lease(self, relay: Node) -> Lease | None:
        """The lease that a transfer's relay stands for."""

    def give(self, node: PoolNode, change: PoolChange, lease: Lease) -> bool:
        """Count a lease in the node's item and write it, both or neither; False where the node has moved on."""

    def take_back(self, node: PoolNode, change: PoolChange | None, lease: Lease, now: float) -> bool:
        """End a lease, and count it out of the node's item, both or neither; False where either has moved on.

        Without a change the node has ended, and counts no leases.
        """

    def command(self, relay: Node, command: str) -> bool:
        """Tell the node what the lease's daemon is to do; False where the lease has ended."""

    def renew(self, node: PoolNode, lease: Lease, until: float) -> None:
        """Put the end of the lease off; one that was taken back stays so."""

    def limit(self, node: PoolNode, lease: Lease, limit: LeaseLimit, guarantee_mb_s: float) -> None:
        """Tell the node another limit, and what it falls back to; a lease that was taken back keeps its own."""

    def shares(self, region: str) -> dict[str, LeaseShare]:
        """What the last division has kept of leases."""

    def put_shares(self, region: str, shares: Mapping[str, LeaseShare]) -> None:
        """Keep it for the next one."""

    def forget_lease(self, node: PoolNode, lease: Lease) -> None:
        """Remove the item of a lease of which nothing runs any more."""

    def keep_alive(self, node: PoolNode, until: float) -> None:
        """The pool wants the node until then."""

    def begin_look(self, region: str, now: float, until: float) -> bool:
        """Look alone until then; False while another look, which has not ended, may go on: that one is told."""

    def is_called_again(self, region: str, until: float) -> bool:
        """Whether another look was turned away since this was asked last."""

    def end_look(self, region: str, until: float) -> None:
        """Let others look; one that has begun since, as this took too long, goes on alone."""

    def needs(self, region: str) -> list[Need]:
        """What was wanted at earlier looks."""

    def put_needs(self, region: str, needs: Sequence[Need]) -> None:
        """Keep it for the next look."""


class PoolAccounts(Protocol):
    """What the pool costs and is paid, in the pool's table."""

    def price(self, region: str) -> RegionPrice | None:
        """What the last look at a region has found; None before there was one."""

    def put_price(self, price: RegionPrice) -> None:
        """Keep it until the next look."""

    def month(self, region: str, month: str) -> MonthAccount | None:
        """What looks of a month have counted."""

    def put_month(self, account: MonthAccount, before: MonthAccount | None) -> bool:
        """Keep it in place of what was read before; False where another look has counted meanwhile."""

    def queue(self) -> list[QueuedTransfer]:
        """Who asks for leases, and who has some, in all regions; those that are over included."""

    def queue_up(self, place: QueuedTransfer) -> None:
        """Keep a transfer's place, over an earlier one."""

    def forget_place(self, place: QueuedTransfer) -> None:
        """Remove it."""

    def charges(self, month: str) -> list[PoolCharge]:
        """What executions have paid that were reported in a month."""

    def charge(self, charge: PoolCharge) -> None:
        """Keep what an execution has paid; of one that is reported again the later word."""
