"""Two judges of one case: the local cloud's own IAM, and an independent simulator (simulate.mjs).

    python -m tests.privileges.judges < CASES > DECISIONS

is the first of them, in a process of its own: it imports the whole emulator.
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tests.privileges.grants import ROOT, Grant, read_policies, undigested
from tests.privileges.recorded import Calls

ACCOUNT, OTHER_ACCOUNT = "000000000000", "999999999999"
OTHER_REGION = "ap-south-1"
JUDGES = {
    "the local cloud": [sys.executable, "-m", "tests.privileges.judges"],
    "iam-simulate": ["node", str(Path(__file__).with_name("simulate.mjs"))],
}

NOT_SIMULATED = {
    "kms:Decrypt": "the simulator ignores condition keys on the encryption context, whose names end with the user's",
    "ssm:GetParameters": "the simulator takes no ARN without an account, as parameters that Amazon publishes have",
}
"""Actions on which the second judge cannot speak, each with the reason; the first one's word is tried in executions."""


@dataclass(frozen=True)
class Case:
    """A call by a role; `variant` is the number of the region whose policies the role has."""

    role: str
    variant: int
    action: str
    resource: str
    region: str
    context: dict[str, Any]
    what: str = "as recorded"


def cases_of(calls: Calls, variants: dict[str, int]) -> list[Case]:
    """Each recorded call, and what differs from it in one thing."""
    found = []
    for grant, call in calls.items():
        if grant.action in NOT_SIMULATED:
            continue
        for variant in range(variants[grant.role]):
            case = _recorded(grant, call, variant)
            found += [case, *_changed(case)]
    return found


def _recorded(grant: Grant, call: dict[str, Any], variant: int) -> Case:
    # What has no id yet is `*` in the ARN; the simulator would take that for any resource.
    resource = call["resource"] if call["resource"] == "*" else undigested(call["resource"]).replace("*", "new")
    context = {key: undigested(value) if isinstance(value, str) else value for key, value in call["context"].items()}
    return Case(grant.role, variant, grant.action, resource, call["region"], context)


def _changed(case: Case) -> Iterable[Case]:
    if case.resource != "*":
        parts = case.resource.split(":", 5)
        if parts[4]:
            account = ":".join([*parts[:4], OTHER_ACCOUNT, parts[5]])
            yield replace(case, resource=account, what="of another account")
        if parts[3]:
            region = ":".join([*parts[:3], OTHER_REGION, *parts[4:]])
            yield replace(case, resource=region, what="in another region")
        yield replace(case, resource=f"{case.resource}x", what="another id")
    for key, value in case.context.items():
        other = [f"{one}x" for one in value] if isinstance(value, list) else f"{value}x"
        yield replace(case, context={**case.context, key: other}, what=f"with another {key}")
        yield replace(case, context={k: v for k, v in case.context.items() if k != key}, what=f"without {key}")


def is_installed() -> bool:
    """Return whether the second judge is. `make test` installs it into a folder of its own: its license is the AGPL."""
    return (Path(__file__).parent / "node_modules" / "@cloud-copilot" / "iam-simulate").is_dir()


def judged(cases: list[Case]) -> dict[str, list[str]]:
    """The decisions of each judge."""
    policies = read_policies(ACCOUNT)
    asked = json.dumps({"account": ACCOUNT, "policies": policies, "cases": list(map(asdict, cases))})
    return {
        name: json.loads(
            subprocess.run(command, input=asked, capture_output=True, text=True, check=True, cwd=ROOT).stdout
        )
        for name, command in JUDGES.items()
    }


def decide(asked: dict[str, Any]) -> list[str]:
    """Decisions of the local cloud's IAM."""
    from local.patches.iam import policy_variables
    from local.patches.upstream import iam_evaluator

    policy_variables.install()
    parsed = {
        role: [[iam_evaluator.parse_policy_document(one) for one in documents] for documents in variants]
        for role, variants in asked["policies"].items()
    }
    decisions = []
    for case in asked["cases"]:
        context = iam_evaluator.EvalContext(
            principal_arn=f"arn:aws:sts::{asked['account']}:assumed-role/{case['role']}/session",
            principal_type="AssumedRole",
            principal_account=asked["account"],
            action=case["action"],
            resource_arn=case["resource"],
            region=case["region"],
            secure_transport=True,
            service_context=case["context"],
        )
        decision = iam_evaluator.evaluate(context, parsed[case["role"]][case["variant"]]).decision
        decisions.append({"Allow": "Allowed", "Deny": "ExplicitlyDenied", "ImplicitDeny": "ImplicitlyDenied"}[decision])
    return decisions


if __name__ == "__main__":
    json.dump(decide(json.load(sys.stdin)), sys.stdout)
