"""The standing pool of an account, as tests see it."""

import json
from pathlib import Path
from typing import Any

from tests.e2e.account import HOME, OTHER, Account, Run
from tests.infra.test_permissions import OF_THE_POOL, granted_by


class Pool:
    """The pool of an account, as its table shows it; `templates`: what was deployed."""

    def __init__(self, account: Account, templates: Path) -> None:
        self.account = account
        self.templates = templates
        self.table = account.aws.resource("dynamodb").Table("cpt-pool")

    def items(self, kind: str) -> list[dict[str, Any]]:
        """Those whose record begins so."""
        return [item for item in self.table.scan()["Items"] if item["record"].startswith(kind)]

    def states(self) -> set[tuple[str, str]]:
        """Regions and states of nodes that live."""
        return {(item["region"], item["state"]) for item in self.items("node#") if item["state"] != "ENDED"}

    def keep(self) -> None:
        """The minute's look, now."""
        self.account.invoke("cpt-keep-pool", {})

    def granted(self, handler: str) -> set[str]:
        """What the role of a handler's function may do with the table."""
        stack = "pool" if handler in OF_THE_POOL else "control"
        template = json.loads((self.templates / f"cpt-{stack}.template.json").read_text())["Resources"]
        return {name for name in granted_by(template, handler) if name.startswith("pool:")}

    def may_tell(self, handler: str) -> bool:
        """Whether the role of a handler's function may put the event that has the pool divided anew."""
        template = json.loads((self.templates / "cpt-control.template.json").read_text())["Resources"]
        return "events:PutEvents" in granted_by(template, handler)

    def limits(self) -> dict[str, list[float]]:
        """By region, what its leases were told and apply."""
        found: dict[str, list[float]] = {}
        for lease in self.items("lease#"):
            if "endedAt" not in lease and lease.get("applied") == lease["limit"]["number"]:
                found.setdefault(lease["machine"].split(":")[3], []).append(float(lease["limit"]["MBps"]))
        return found

    def count_leases(self, state: str, leases: int, becomes: str) -> None:
        """As if others had so many leases on each node that is in a state."""
        for item in self.items("node#"):
            if item["state"] == state:
                self.table.update_item(
                    Key={"machine": item["machine"], "record": item["record"]},
                    UpdateExpression="SET #state = :state, #leases = :leases",
                    ExpressionAttributeNames={"#state": "state", "#leases": "leases"},
                    ExpressionAttributeValues={":state": becomes, ":leases": leases},
                )

    def has_no_lease(self) -> bool:
        """Whether the minute's look, made now, leaves none."""
        self.keep()
        return self.items("lease#") == []

    def await_free(self) -> None:
        """Until each region has a node that takes leases."""

        def is_free() -> bool:
            self.keep()
            states = self.states()
            return states >= {(HOME, "FREE"), (OTHER, "FREE")} and all(state != "SERVING" for _, state in states)

        self.account.cloud.wait_for(is_free, 60)


def through_the_pool(run: Run) -> int:
    """Bytes that went through the pair."""
    lanes = [lane for lane in run.report["course"]["lanes"] if lane["pathId"] == "pair-1"]
    return sum(bar["bytes"] for lane in lanes for bar in lane["bars"])
