"""Whose failure it is that a daemon ends with: its machine's, or the whole transfer's.

A machine's failure costs its seat, while others of its side go on. Where it is in doubt it is taken for the machine's:
if the others meet the same, the last of them ends the transfer with it.
"""

OF_MACHINE = frozenset(
    {
        "ControlUnavailable",
        "DestinationError",
        "ListenFailed",
        "NoKey",
        "NotEnoughMemory",
        "NotReady",
        "Output",
        "RateRules",
        "ReadyFile",
        "ReceiverError",
        "RunAs",
        "SenderError",
        "Signals",
        "TooFewOpenFiles",
        "WorkingDirectory",
    }
)
"""Another machine of the side may be able to do what this one is not."""

OF_TRANSFER = frozenset(
    {
        "ChunksFailed",
        "CredentialsRefused",
        "DestinationFull",
        "DigestMismatch",
        "NoReceiver",
        "PlanInvalid",
        "RelayError",
        "SurveyProblem",
    }
)
"""It is of what all machines share, or of no seat at all."""


def is_of_machine(error: str) -> bool:
    """Return whether others of its side may go on; a name that nobody knows ends the transfer."""
    return error in OF_MACHINE
