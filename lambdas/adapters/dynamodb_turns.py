"""Turns at RunInstances: one item per region in the transfers table, moved on by conditional writes."""

from lambdas.adapters.dynamodb import Table
from lambdas.core.errors import WriteConflict
from lambdas.core.fleet.launch_queue import EARLY, STEP, next_turn

_ATTEMPTS = 8


class DynamoLaunchTurns:
    """LaunchTurns over DynamoDB. A turn is one write, however many take one at the same time."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def take(self, region: str, now: float) -> float:
        """See LaunchTurns."""
        key, names = {"transferId": f"launches#{region}", "record": "turns"}, {"#following": "following"}
        for _ in range(_ATTEMPTS):
            queued = self._table.update(key, "ADD #following :step", "#following >= :now", names, step=STEP, now=now)
            if queued is not None:
                return max(float(queued["following"]) - STEP - EARLY, now)
            turn, following = next_turn(None, now)
            idle = "attribute_not_exists(#following) OR #following < :now"
            if self._table.update(key, "SET #following = :following", idle, names, now=now, following=following):
                return turn
        raise WriteConflict(f"the turns of {region} changed {_ATTEMPTS} times while one was taken")
