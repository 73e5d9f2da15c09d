"""What the security groups of the synthesized templates admit and let out."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.privileges.grants import ASSEMBLY


@dataclass(frozen=True)
class Group:
    """A security group; the same in each enrolled region."""

    name: str
    bearers: str
    """Which machines have it."""
    admits: tuple[str, ...]
    lets_out: tuple[str, ...]
    """`tcp 443, 0.0.0.0/0 (AWS APIs)`."""


def read_groups(assembly: Path = ASSEMBLY) -> list[Group]:
    """Groups of all stacks, each once."""
    found: set[Group] = set()
    for file in sorted(assembly.glob("*.template.json")):
        for resource in json.loads(file.read_text())["Resources"].values():
            if resource["Type"] in ("AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress"):
                raise ValueError(f"{file.name} has a rule apart from its group, which this list does not show")
            if resource["Type"] == "AWS::EC2::SecurityGroup":
                found.add(_group(resource["Properties"]))
    return sorted(found, key=lambda group: group.name)


def _group(properties: dict[str, Any]) -> Group:
    admits, lets_out = (
        tuple(_rule(rule) for rule in properties.get(f"SecurityGroup{direction}", []))
        for direction in ("Ingress", "Egress")
    )
    return Group(properties["GroupName"], properties["GroupDescription"], admits, lets_out)


def _rule(rule: dict[str, Any]) -> str:
    ports = str(rule["FromPort"]) if rule["FromPort"] == rule["ToPort"] else f"{rule['FromPort']} to {rule['ToPort']}"
    return f"{rule['IpProtocol']} {ports}, {rule['CidrIp']} ({rule['Description']})"
