"""The list of keys that a request names, where those find it who list its source."""

from lambdas.adapters.world import World
from lambdas.core.ends.bucket import SourceBucket
from lambdas.core.ends.key_list import MOST_LIST_BYTES, parts, problem
from lambdas.core.errors import SurveyProblem
from lambdas.core.transfer.accepted import AcceptedTransfer

FOLDER = "keys/"


def share(world: World, transfer: AcceptedTransfer, folder: str) -> int | None:
    """Check the list and write it below the folder, in parts; how many, None where the request names no list.

    Raises SurveyProblem. Whoever does it again writes the same.
    """
    source = transfer.request.source
    if not isinstance(source, SourceBucket) or source.keys is None:
        return None
    name = source.keys.manifest
    body = _body(world, name)
    if why := problem(name, body, source.prefix):
        raise _refused(name, why)
    count = 0
    for number, part in enumerate(parts(body)):
        world.objects.put(part_key(folder, number), part)
        count = number + 1
    return count


def part_key(folder: str, number: int) -> str:
    """Where a part of the list is."""
    return f"{folder}part-{number:05d}.ndjson"


def _body(world: World, name: str) -> bytes:
    size = world.objects.size(name)
    if size is None:
        raise _refused(name, f"s3://{world.env.control_bucket}/{name} is not there; write the list first")
    if size > MOST_LIST_BYTES:
        raise _refused(name, f"it has {size} bytes, and {MOST_LIST_BYTES} are the most; make several lists of it")
    return world.objects.read(name) or b""


def _refused(name: str, why: str) -> SurveyProblem:
    return SurveyProblem(f"$.source.keys.manifest: '{name}': {why}")
