"""`python -m tests.cli.posix COMMAND …`: `cpt` with an account in memory, as a process with a locale and a terminal."""

import json
import sys
from pathlib import Path
from typing import Any

from cli import (
    approving,
    cancelling,
    doctoring,
    estimate_view,
    limiting,
    listing,
    live,
    main,
    render,
    reporting,
    starting,
    watching,
)
from cli import terminal as terminal_module
from cli.console import make_console
from cli.doctor.finding import Finding
from lambdas.core.watch.transfer_state import state_of
from tests.cli.transfers import Account, execution, records, relay

REPORTS = Path(__file__).parents[2] / "contracts" / "examples" / "good" / "report"


def account() -> Account:
    """A transfer that runs and one that has ended."""
    done = execution("first", "SUCCEEDED", output=json.dumps({"status": "SUCCEEDED"}))
    nodes = [relay("source-1-0", "JOINED", 1002.0, joinedAt=1008.0)]
    return Account([execution("nightly"), done], {"nightly": records()}, {"nightly": nodes})


def pictures() -> None:
    """What commands draw of a transfer: estimate, live view, report, findings."""
    console = make_console()
    estimate: dict[str, Any] = json.loads(json.dumps(records()["transfer"]["estimate"], default=float))
    console.print(estimate_view.estimate_table(estimate))
    console.print(live.live_view(state_of("nightly", records(), [])))
    for report in sorted(REPORTS.glob("*.json")):
        console.print(render.report_view(json.loads(report.read_text(encoding="utf-8"))))
    for status in ("ok", "failed"):
        remedy = None if status == "ok" else "correct it"
        finding = Finding.model_validate(
            {"check": "clock", "about": "this machine", "status": status, "message": "\u2026", "remedy": remedy}
        )
        print("\n".join(doctoring._lines(finding)))  # noqa: T201


if __name__ == "__main__":
    found = account()
    for module in (approving, cancelling, doctoring, limiting, listing, reporting, starting, watching):
        vars(module)["home"] = lambda *, local: found
    if sys.argv[1:] == ["pictures"]:
        terminal_module.prepare()
        pictures()
    else:
        main.main()
