"""What a request says of DistCp, whose time an estimate between two HDFS ends has beside its rows."""

from typing import Annotated

from pydantic import Field

from lambdas.core.documents import Document, Integer
from lambdas.core.ends.hdfs import HdfsEnd
from lambdas.core.ends.kinds import DestinationEnd, SourceEnd

# More than any cluster runs at once.
MOST_MAPS = 100_000
MOST_MAP_MB_S = 1_000_000
MOST_START_SECONDS = 86_400
_BETWEEN = "DistCp copies between two HDFS ends"


class DistCpRequest(Document):
    """How DistCp would run between the two clusters; what is absent is learnt or taken from the dissertation.

    `maps` (M): map tasks that run at once · `map_rate` (v_map): what each of them copies, MB/s · `start_seconds`
    (T_0): what a job takes that copies nothing, s.
    """

    maps: Annotated[Integer, Field(ge=1, le=MOST_MAPS)] | None = None
    map_rate: Annotated[float, Field(gt=0, le=MOST_MAP_MB_S)] | None = Field(default=None, alias="mapMBps")
    start_seconds: Annotated[float, Field(ge=0, le=MOST_START_SECONDS)] | None = None


def problems(source: SourceEnd, destination: DestinationEnd, asked: DistCpRequest | None, minimise: str) -> list[str]:
    """One line for each key that has no meaning between these ends: field, value, what would be right."""
    if copies_between(source, destination):
        return []
    ends = (("source", source), ("destination", destination))
    side, kind = next((side, end.kind) for side, end in ends if not isinstance(end, HdfsEnd))
    why = f"and $.{side}.kind is '{kind}': {_BETWEEN}"
    found = []
    if minimise == "pairs":
        goals = "'time', 'cost', 'energy' or 'balanced'"
        found.append(f"$.objective.minimise: 'pairs', {why}, and its time is what 'pairs' goes by; write {goals}")
    if asked is not None:
        found.append(f"$.distcp: {asked.to_document()}, {why}; leave it out")
    return found


def copies_between(source: SourceEnd, destination: DestinationEnd) -> bool:
    """Whether DistCp could copy this: both ends are HDFS."""
    return isinstance(source, HdfsEnd) and isinstance(destination, HdfsEnd)
