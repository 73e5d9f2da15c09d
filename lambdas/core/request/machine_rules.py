"""The rules of the machines at both ends of a request that a schema cannot say."""

from lambdas.core.ends.hdfs import HdfsEnd
from lambdas.core.ends.seated import DestinationPath, SeatedEnd, SourcePaths

# The name of all that they share has their ARNs and begins keys of S3, which have 1 024 bytes at most. A machine takes
# 69 with its joint: that of an instance of ap-southeast-2. So 12 take 828, the
# transfer's id 80 at most, `ends/many/` and `=/` 12: 104 are left for the object's own name (docs/design/016).
MOST_TOGETHER = 12


def problems(source: SourcePaths, destination: DestinationPath, *, measures: bool) -> list[str]:
    """One line for each: field, value, what would be right."""
    found = []
    for at, instance_id in enumerate(destination.machine_ids):
        if instance_id in source.machine_ids:
            found.append(
                f"$.destination.{destination.field_of(at)}: '{instance_id}' is {_part_of(source)} as well; "
                f"name another instance ({_without_cpt(source, destination)} there)"
            )
    # Of a cluster one worker serves at least; how many more there is room for is found out with it.
    count = sum(len(end.machine_ids) or 1 for end in (source, destination))
    ends: tuple[tuple[str, SeatedEnd], ...] = (("source", source), ("destination", destination))
    if count > MOST_TOGETHER:
        name, end = max(reversed(ends), key=lambda one: len(one[1].machine_ids))
        found.append(
            f"$.{name}.{end.several_field}: source and destination have {count} machines together; "
            f"name {MOST_TOGETHER} in all at most"
        )
    if measures:
        found += [
            f"$.{name}.{end.several_field}: {len(end.machine_ids)} machines, and $.profile is 'measure': links are "
            f"measured, by one machine of each end; name one{'' if isinstance(end, HdfsEnd) else ' in instanceId'}"
            for name, end in ends
            if len(end.machine_ids) > 1
        ]
    return found


def _part_of(source: SourcePaths) -> str:
    if isinstance(source, HdfsEnd):
        return "a worker of the source"
    return "a machine of the source" if len(source.machine_ids) > 1 else "the source"


def _without_cpt(source: SourcePaths, destination: DestinationPath) -> str:
    if isinstance(source, HdfsEnd):
        if isinstance(destination, HdfsEnd):
            return "to copy within one cluster use hdfs dfs -cp or hadoop distcp"
        return "to copy out of its cluster use hdfs dfs -get"
    if isinstance(destination, HdfsEnd):
        return "to copy into its cluster use hdfs dfs -put"
    return "to copy within one machine use cp or rsync"
