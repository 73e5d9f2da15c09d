"""The profile table."""

from dataclasses import asdict

from pydantic import Field

from lambdas.adapters.dynamodb import Table
from lambdas.core.documents import Count, Document
from lambdas.core.errors import WriteConflict
from lambdas.core.estimate.history import History
from lambdas.core.estimate.profile import Metric, Profile

_ATTEMPTS = 8


class HistoryItem(Document):
    """A metric's history as an item holds it; in the metric's unit, Unix seconds."""

    mean: float
    second_moment: float
    samples: Count
    at_seconds: float
    longest_seconds: float = 0.0


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

    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, subject: str, region_pair: str) -> Profile | None:
        """See ProfileStore."""
        item = self._read(subject, region_pair)
        return item.profile if item else None

    def integrate(
        self,
        subject: str,
        region_pair: str,
        metric: Metric,
        sample: float,
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
