"""`cpt pool`: the relays that stand before anybody asks, and whose leases are on them."""

import json
import re
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

import typer
from botocore.exceptions import ClientError
from rich.box import SIMPLE_HEAD
from rich.table import Table

from cli.aws import Aws, home
from cli.console import Text, make_console, say
from cli.exit_codes import ExitCode
from cli.fitting import Fitted
from cli.options import AsJson, Local
from cli.pool_month import month_of_items, month_table
from lambdas.adapters.codec import decode_item
from lambdas.core.pool.month_account import month_of
from lambdas.core.pool.pool_node import LIVE, Lease, PoolNode
from lambdas.core.pool.region_price import RegionPrice
from lambdas.core.words import duration, size

_NODE, _LEASE = "node#", "lease#"
_KEYS = ("machine", "record")
Told = TypeVar("Told", PoolNode, Lease)


def pool(
    *,
    month: Annotated[
        str | None, typer.Option(help="Show what a month (UTC, e.g. 2026-12) cost, and whom; `now` is this one.")
    ] = None,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Show the nodes of the pool, the transfers that have leases on them, and what it costs; or a month of it."""
    asked = None if month is None else _month(month)
    items = _items(home(local=local))
    if asked is not None:
        found = month_of_items(items, asked)
        if as_json:
            say(found.to_json())
        else:
            make_console().print(month_table(found))
        return
    nodes = sorted(_of(items, _NODE, PoolNode), key=lambda node: (node.region, node.node_id))
    leases = [lease for lease in _of(items, _LEASE, Lease) if lease.is_live]
    if as_json:
        for node in nodes:
            own = [lease.to_document() for lease in leases if lease.node_id == node.node_id]
            say(json.dumps({**node.to_document(), "transfers": [_without_command(one) for one in own]}))
        return
    if not nodes:
        say("the pool has no node yet: cpt-keep-pool launches the first within a minute")
        return
    make_console().print(Fitted(_table(nodes, leases), sentences=["says"]))
    for price in sorted(_prices(items), key=lambda one: one.region):
        say(f"{price.region}: {price.use:.0%} leased; a node costs ${price.vm_usd_per_hour:.4g} an hour")


def _month(given: str) -> str:
    if given == "now":
        return month_of(datetime.now(UTC).timestamp())
    if re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", given) is None:
        say(f"cpt: --month: '{given}' is no month; write a year and a month, e.g. 2026-12, or now", err=True)
        raise typer.Exit(ExitCode.USAGE)
    return given


def _items(aws: Aws) -> list[dict[str, Any]]:
    pages = aws.client("dynamodb").get_paginator("scan").paginate(TableName=f"{aws.deployment}-pool")
    try:
        return [decode_item(item) for page in pages for item in page["Items"]]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceNotFoundException":
            raise
        say(f"cpt: {aws.deployment} keeps no pool: the setting `pool` names its regions (docs/deploy.md)", err=True)
        raise typer.Exit(ExitCode.USAGE) from None


def _of(items: list[dict[str, Any]], kind: str, document: type[Told]) -> list[Told]:
    mine = [item for item in items if str(item["record"]).startswith(kind)]
    return [document.from_document({key: item[key] for key in item if key not in _KEYS}) for item in mine]


def _prices(items: list[dict[str, Any]]) -> list[RegionPrice]:
    own = [item for item in items if item["record"] == "price"]
    return [RegionPrice.from_document({key: item[key] for key in item if key not in _KEYS}) for item in own]


def _without_command(lease: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in lease.items() if key != "command"}


def _table(nodes: list[PoolNode], leases: list[Lease]) -> Table:
    shown = Table(box=SIMPLE_HEAD)
    for heading in ("region", "node", "type", "state"):
        shown.add_column(heading, no_wrap=True)
    shown.add_column("leases", justify="right", no_wrap=True)
    shown.add_column("says")
    for node in nodes:
        own = [f"{one.transfer_id} ({size(one.bytes)})" for one in leases if one.node_id == node.node_id]
        shown.add_row(
            node.region, node.instance_id, node.instance_type, node.state, str(node.leases), Text(_says(node, own))
        )
    return shown


def _says(node: PoolNode, transfers: list[str]) -> str:
    if node.reason is not None and node.state not in ("FREE", "SERVING"):
        since = node.ended_at or node.drained_at
        return f"{node.reason}{f', {_ago(since)} ago' if since else ''}"
    if transfers:
        return ", ".join(sorted(transfers))
    since = node.idle_since if node.state in LIVE else node.ended_at
    return f"{'idle' if node.state == 'FREE' else 'since'} {_ago(since or node.requested_at)}"


def _ago(moment: float) -> str:
    return duration(max(datetime.now(UTC).timestamp() - moment, 0.0))
