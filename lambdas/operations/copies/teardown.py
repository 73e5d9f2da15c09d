"""What copies between buckets leave, taken down: uploads that nobody completes, and lists that nobody reads again."""

import json

from lambdas.adapters.world import World
from lambdas.core.errors import MissingPermission, TeardownIncomplete
from lambdas.core.record.transfer_record import ENDED, TransferRecord
from lambdas.operations.copies.notebook import Notebook
from lambdas.operations.copies.one_object import UploadNote, forget
from lambdas.operations.copies.opening import copying_as, open_buckets


def take_down(world: World, record: TransferRecord) -> int:
    """Abort uploads that are not completed, unless a later run may go on with them; how many.

    They stay after a run that has not come to its end. The next one between these ends goes on with them, or forgets
    them; whoever takes the transfer down once more by hand discards them. Raises TeardownIncomplete.
    """
    notebook = Notebook(world, record.transfer)
    is_over = record.copies is not None and record.copies.complete
    count = _forget_uploads(world, record, notebook) if is_over or record.status in ENDED else 0
    if is_over:
        world.objects.delete(world.objects.keys(f"{notebook.prefix}units/"))
        world.objects.delete(world.objects.keys(notebook.list_of_keys))
    return count


def _forget_uploads(world: World, record: TransferRecord, notebook: Notebook) -> int:
    keys = world.objects.keys(notebook.uploads)
    if not keys:
        return 0
    try:
        buckets = open_buckets(world, record.transfer)
    except MissingPermission as error:
        raise TeardownIncomplete(f"{len(keys)} uploads are left in the destination: {error}") from error
    count, session = 0, copying_as(world, record.transfer)
    for key in keys:
        if body := world.objects.read(key):
            count += forget(buckets, UploadNote(*json.loads(body)), session)
        world.objects.delete([key])
    return count
