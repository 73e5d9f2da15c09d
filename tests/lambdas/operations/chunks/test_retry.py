"""A chunk's life under random orders of what happens, with duplicates, delays and losses, against a model."""

from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_chunks import DynamoChunkStore
from lambdas.adapters.world import World
from lambdas.core.chunks.chunk_life import Change
from lambdas.core.chunks.retry_policy import MAX_ATTEMPTS
from lambdas.operations.chunks.retry import decide
from tests.lambdas import builders
from tests.lambdas.cloud import Cloud

CHUNKS = 3
# An example of 40 steps takes 15 ms in memory, 1 s where each look at the table is a request.
EXAMPLES = {"memory": 300, "dynamodb": 5, "dynamodb-local": 20}
REASONS = ["stream-lost", "checksum-mismatch", "source-changed"]
transfers = (f"life{number}" for number in count())


@dataclass
class Expected:
    """What the table must hold of one chunk; written without looking at the code."""

    state: str = "PENDING"
    attempt: int = 1
    noted: int | None = None
    reason: str | None = None
    digest: str | None = None


@dataclass(frozen=True)
class Message:
    """Something on its way to the table or to the retry policy: it may arrive late, often, or never."""

    kind: str
    chunk: int
    attempt: int
    reason: str = ""


class ChunkLife(RuleBasedStateMachine):
    """Senders of any age, a receiver, the retry rule and the reconciler, on one transfer."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world, self.store, self.transfer = world, world.chunks, next(transfers)
        self.shared = builders.shared(self.transfer)
        self.under_way: list[Message] = []
        self.model = [Expected() for _ in range(CHUNKS)]
        self.store.put_all(builders.chunk(number, self.transfer) for number in range(CHUNKS))

    @rule(chunk=st.integers(0, CHUNKS - 1), arrives=st.booleans(), reason=st.sampled_from(REASONS))
    def sender_tries_a_chunk(self, chunk: int, arrives: bool, reason: str) -> None:
        """It reads the attempt and sends; a lane that broke may have delivered all the same."""
        item = self.store.get(self.shared, chunk)
        assert item is not None
        if item.state == "PENDING":
            if arrives:
                self.under_way.append(Message("deliver", chunk, item.attempt))
            if not arrives or reason == "stream-lost":
                self.under_way.append(Message("note", chunk, item.attempt, reason))

    @rule(chunk=st.integers(0, CHUNKS - 1), attempt=st.integers(1, MAX_ATTEMPTS + 1), reason=st.sampled_from(REASONS))
    def message_of_a_process_long_dead(self, chunk: int, attempt: int, reason: str) -> None:
        attempt = min(attempt, self.model[chunk].attempt)
        for kind in ("deliver", "note", "decide"):
            self.under_way.append(Message(kind, chunk, attempt, reason))

    @precondition(lambda self: self.under_way)
    @rule(data=st.data(), again=st.booleans())
    def message_arrives(self, data: st.DataObject, again: bool) -> None:
        message = data.draw(st.sampled_from(self.under_way))
        if not again:
            self.under_way.remove(message)
        self._apply(message)

    @precondition(lambda self: self.under_way)
    @rule(data=st.data())
    def message_is_lost(self, data: st.DataObject) -> None:
        self.under_way.remove(data.draw(st.sampled_from(self.under_way)))

    @rule()
    def reconciler_looks(self) -> None:
        for item in list(self.store.read(self.shared, builders.plan(self.transfer, CHUNKS))):
            assert item.awaits_policy == (self._waits(item.chunk))
            if item.awaits_policy:
                self._decide(item.chunk, item.attempt, item.reason or "")

    def _waits(self, chunk: int) -> bool:
        known = self.model[chunk]
        return known.state == "PENDING" and known.noted == known.attempt

    def _apply(self, message: Message) -> None:
        known, chunk, attempt = self.model[message.chunk], message.chunk, message.attempt
        current = known.state == "PENDING" and known.attempt == attempt
        match message.kind:
            case "deliver":
                digest = f"{attempt:064x}"
                values: dict[str, Any] = {
                    "digest": digest,
                    "pathId": "direct",
                    "lane": 0,
                    "startedAt": 1.0,
                    "deliveredAt": 2.0,
                }
                assert self.store.change(self.shared, chunk, Change("deliver", attempt, values)) == current
                if current:
                    known.state, known.digest = "DELIVERED", digest
            case "note":
                values = {"failedAttempt": attempt, "reason": message.reason}
                assert self.store.change(self.shared, chunk, Change("note-failure", attempt, values)) == current
                if current:
                    known.noted, known.reason = attempt, message.reason
                    self.under_way.append(Message("decide", chunk, attempt, message.reason))
            case _:
                self._decide(chunk, attempt, message.reason)

    def _decide(self, chunk: int, attempt: int, reason: str) -> None:
        known = self.model[chunk]
        answer = decide(self.world, self.shared, chunk, attempt, reason)
        if known.state != "PENDING" or known.attempt != attempt:
            assert answer == "known"
            return
        if attempt >= (2 if reason == "source-changed" else MAX_ATTEMPTS):
            assert answer == "given up"
            known.state, known.reason = "FAILED", f"{reason} after {attempt} attempts"
        else:
            assert answer == "retried"
            known.attempt, known.reason = attempt + 1, reason

    @invariant()
    def the_table_holds_what_the_model_says(self) -> None:
        for chunk, known in enumerate(self.model):
            item = self.store.get(self.shared, chunk)
            assert item is not None
            found = Expected(item.state, item.attempt, item.failed_attempt, item.reason, item.digest)
            assert found == known
            assert item.attempt <= MAX_ATTEMPTS

    def teardown(self) -> None:
        """Once every attempt is answered and the reconciler has looked, every chunk ends."""
        for _ in range(MAX_ATTEMPTS):
            for chunk, known in enumerate(self.model):
                self._apply(Message("note", chunk, known.attempt, "stream-lost"))
            self.reconciler_looks()
        assert all(known.state in ("DELIVERED", "FAILED") for known in self.model)


def test_no_order_of_events_makes_the_table_differ_from_the_model(kind: str, tables: dict[str, Table]) -> None:
    def machine() -> ChunkLife:
        cloud = Cloud()
        store = DynamoChunkStore(tables["chunks"], cloud.clock) if tables else cloud.chunks
        return ChunkLife(replace(cloud.world, chunks=store))

    profile = settings(max_examples=EXAMPLES[kind], stateful_step_count=40, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(machine, settings=profile)  # type: ignore[arg-type]  # it takes any callable
