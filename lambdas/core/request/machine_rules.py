"""The rules of the machines at both ends of a request that a schema cannot say."""

from lambdas.core.ends.machine import MachineEnd

# The name of all that they share has their ARNs and begins keys of S3, which have 1 024 bytes at most. A machine takes
# 69 with its joint: that of an instance of ap-southeast-2. So 12 take 828, the
# transfer's id 80 at most, `ends/many/` and `=/` 12: 104 are left for the object's own name (docs/design/016).
MOST_TOGETHER = 12


def problems(source: MachineEnd, destination: MachineEnd, *, measures: bool) -> list[str]:
    """One line for each: field, value, what would be right."""
    found = []
    for at, instance_id in enumerate(destination.machine_ids):
        if instance_id in source.machine_ids:
            is_what = "is the source as well" if source.instance_ids is None else "is a machine of the source as well"
            found.append(
                f"$.destination.{destination.field_of(at)}: '{instance_id}' {is_what}; "
                "name another instance (to copy within one machine use cp or rsync there)"
            )
    count = len(source.machine_ids) + len(destination.machine_ids)
    if count > MOST_TOGETHER:
        end = "source" if len(source.machine_ids) > len(destination.machine_ids) else "destination"
        found.append(
            f"$.{end}.instanceIds: source and destination have {count} machines together; "
            f"name {MOST_TOGETHER} in all at most"
        )
    if measures:
        found += [
            f"$.{end}.instanceIds: {len(machines.instance_ids)} machines, and $.profile is 'measure': links are "
            "measured, by one machine of each end; name one in instanceId"
            for end, machines in (("source", source), ("destination", destination))
            if machines.instance_ids is not None
        ]
    return found
