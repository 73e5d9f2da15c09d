"""What the scans of both ends print: what the source has, what the destination can take and has already."""

from typing import Annotated, Literal

from pydantic import Field

from lambdas.core.documents import Count, Document, Handover
from lambdas.core.request.deletion import ExtrasSurvey
from lambdas.core.survey.whereabouts import DirectoryWay, Kernel, Whereabouts


class SurveyProblemEntry(Document):
    """A path that stands in the way; percent-encoded."""

    path: str
    reason: str


class Listed(Document):
    """Totals of a listing that lies in `parts` objects; bytes."""

    schema_version: Literal[1]
    daemon_version: str
    files: Count
    directories: Count
    symlinks: Count
    bytes: Count
    stored_bytes: Count | None = None
    """Without the holes of files whose holes are kept; None if that is the same, or not known."""
    further_names: Count | None = None
    """Of the files, names of others."""
    largest_file_bytes: Count
    parts: Count

    @property
    def entries(self) -> int:
        """Everything that will be made at the destination."""
        return self.files + self.directories + self.symlinks

    @property
    def needed_bytes(self) -> int:
        """The room that it takes."""
        return self.bytes if self.stored_bytes is None else self.stored_bytes

    @property
    def needed_inodes(self) -> int:
        """A further name takes none."""
        return self.entries - (self.further_names or 0)


UnselectedReason = Literal[
    "excluded",
    "not-included",
    "too-small",
    "too-large",
    "too-old",
    "too-new",
    "link",
    "link-outside",
    "link-dangling",
    "link-loop",
    "other-file-system",
    "special",
    "leftover",
    "gone",
    "unreadable",
    "no-path",
    "archived",
]
UnselectedCounts = dict[UnselectedReason, Annotated[int, Field(ge=1)]]

UnkeptCounts = Annotated[dict[str, Annotated[int, Field(ge=1)]], Field(min_length=1, max_length=21)]


class SourceSurvey(Listed):
    """Output of `cpt-relay scan` about the source, which it lists in `listing/`."""

    side: Literal["source"]
    skipped: Count
    unselected: UnselectedCounts | None = None
    unkept: UnkeptCounts | None = None
    unselected_parts: Annotated[int, Field(ge=1)] | None = None
    unselected_digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    listing_digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    read_mb_s: Annotated[float, Field(gt=0)] | None = Field(default=None, alias="readMBps")
    packed_share: Annotated[float, Field(gt=0, le=1)] | None = None
    """Bytes on the wire for a byte of the source, by a sample; only where the request lets it be packed."""
    kernel: Kernel | None = None
    places: list[Whereabouts] | None = None
    """Where its paths are, of the first ones, as `kernel` sees them."""
    problems: list[SurveyProblemEntry]
    problem_count: Count


class DestinationSurvey(Document):
    """Output of `cpt-relay scan` about the destination; bytes and inodes.

    `ways`: which directory it is; none of a bucket. `bytes_quota_of`, `inodes_quota_of`: the directory of HDFS,
    percent-encoded, whose quota leaves so many and no more.
    """

    schema_version: Literal[1]
    side: Literal["destination"]
    daemon_version: str
    free_bytes: Count
    free_inodes: Count
    bytes_quota_of: str | None = None
    inodes_quota_of: str | None = None
    occupied: bool
    ways: list[DirectoryWay]
    kernel: Kernel | None = None
    write_mb_s: Annotated[float, Field(gt=0)] | None = Field(default=None, alias="writeMBps")
    problems: list[SurveyProblemEntry]
    problem_count: Count


class Mark(Document):
    """Output of `cpt-relay scan` at the destination: whether its mark is there now."""

    schema_version: Literal[1]
    side: Literal["mark"]
    daemon_version: str
    present: bool


class Marked(Document):
    """Output of `cpt-relay scan` at the source: whether its machine sees the mark of the destination."""

    schema_version: Literal[1]
    side: Literal["marked"]
    daemon_version: str
    seen: bool


class ComparisonSurvey(Listed):
    """The part of the listing that is to be sent, in a folder of its own, and what is at the destination already.

    `new`: of the former, what the destination has nothing of. `left_alone`: what is not sent because the request does
    not let what is in its place be replaced.
    """

    side: Literal["comparison"]
    same_files: Count
    same_bytes: Count
    new_files: Count
    new_bytes: Count
    left_alone_entries: Annotated[int, Field(ge=1)] | None = None
    left_alone_bytes: Annotated[int, Field(ge=1)] | None = None

    @property
    def left_alone(self) -> "LeftAlone | None":
        """What the report says of it; None where there is none."""
        if self.left_alone_entries is None:
            return None
        return LeftAlone(entries=self.left_alone_entries, bytes=self.left_alone_bytes or 0)


class Same(Document):
    """Files that were at the destination already, and are not sent; bytes."""

    files: Count
    bytes: Count


class LeftAlone(Document):
    """Files and links that are not sent, because what the destination has in their place is not replaced; bytes."""

    entries: Annotated[int, Field(ge=1)]
    bytes: Count


class Unselected(Document):
    """What of the source is not moved: how many for each reason, and the folder of the list (`s3://…/`)."""

    counts: UnselectedCounts
    where: str


class Survey(Handover):
    """Both sides; `comparison` where the destination was not empty.

    `folder`: where it is listed what is to be sent, below the transfer's prefix; `equal_folder`: what the comparison
    found equal. `goes_on`: the plan of an earlier run
    still fits, and the comparison's bytes are those that it has not delivered. `extras`: where they may be removed.
    """

    source: SourceSurvey
    destination: DestinationSurvey
    comparison: ComparisonSurvey | None = None
    folder: str = "listing/"
    equal_folder: str | None = None
    goes_on: bool = False
    extras: ExtrasSurvey | None = None

    @property
    def to_send(self) -> Listed:
        """Totals that the transfer has to move."""
        return self.comparison or self.source
