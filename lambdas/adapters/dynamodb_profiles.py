"""The profile table."""

from collections.abc import Iterable
from dataclasses import asdict
from itertools import islice
from typing import Any

from botocore.exceptions import ClientError
from pydantic import Field

from lambdas.adapters.clock import SystemClock
from lambdas.adapters.codec import encode_item
from lambdas.adapters.dynamodb import Table
from lambdas.adapters.ports import Clock
from lambdas.adapters.throttling import is_throttle
from lambdas.core.documents import Count, Document
from lambdas.core.errors import Throttled, WriteConflict
from lambdas.core.estimate.history import Event, History
from lambdas.core.estimate.profile import Metric, Profile

_ATTEMPTS = 8
# As many as DynamoDB reads at once.
BATCH = 100
# 0.05 s doubling six times: 3.15 s of back-off. A person waits for the answer, and asks again.
_BACK_OFFS = [0.05 * 2**n for n in range(6)]


class HistoryItem(Document):
    """A metric's history as an item holds it; in the metric's unit, Unix seconds."""

    mean: float
    second_moment: float
    samples: Count
    at_seconds: float
    longest_seconds: float = 0.0
    weight: float | None = None
    measurements: Count | None = None


class ProfileItem(Document):
    """One item: `configured` is written by operators, `metrics` and `version` by transfers."""

    subject: str
    region_pair: str
    version: Count = 0
    metrics: dict[Metric, HistoryItem] = Field(default_factory=dict)
    configured: dict[Metric, float] = Field(default_factory=dict)

    @property
    def profile(self) -> Profile:
        """Without its keys."""
        histories = {metric: History(**item.model_dump()) for metric, item in self.metrics.items()}
        return Profile(histories, self.configured)


class DynamoProfileStore:
    """ProfileStore over DynamoDB."""

    def __init__(self, table: Table, clock: Clock | None = None) -> None:
        self._table = table
        self._clock = clock or SystemClock()

    def get(self, subject: str, region_pair: str) -> Profile | None:
        """See ProfileStore."""
        item = self._read(subject, region_pair)
        return item.profile if item else None

    def get_all(self, keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Profile]:
        """See ProfileStore; one batch after the other, so that no more is asked at once than the table gives."""
        wanted = iter(dict.fromkeys(keys))
        found: dict[tuple[str, str], Profile] = {}
        while batch := list(islice(wanted, BATCH)):
            for document in self._batch([encode_item({"subject": one, "regionPair": pair}) for one, pair in batch]):
                item = ProfileItem.from_document(document)
                found[item.subject, item.region_pair] = item.profile
        return found

    def _batch(self, keys: list[dict[str, Any]]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for pause in (0.0, *_BACK_OFFS):
            if pause:
                self._clock.sleep(pause)
            try:
                items, keys = self._table.get_batch(keys)
            except ClientError as error:
                # The whole batch is refused where not one of its keys could be read.
                if not is_throttle(error):
                    raise
                continue
            found += items
            if not keys:
                return found
        raise Throttled(f"DynamoDB left {len(keys)} profiles unread after {len(_BACK_OFFS) + 1} tries")

    def integrate(
        self,
        subject: str,
        region_pair: str,
        metric: Metric,
        sample: float | Event,
        at_seconds: float,
        lasted_seconds: float = 0.0,
    ) -> None:
        """See ProfileStore."""
        for _ in range(_ATTEMPTS):
            item = self._read(subject, region_pair) or ProfileItem(subject=subject, region_pair=region_pair)
            if self._write(item, item.profile.refined(metric, sample, at_seconds, lasted_seconds)):
                return
        raise WriteConflict(f"the profile of {subject} ({region_pair}) changed {_ATTEMPTS} times while it was written")

    def _read(self, subject: str, region_pair: str) -> ProfileItem | None:
        item = self._table.get(subject=subject, regionPair=region_pair)
        return ProfileItem.from_document(item) if item else None

    def _write(self, read: ProfileItem, refined: Profile) -> bool:
        metrics = {metric: HistoryItem(**asdict(history)).to_document() for metric, history in refined.metrics.items()}
        written = self._table.update(
            {"subject": read.subject, "regionPair": read.region_pair},
            "SET #metrics = :metrics, #version = :next",
            "attribute_not_exists(#version) OR #version = :read",
            {"#metrics": "metrics", "#version": "version"},
            metrics=metrics,
            read=read.version,
            next=read.version + 1,
        )
        return written is not None
