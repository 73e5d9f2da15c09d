"""The tables of docs/security.md, drawn from templates, recorded runs and exceptions."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from tests.privileges.compare import Comparison
from tests.privileges.grants import ROOT, Grant, Role
from tests.privileges.network import Group
from tests.privileges.unused import Unused

PAGE = ROOT / "docs" / "security.md"
# Every function's own: its log and its traces.
COMMON = re.compile(r"^(logs:|xray:Put)")
# Tables and buckets; an index is read and written with its table.
STORE = re.compile(r"^arn:aws:(?:dynamodb:.*:table/|s3:::)(?P<name>[^/]+)")
READS = re.compile(r":(Get|BatchGet|Query|List)")


def drawn(page: str, roles: dict[str, Role], groups: list[Group], found: Comparison) -> str:
    """`page` with each part between `<!-- NAME -->` and `<!-- end -->` drawn anew."""
    tables = {
        "roles": role_table(roles),
        "stores": store_table(roles),
        "exceptions": exception_table(found),
        "wildcards": wildcard_table(roles),
        "groups": group_table(groups),
    }
    for name, lines in tables.items():
        before, begin, rest = page.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        if not end:
            raise ValueError(f"the page has no part <!-- {name} --> … <!-- end -->")
        page = "\n".join([before + begin, *lines, "", end + after])
    return page


def role_table(roles: dict[str, Role]) -> Iterator[str]:
    """A row for each role: what it may do."""
    yield "| role | may |"
    yield "| --- | --- |"
    for role in roles.values():
        yield f"| `{role.name}` | {'<br>'.join(_abilities(role.grants))} |"


def _abilities(grants: Iterable[Grant]) -> Iterator[str]:
    """`dynamodb: GetItem, Query on cpt-nodes`; under a condition with its keys."""
    actions: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for grant in sorted(grants):
        service, action = grant.action.split(":")
        if not COMMON.match(grant.action):
            actions[service, grant.resource, grant.condition].append(action)
    together: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for (service, resource, condition), names in actions.items():
        together[service, ", ".join(names), condition].append(short(resource))
    for (service, listed, condition), resources in together.items():
        on = "" if resources == ["*"] else f" on {', '.join(f'`{resource}`' for resource in resources)}"
        yield f"{service}: {listed}{on}" + (f" if {_keys(condition)}" if condition else "")


def short(resource: str) -> str:
    """What is left of an ARN without service, region and account."""
    parts = resource.split(":", 5)
    return parts[-1].removeprefix("table/") if len(parts) == 6 else resource


def _keys(condition: str) -> str:
    return ", ".join(f"`{item.split(' ', 1)[1]}`" for item in condition.split(", "))


def store_table(roles: dict[str, Role]) -> Iterator[str]:
    """A row for each table and bucket: who reads it, who writes it."""
    readers: dict[str, set[str]] = defaultdict(set)
    writers: dict[str, set[str]] = defaultdict(set)
    for grant in (grant for role in roles.values() for grant in role.grants):
        if store := STORE.match(grant.resource):
            side = readers if READS.search(grant.action) else writers
            side[store["name"]].add(f"`{grant.role}`")
    yield "| store | read by | written by |"
    yield "| --- | --- | --- |"
    for name in sorted(readers | writers):
        yield f"| `{name}` | {_names(readers[name])} | {_names(writers[name])} |"


def _names(found: set[str]) -> str:
    return ", ".join(sorted(found)) or "nobody"


def exception_table(found: Comparison) -> Iterator[str]:
    """A row for each reason: roles, actions and resources as its entries name them, and how many grants that is."""
    reasons: dict[tuple[str, str], list[Unused]] = defaultdict(list)
    for entry in found.excused.values():
        reasons[entry.why, entry.held_by].append(entry)
    yield "| role | granted, unused | why it stays | grants |"
    yield "| --- | --- | --- | --- |"
    for (why, held_by), entries in reasons.items():
        roles = sorted({f"`{entry.role}`" for entry in entries})
        what = sorted({f"{entry.action} on `{short(entry.resource)}`".removesuffix(" on `*`") for entry in entries})
        reason = f"{why} (`{held_by}`)" if held_by else why
        yield f"| {', '.join(roles)} | {'<br>'.join(what)} | {reason} | {len(entries)} |"


def wildcard_table(roles: dict[str, Role]) -> Iterator[str]:
    """A row for each resource with a `*` and each reason for it."""
    reasons: dict[str, set[str]] = defaultdict(set)
    for role in roles.values():
        for resource, whys in role.reasons.items():
            reasons[short(resource)] |= whys
    yield "| resource | why nothing narrower does |"
    yield "| --- | --- |"
    for resource, whys in sorted(reasons.items()):
        yield f"| `{resource}` | {'<br>'.join(sorted(whys))} |"


def group_table(groups: list[Group]) -> Iterator[str]:
    """A row for each security group, as deployed; what it admits comes with transfers."""
    yield "| group | on | admits | lets out |"
    yield "| --- | --- | --- | --- |"
    for group in groups:
        admits, lets_out = ("<br>".join(rules) or "nobody" for rules in (group.admits, group.lets_out))
        yield f"| `{group.name}` | {group.bearers} | {admits} | {lets_out} |"
