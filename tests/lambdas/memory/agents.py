"""In-memory twin of what the daemons of a transfer write: the same answers as DynamoDB's, under the same test suite."""

from lambdas.adapters.records import ProbeResult
from lambdas.core.chunks.events import RelayLost, TransferDelivered, TransferFailed
from lambdas.core.chunks.progress import Progress
from lambdas.core.fleet.membership import Membership
from lambdas.core.seats.answers import Answer
from lambdas.core.seats.credentials import Issued, SealingKey


class MemoryAgentRecords:
    """AgentRecords; `progresses`, `route_keys`, `results`, `outcomes` and `lost` are what ends would write."""

    def __init__(self) -> None:
        self._memberships: dict[str, Membership] = {}
        self.progresses: dict[tuple[str, str], Progress] = {}
        self.route_keys: dict[str, str] = {}
        self.seat_keys: dict[tuple[str, str], str] = {}
        """Where several senders have a key each."""
        self.results: dict[str, list[ProbeResult]] = {}
        self.outcomes: dict[tuple[str, str], TransferDelivered | TransferFailed] = {}
        self.lost: dict[str, list[RelayLost]] = {}
        self.answers: list[dict[tuple[str, str], Answer]] = []
        """Of each region's machines."""
        self.fenced: set[str] = set()
        self.sealing_keys: dict[tuple[str, str], SealingKey] = {}
        self.credentials: dict[tuple[str, str], Issued] = {}

    def membership(self, shared: str) -> Membership | None:
        """See AgentRecords."""
        return self._memberships.get(shared)

    def write_membership(self, shared: str, membership: Membership) -> bool:
        """See AgentRecords."""
        known = self._memberships.get(shared)
        before = known.version if known else None
        held = before in (None, 1) if membership.version == 1 else before == membership.version - 1
        if held:
            self._memberships[shared] = membership
        return held

    def progress(self, shared: str, seat_id: str) -> Progress | None:
        """See AgentRecords."""
        return self.progresses.get((shared, seat_id))

    def tell_progress(self, shared: str, seat_id: str, progress: Progress) -> None:
        """See AgentRecords."""
        self.progresses[shared, seat_id] = progress

    def answer(self, shared: str, answer_id: str) -> Answer | None:
        """See AgentRecords."""
        return next((answers[shared, answer_id] for answers in self.answers if (shared, answer_id) in answers), None)

    def route_key(self, shared: str, seat_id: str) -> str | None:
        """See AgentRecords."""
        return self.seat_keys.get((shared, seat_id)) if self.seat_keys else self.route_keys.get(shared)

    def sealing_key(self, shared: str, holder: str) -> SealingKey | None:
        """See AgentRecords."""
        return self.sealing_keys.get((shared, holder))

    def issued(self, shared: str, holder: str) -> Issued | None:
        """See AgentRecords."""
        return self.credentials.get((shared, holder))

    def issue(self, shared: str, holder: str, issued: Issued) -> None:
        """See AgentRecords."""
        self.credentials[shared, holder] = issued

    def probe_results(self, shared: str) -> list[ProbeResult]:
        """See AgentRecords."""
        return list(self.results.get(shared, []))

    def outcome(self, shared: str, seat_id: str) -> TransferDelivered | TransferFailed | None:
        """See AgentRecords."""
        return self.outcomes.get((shared, seat_id))

    def lost_relays(self, shared: str) -> list[RelayLost]:
        """See AgentRecords."""
        return list(self.lost.get(shared, []))

    def fence(self, shared: str, *, fenced: bool) -> None:
        """See AgentRecords."""
        (self.fenced.add if fenced else self.fenced.discard)(shared)

    def forget(self, shared: str) -> None:
        """See AgentRecords."""
        for records in (self._memberships, self.route_keys, self.results, self.lost):
            records.pop(shared, None)
        self.fenced.discard(shared)
        for sides in (self.progresses, self.outcomes, self.sealing_keys, self.credentials):
            for key in [key for key in sides if key[0] == shared]:
                del sides[key]
