"""`cpt pause` and `cpt unpause`: hold a running transfer, and let it go on."""

import json
from typing import Any

from cli.aws import home
from cli.calls import call
from cli.completion import Transfer
from cli.console import say
from cli.options import AsJson, Local, and_local


def pause(name: Transfer, *, local: Local = False, as_json: AsJson = False) -> None:
    """Pause a transfer: what is under way arrives, no more is sent, and its relays are given back until `cpt unpause`.

    Its timeouts, budget and approval go on counting; `cpt start --resume` is for transfers that have ended.
    """
    answer = call(home(local=local), "pause-transfer", {"transferId": name})
    go_on = f"cpt unpause {name}{and_local()}"
    said = f"{name} is paused: {go_on} lets it go on" if answer["changed"] else f"{name} was paused already: {go_on}"
    _say(answer, said, as_json=as_json)


def unpause(name: Transfer, *, local: Local = False, as_json: AsJson = False) -> None:
    """Let a paused transfer go on; relays are launched again where they still pay."""
    answer = call(home(local=local), "unpause-transfer", {"transferId": name})
    _say(answer, f"{name} goes on" if answer["changed"] else f"{name} was not paused", as_json=as_json)


def _say(answer: dict[str, Any], said: str, *, as_json: bool) -> None:
    say(json.dumps(answer) if as_json else said)
