"""What each Lambda's code calls, read off its call graph, is what its role grants: nothing missing, nothing unused."""

import ast
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lambdas.core.fleet import node_life
from lambdas.core.pool import pool_life

ROOT = Path(__file__).parents[2]
MODULES = {
    path.stem: ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "lambdas" / "handlers").rglob("[a-z]*.py")
}
# The pool has a stack of its own, which these settings do without; tests/e2e/test_pool.py has one.
OF_THE_POOL = {path.stem for path in (ROOT / "lambdas" / "handlers" / "pool").glob("[a-z]*.py")}
HANDLERS = sorted(MODULES.keys() - OF_THE_POOL)

# What the adapter behind each port of lambdas.adapters.world calls: `table:Action`, `table/index:Action`, or
# `service:Action`.
PORTS: dict[str, list[str]] = {
    "transfers.create": ["transfers:PutItem", "transfers:GetItem"],
    "transfers.resume": ["transfers:GetItem", "transfers:PutItem"],
    "transfers.get": ["transfers:GetItem"],
    "transfers.change": ["transfers:UpdateItem"],
    "transfers.active_ids": ["transfers/running:Query", "transfers/active:Query"],
    "transfers.ids_with_end": ["transfers/running:Query", "transfers/active:Query"],
    "transfers.active": ["transfers/running:Query", "transfers/active:Query"],
    "locks.acquire": ["transfers:GetItem", "transfers:PutItem"],
    "locks.acquire_shared": ["transfers:GetItem", "transfers:PutItem"],
    "locks.release": ["transfers:GetItem", "transfers:PutItem"],
    "locks.release_shared": ["transfers:GetItem", "transfers:PutItem"],
    "agents.membership": ["transfers:GetItem"],
    "agents.write_membership": ["transfers:PutItem"],
    "agents.progress": ["transfers:GetItem"],
    "agents.route_key": ["transfers:GetItem"],
    "agents.probe_results": ["transfers:Query"],
    "agents.outcome": ["transfers:GetItem"],
    "agents.answer": ["transfers:GetItem"],
    "agents.lost_relays": ["transfers:Query"],
    "agents.sealing_key": ["transfers:GetItem"],
    "agents.issued": ["transfers:GetItem"],
    "agents.issue": ["transfers:PutItem"],
    "agents.tell_progress": ["transfers:PutItem"],
    "agents.fence": ["transfers:PutItem"],
    "agents.forget": ["transfers:Query", "transfers:DeleteItem"],
    "chunks.put_all": ["chunks:BatchWriteItem"],
    "chunks.get": ["chunks:GetItem"],
    "chunks.read": ["chunks:Query"],
    "chunks.change": ["chunks:UpdateItem"],
    "chunks.finish": ["chunks:Query"],
    "chunks.forget_finish": ["chunks:DeleteItem"],
    "nodes.put": ["nodes:PutItem"],
    "nodes.of": ["nodes:Query"],
    "nodes.forget": ["nodes:Query", "nodes:DeleteItem"],
    "nodes.by_instance": ["nodes/of-instance:Query", "nodes/by-instance:Query", "nodes:GetItem"],
    "nodes.change": ["nodes:UpdateItem"],
    "pool.nodes": ["pool:Query"],
    "pool.put": ["pool:PutItem"],
    "pool.change": ["pool:UpdateItem"],
    "pool.forget": ["pool:Query", "pool:DeleteItem"],
    "pool.standing": ["pool:Query"],
    "pool.lease": ["pool:GetItem"],
    "pool.give": ["pool:UpdateItem", "pool:PutItem"],
    "pool.take_back": ["pool:UpdateItem"],
    "pool.command": ["pool:UpdateItem"],
    "pool.renew": ["pool:UpdateItem"],
    "pool.limit": ["pool:UpdateItem"],
    "pool.shares": ["pool:Query"],
    "pool.put_shares": ["pool:Query", "pool:DeleteItem", "pool:PutItem"],
    "pool.begin_look": ["pool:PutItem", "pool:UpdateItem"],
    "pool.is_called_again": ["pool:UpdateItem"],
    "pool.end_look": ["pool:UpdateItem"],
    "pool.forget_lease": ["pool:DeleteItem"],
    "pool.keep_alive": ["pool:PutItem"],
    "pool.needs": ["pool:GetItem"],
    "pool.put_needs": ["pool:PutItem"],
    "pool_accounts.price": ["pool:Query"],
    "pool_accounts.put_price": ["pool:PutItem"],
    "pool_accounts.month": ["pool:GetItem"],
    "pool_accounts.put_month": ["pool:PutItem"],
    "pool_accounts.queue": ["pool:Query"],
    "pool_accounts.queue_up": ["pool:PutItem"],
    "pool_accounts.forget_place": ["pool:DeleteItem"],
    "pool_accounts.charges": ["pool:Query"],
    "pool_accounts.charge": ["pool:PutItem"],
    "profiles.get": ["profiles:GetItem"],
    "profiles.get_all": ["profiles:BatchGetItem"],
    "profiles.integrate": ["profiles:GetItem", "profiles:UpdateItem"],
    "turns.take": ["transfers:UpdateItem"],
    "common_limits.get": ["transfers:GetItem"],
    "common_limits.put": ["transfers:PutItem"],
    "tenant_ledgers.get": ["ledgers:GetItem"],
    "tenant_ledgers.put": ["ledgers:PutItem"],
    "tokens.get": ["control-tokens:GetItem"],
    "tokens.put": ["control-tokens:UpdateItem"],
    "tokens.approval": ["control-tokens:GetItem"],
    "tokens.put_approval": ["control-tokens:PutItem"],
    "tokens.delete": ["control-tokens:DeleteItem"],
    "compute.describe": ["ec2:DescribeInstances"],
    "compute.of_transfer": ["ec2:DescribeInstances"],
    "compute.of_deployment": ["ec2:DescribeInstances"],
    "compute.of_pool": ["ec2:DescribeInstances"],
    "compute.running": ["ec2:DescribeInstances"],
    "compute.launch": ["ec2:RunInstances", "ec2:CreateTags", "iam:PassRole", "ssm:GetParameters"],
    "compute.terminate": ["ec2:TerminateInstances"],
    "clusters.find": ["elasticmapreduce:DescribeCluster", "elasticmapreduce:ListInstances"],
    "commands.online": ["ssm:DescribeInstanceInformation"],
    "commands.send": ["ssm:SendCommand"],
    "commands.ended": ["ssm:ListCommandInvocations"],
    "commands.result": ["ssm:GetCommandInvocation"],
    "commands.started": ["ssm:GetCommandInvocation"],
    "commands.cancel": ["ssm:CancelCommand"],
    "brief_commands.send": ["ssm:SendCommand"],
    "brief_commands.result": ["ssm:GetCommandInvocation"],
    "subnets.of_vpc": ["ec2:DescribeSubnets", "ec2:DescribeRouteTables"],
    "groups.find": ["ec2:DescribeSecurityGroups"],
    "groups.vpc_of": ["ec2:DescribeSecurityGroups"],
    "groups.admit": ["ec2:AuthorizeSecurityGroupIngress", "ec2:CreateTags"],
    "groups.rules": ["ec2:DescribeSecurityGroupRules"],
    "groups.revoke": ["ec2:RevokeSecurityGroupIngress"],
    "objects.put": ["s3:PutObject"],
    "objects.read": ["s3:GetObject"],
    "objects.lines": ["s3:GetObject"],
    "objects.size": ["s3:GetObject"],
    "objects.keys": ["s3:ListBucket"],
    "objects.delete": ["s3:DeleteObject"],
    "events.put": ["events:PutEvents"],
    "events.tell_pool": ["pool:PutEvents"],
    "notifications.send": ["sns:Publish"],
    "metrics.put": [],
    "executions.start": ["states:StartExecution"],
    "executions.succeed": ["states:SendTaskSuccess"],
    "executions.fail": ["states:SendTaskFailure"],
    "executions.heartbeat": ["states:SendTaskHeartbeat"],
    "executions.stop": ["states:StopExecution"],
    "executions.alias": ["states:DescribeExecution"],
    "executions.status": ["states:DescribeExecution"],
    "executions.ended": ["states:ListExecutions"],
    "waves.of": ["transfers:GetItem"],
    "waves.latest": ["transfers:Query"],
    "waves.write": ["transfers:PutItem"],
    "watched.running": ["transfers/running:Query", "transfers/active:Query", "transfers:BatchGetItem"],
    "watched.transfer": ["transfers:Query", "nodes:Query"],
    "executions.why": ["states:DescribeExecution"],
    "sessions.assume": ["sts:AssumeRole"],
    "arrivals.collect": ["arrivals:UpdateItem", "arrivals:PutItem"],
    "arrivals.waits": ["arrivals:GetItem"],
    "arrivals.waiting": ["arrivals:Query"],
    "arrivals.take": ["arrivals:BatchWriteItem"],
    "arrivals.window": ["arrivals:GetItem"],
    "arrivals.windows": ["arrivals:Query"],
    "arrivals.write": ["arrivals:PutItem"],
    "added_starts.get": ["arrivals:GetItem"],
    "schedules.once": ["scheduler:CreateSchedule", "iam:PassRole"],
    "price_list.ask": ["pricing:GetProducts"],
    "price_cache.read": ["s3:GetObject"],
    "price_cache.write": ["s3:PutObject"],
    "spot_market.has_role": ["iam:GetRole"],
    "spot_market.latest": ["ec2:DescribeSpotPriceHistory"],
    "instance_types.facts": ["ec2:DescribeInstanceTypes", "ec2:DescribeInstanceTypeOfferings"],
    "quotas.vcpus": ["servicequotas:GetServiceQuota"],
}
IDEMPOTENCY = {f"idempotency:{action}Item" for action in ("Put", "Update", "Delete")}
# What Lambda does under the role of a function that reads a queue.
QUEUED = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}
DOCUMENTS = {"scan", "delete", "receive", "send", "relay", "probe", "log", "stop"}
# Every function's own: its log, its traces, the queue of what it failed on.
COMMON = {
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    "xray:PutTraceSegments",
    "xray:PutTelemetryRecords",
    "sqs:SendMessage",
}

# Granted where the settings name buckets; tests/infra/bucket-access.test.ts says to whom.
OF_BUCKETS = {"sts:AssumeRole"}
# Items of the table of transfers; granted where there are tenants, and tests/infra/tenants.test.ts says to whom.
OF_TENANTS = {"ledgers:GetItem", "ledgers:PutItem"}

Key = tuple[str, str]
Definition = ast.FunctionDef | ast.ClassDef


class CallGraph:
    """Functions and classes of lambdas.handlers and lambdas.operations, and what they name."""

    def __init__(self) -> None:
        self.defined: dict[Key, Definition] = {}
        self.imports: dict[str, dict[str, Key]] = {}
        for folder in ("handlers", "operations"):
            for path in (ROOT / "lambdas" / folder).rglob("*.py"):
                self._read(".".join(path.relative_to(ROOT).with_suffix("").parts), ast.parse(path.read_text()))

    def _read(self, module: str, tree: ast.Module) -> None:
        found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        self.imports[module] = {
            alias.asname or alias.name: (node.module or "", alias.name) for node in found for alias in node.names
        }
        self.defined |= {
            (module, node.name): node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }

    def reached(self, handler: str) -> set[Key]:
        """All definitions that a handler's module reaches."""
        module = MODULES[handler]
        todo = [key for key in self.defined if key[0] == module]
        seen: set[Key] = set()
        while todo:
            key = todo.pop()
            if key not in seen:
                seen.add(key)
                todo += self._named_in(key)
        return seen

    def _named_in(self, key: Key) -> Iterator[Key]:
        module = key[0]
        for node in ast.walk(self.defined[key]):
            if isinstance(node, ast.Name):
                candidates = [(module, node.id), self.imports[module].get(node.id, ("", ""))]
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                candidates = [(".".join(self.imports[module].get(node.value.id, ("", ""))), node.attr)]
            else:
                continue
            yield from (candidate for candidate in candidates if candidate in self.defined)

    def needs(self, handler: str) -> set[str]:
        """Actions that a handler's code calls."""
        needs: set[str] = set()
        names = self.imports[MODULES[handler]]
        if "task_state" in names and not handler.endswith("_wave"):  # notes the times of its transfer's state
            needs |= set(PORTS["transfers.change"])
        if names.keys() & {"once", "once_in_execution"}:
            needs |= IDEMPOTENCY
        if "queued" in names:
            needs |= QUEUED
        for key in self.reached(handler):
            for port in _ports_used(self.defined[key]):
                assert port in PORTS, f"{key}: say in PORTS what {port} calls"
                needs |= set(PORTS[port])
            needs |= {f"document:{name}" for name in _documents_sent(self.defined[key])}
        return needs


@cache
def call_graph() -> CallGraph:
    """That of this checkout; to read it takes a third of a second."""
    return CallGraph()


def _ports_used(definition: Definition) -> Iterator[str]:
    """`world.nodes.of(…)`, `self._world.at(place).compute.launch(…)`, and `groups.rules()` of a local `groups`."""
    ports = {name.split(".")[0] for name in PORTS}
    for node in ast.walk(definition):
        if not isinstance(node, ast.Attribute):
            continue
        owner = node.value.func if isinstance(node.value, ast.Call) else node.value
        if isinstance(owner, ast.Attribute) and owner.attr in ports:
            yield f"{owner.attr}.{node.attr}"
        elif isinstance(owner, ast.Name) and owner.id == "groups":
            yield f"groups.{node.attr}"


def _documents_sent(definition: Definition) -> Iterator[str]:
    """`Order.on(end, "scan", …)` and `….send("relay", …)`."""
    for node in ast.walk(definition):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("on", "send"):
            names = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
            yield from (str(name) for name in names if name in DOCUMENTS)


def _text(value: Any) -> str:
    """A literal, or the literal parts of a join."""
    if isinstance(value, str):
        return value
    return "".join(map(_text, value["Fn::Join"][1])) if "Fn::Join" in value else "<>"


@cache
def _resources() -> dict[str, Any]:
    """Those of the synthesized control stack."""
    template: dict[str, Any] = json.loads((ROOT / "cdk.out" / "cpt-control.template.json").read_text())
    return dict(template["Resources"])


@cache
def _granted(handler: str) -> frozenset[str]:
    """Actions that the role of a handler's function grants, named as in PORTS."""
    return granted_by(_resources(), handler)


def granted_by(template: dict[str, Any], handler: str) -> frozenset[str]:
    """The same of a template's resources."""
    name = f"cpt-{handler.replace('_', '-')}"
    functions = [item["Properties"] for item in template.values() if item["Type"] == "AWS::Lambda::Function"]
    role = next(item["Role"]["Fn::GetAtt"][0] for item in functions if item["FunctionName"] == name)
    kinds = ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy")
    beside = [item["Properties"] for item in template.values() if item["Type"] in kinds]
    mine = [*template[role]["Properties"].get("Policies", [])]
    mine += [policy for policy in beside if {"Ref": role} in policy.get("Roles", [])]
    statements = [statement for policy in mine for statement in policy["PolicyDocument"]["Statement"]]
    allowed = [statement for statement in statements if statement["Effect"] == "Allow"]
    return frozenset(named for statement in allowed for named in _named(statement))


def _named(statement: dict[str, Any]) -> Iterator[str]:
    actions, resources = (
        value if isinstance(value, list) else [value] for value in (statement["Action"], statement["Resource"])
    )
    for action in actions:
        for resource in map(_text, resources):
            if action.startswith("dynamodb:"):
                yield f"{resource.split(':table/cpt-')[1].replace('/index', '')}:{action.removeprefix('dynamodb:')}"
                continue
            if ":document/cpt-" in resource:
                yield f"document:{resource.split(':document/cpt-')[1]}"
            yield str(action)


@pytest.mark.parametrize("handler", HANDLERS)
def test_a_role_grants_what_its_code_calls_and_nothing_else(handler: str) -> None:
    needs, granted = call_graph().needs(handler), _granted(handler) - COMMON
    needs = {need for need in needs if not need.startswith("pool:")}
    assert needs - granted - OF_BUCKETS - OF_TENANTS == set(), "the code calls what its role does not allow"
    if "ssm:SendCommand" in needs and not any(name.startswith("document:") for name in needs):
        pytest.fail(f"{handler} sends a document that this test cannot name")
    assert granted - needs == set(), "the role allows what the code never calls"


def _granted_to(action: str) -> set[str]:
    """Names of the functions that may do it."""
    return {handler.replace("_", "-") for handler in HANDLERS if action in _granted(handler)}


def test_nobody_else_may_write_what_the_lives_of_relays_say_of_their_writers() -> None:
    writers = {writer for rule in node_life.RULES.values() for writer in rule.writers}
    assert _granted_to("nodes:UpdateItem") == writers | node_life.LEASERS
    assert _granted_to("nodes:PutItem") == _granted_to("ec2:RunInstances") == node_life.LEASERS


def test_whoever_ends_a_relay_may_terminate_its_machine() -> None:
    enders = {writer for rule in node_life.RULES.values() if rule.ends for writer in rule.writers}
    # The look for strays ends machines of transfers that are over, whose items nobody reads any more.
    assert _granted_to("ec2:TerminateInstances") == enders | {"watch-transfers"}


def test_every_writer_of_a_change_of_a_relay_makes_it() -> None:
    graph = call_graph()
    made = {handler.replace("_", "-"): _changes_made(graph, handler) for handler in HANDLERS}
    for name, rule in node_life.RULES.items():
        assert {handler for handler, names in made.items() if name in names} == rule.writers, name


def test_every_writer_of_a_change_of_a_pool_s_node_makes_it() -> None:
    graph = call_graph()
    made = {handler.replace("_", "-"): _pool_changes_made(graph, handler) for handler in MODULES}
    for name, rule in pool_life.RULES.items():
        assert {handler for handler, names in made.items() if name in names} == rule.writers, name


# One function of the table makes several changes, by the node's state or by what it is told.
POOL_CHANGES = {"take_back": {"take-back", "take-last", "empty"}, "lose": {"lose", "fail-to-start"}}


def _pool_changes_made(graph: CallGraph, handler: str) -> set[str]:
    nodes = [node for key in graph.reached(handler) for part in graph.defined[key].body for node in ast.walk(part)]
    called = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
    names = {node.attr for node in called if isinstance(node.value, ast.Name) and node.value.id == "pool_life"}
    found = {change for name in names for change in POOL_CHANGES.get(name, {name.replace("_", "-")})}
    return found & pool_life.RULES.keys()


# `node_life.lose` is told which of these it is.
LOSSES = ("lose", "fail-to-start", "discard")
# What a wish leads to: `core.fleet.reconcile` is pure, and whoever has the wish carries it out.
WISHED = {"joins": {"join"}, "leaving": {"drain", "stay-alone"}, "unused": {"discard"}}


def _changes_made(graph: CallGraph, handler: str) -> set[str]:
    """Names of the changes of relays that a handler's code makes: by name, by who makes them, or by a wish."""
    nodes = [node for key in graph.reached(handler) for part in graph.defined[key].body for node in ast.walk(part)]
    found = {node.value for node in nodes if isinstance(node, ast.Constant) and node.value in LOSSES}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "node_life":
            found.add(node.attr.replace("_", "-") if node.attr != "lose" else "")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Wish":
            found |= {name for keyword in node.keywords for name in WISHED.get(keyword.arg or "", ())}
    return found & node_life.RULES.keys()
