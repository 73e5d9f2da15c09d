"""Draws how data and decisions flow, from state machine, synthesized template and its grants: docs/architecture.md.

`make diagram` runs it. A test holds the page to it, so a name that changes changes here too.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path("docs/architecture.md")
MACHINE = Path("statemachine/transfer.asl.json")
TEMPLATE = Path("cdk.out/cpt-control.template.json")
BEGIN, END = "<!-- begin of data_flow.py -->", "<!-- end of data_flow.py -->"

WRITES = {"dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:BatchWriteItem", "s3:PutObject"}
NOT_DRAWN = {"cpt-transfers", "cpt-idempotency", "cpt-control-tokens"}
"""Nearly every function writes them, so their lines would hide all others."""
MOST_STORES = 2
"""Whoever writes more of them closes transfers of which something else lost hold: it may do whatever others do."""
ENDS = "ends"
"""Source and destination, by their managed policy."""
MACHINES = {"cpt-send": "source", "cpt-receive": "destination", "cpt-relay": "relays"}

Resource = dict[str, Any]


def text_of(value: Any) -> str:
    """A template's string, with what only AWS knows left out."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and "Fn::Join" in value:
        separator, parts = value["Fn::Join"]
        return str(separator).join(text_of(part) for part in parts)
    return ""


def listed(value: Any) -> list[Any]:
    """Return what IAM lets be one thing or a list."""
    return value if isinstance(value, list) else [value]


def identifier(name: str) -> str:
    """A name as Mermaid allows it."""
    return re.sub(r"\W", "_", name)


def tasks(states: dict[str, Resource]) -> Iterator[str]:
    """States that invoke a function, in the order of the file."""
    for name, state in states.items():
        if state["Type"] == "Task":
            yield name
        for branch in inside(state):
            yield from tasks(branch["States"])


def inside(state: Resource) -> list[Resource]:
    """Branches of a Parallel, and what a Map does with each item, unless it calls whatever function the item names."""
    processor = state.get("ItemProcessor")
    names = [
        one.get("Arguments", {}).get("FunctionName", "") for one in (processor or {"States": {}})["States"].values()
    ]
    return [*state.get("Branches", []), *([processor] if processor and not any(map(_is_computed, names)) else [])]


def _is_computed(name: Any) -> bool:
    return isinstance(name, str) and name.startswith("{%")


def reached(states: dict[str, Resource], name: str) -> set[str]:
    """The tasks that follow, past choices and notes; of a Parallel or a Map the first of each branch."""
    state = states[name]
    if state["Type"] == "Task":
        return {name}
    if inside(state):
        return {first for branch in inside(state) for first in reached(branch["States"], branch["StartAt"])}
    ways = [state.get("Next"), state.get("Default"), *(choice["Next"] for choice in state.get("Choices", []))]
    return {found for way in ways if way for found in reached(states, way)}


def last(branch: Resource) -> list[str]:
    """A branch's last task; none where it only warms functions."""
    return list(tasks(branch["States"]))[-1:]


def order(states: dict[str, Resource]) -> Iterator[tuple[str, str]]:
    """Return which task may follow which, but for what catches errors."""
    for name, state in states.items():
        if state["Type"] != "Task" and not inside(state):
            continue
        following = reached(states, state["Next"]) if "Next" in state else set()
        ends = [end for branch in inside(state) for end in last(branch)] or [name]
        yield from ((end, after) for end in ends for after in sorted(following))
        for branch in inside(state):
            yield from order(branch["States"])


class Template:
    """The control stack."""

    def __init__(self, document: Resource) -> None:
        self.resources: dict[str, Resource] = document["Resources"]

    def of(self, kind: str) -> Iterator[tuple[str, Resource]]:
        """Logical names and properties of a type's resources."""
        for key, resource in self.resources.items():
            if resource["Type"] == kind:
                yield key, resource["Properties"]

    def function_by_role(self) -> dict[str, str]:
        """Functions' names by their role's logical name."""
        return {
            function["Role"]["Fn::GetAtt"][0]: text_of(function["FunctionName"])
            for _, function in self.of("AWS::Lambda::Function")
        }

    def rules(self) -> Iterator[tuple[str, str]]:
        """Return what invokes which function: kinds of events, or a time."""
        names = {key: text_of(function["FunctionName"]) for key, function in self.of("AWS::Lambda::Function")}
        for _, rule in self.of("AWS::Events::Rule"):
            kinds = rule.get("EventPattern", {}).get("detail-type") or [rule.get("ScheduleExpression", "")]
            for target in rule["Targets"]:
                key = target["Arn"].get("Fn::GetAtt", [None])[0]
                if key in names:
                    yield "<br/>".join(kinds), names[key]

    def grants(self) -> Iterator[tuple[str, str, str]]:
        """Return who may do which action on what, by the policies of functions and of both ends."""
        functions = self.function_by_role()
        for key, role in self.of("AWS::IAM::Role"):
            for policy in role.get("Policies", []) if key in functions else []:
                yield from granted(functions[key], policy)
        managed = [policy for _, policy in self.of("AWS::IAM::ManagedPolicy")]
        # A managed policy that names roles holds what an inline one cannot.
        for policy in [*(one for _, one in self.of("AWS::IAM::Policy")), *managed]:
            for role in policy.get("Roles", []):
                if role.get("Ref") in functions:
                    yield from granted(functions[role["Ref"]], policy)
        for policy in managed:
            # People's policies name no roles either, and are no part of a transfer.
            if str(policy.get("ManagedPolicyName")).endswith("-endpoint"):
                yield from granted(ENDS, policy)


def granted(who: str, policy: Resource) -> Iterator[tuple[str, str, str]]:
    """Return who may do which action on what, by one policy."""
    for statement in (one for one in policy["PolicyDocument"]["Statement"] if one["Effect"] == "Allow"):
        for action in listed(statement["Action"]):
            yield from ((who, action, text_of(resource)) for resource in listed(statement["Resource"]))


def stores(template: Template) -> Iterator[tuple[str, str]]:
    """Return who writes which store."""
    written: dict[str, set[str]] = {}
    for writer, action, resource in template.grants():
        table = resource.rpartition(":table/")[2]
        if action in WRITES and table not in NOT_DRAWN and (":table/" in resource or ":s3:::" in resource):
            written.setdefault(writer, set()).add(table if ":table/" in resource else "control bucket")
    yield from ((writer, store) for writer, all_ in written.items() if len(all_) <= MOST_STORES for store in all_)


def commands(template: Template) -> Iterator[tuple[str, str]]:
    """Return which function starts a process on which machines."""
    for function, action, resource in template.grants():
        document = resource.rpartition(":document/")[2]
        if action == "ssm:SendCommand" and document in MACHINES:
            yield function, document


def diagram(machine: Resource, template: Template) -> str:
    """The page's picture, in Mermaid."""
    names = {f"cpt-{state.lower().replace(' ', '-')}": state for state in tasks(machine["States"])}
    reactions = sorted(set(template.rules()))
    drawn = {*names, *(function for _, function in reactions)}
    lines = ["flowchart TB", '  subgraph machine["state machine cpt-transfer"]', "    direction TB"]
    lines += [f'    {identifier(function)}["{state}"]' for function, state in names.items()]
    by_state = {state: identifier(function) for function, state in names.items()}
    lines += [f"    {by_state[one]} --> {by_state[other]}" for one, other in order(machine["States"])]
    lines += ["  end", '  subgraph reactions["EventBridge"]', "    direction TB"]
    for number, (kinds, function) in enumerate(reactions):
        lines.append(f'    rule{number}(["{kinds}"]) --> {identifier(function)}["{function}"]')
    lines += ["  end", '  subgraph ends["data plane"]', "    direction TB"]
    lines += ["    source -- direct --> destination", "    source ==> relays ==> destination", "  end"]
    lines += [
        f"  {identifier(function)} -. {document} .-> {MACHINES[document]}"
        for function, document in sorted(set(commands(template)))
        if function in drawn
    ]
    written = sorted(set(stores(template)))
    lines += [f'  {identifier(store)}[("{store}")]' for store in sorted({store for _, store in written})]
    lines += [
        f"  {identifier(writer)} --> {identifier(store)}" for writer, store in written if writer in {*drawn, ENDS}
    ]
    return "\n".join(lines)


def page(text: str) -> str:
    """The page with its picture drawn anew."""
    picture = diagram(json.loads(MACHINE.read_text()), Template(json.loads(TEMPLATE.read_text())))
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n```mermaid\n{picture}\n```\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
    sys.stdout.write(f"{PAGE}\n")
