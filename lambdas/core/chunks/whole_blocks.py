"""The size of chunks where they become files of HDFS that are joined: `concat` takes whole blocks, but for the last."""

from lambdas.core.chunks.plan import MIB
from lambdas.core.ends.hdfs import USUAL_BLOCK_MIB, DestinationHdfs
from lambdas.core.transfer.accepted import AcceptedTransfer


def usual_bytes(transfer: AcceptedTransfer, usual: int) -> int:
    """Bytes of a chunk: what is usual, but a block at least, both of which are powers of two.

    A size that the request asks for stays. Where it is smaller than a block of the cluster, the request names no block
    size (`core.request.hdfs_rules`), and blocks are as large as chunks.
    """
    destination = transfer.request.destination
    if not isinstance(destination, DestinationHdfs) or transfer.request.chunk_size_mib is not None:
        return usual
    return max(usual, (destination.block_size_mib or USUAL_BLOCK_MIB) * MIB)
