"""The answers of whoever reacts to what happens to a fleet, for logs and tests."""

from enum import StrEnum


class Answer(StrEnum):
    """What was done about an event."""

    OVER = "over"
    """Nothing: the transfer does not run any more."""
    KNOWN = "known"
    """Nothing: somebody else is at it, or it is not due."""
    KEPT = "kept"
    """Nothing: as it is, it is best."""
    TOO_DEAR = "too dear"
    """Nothing: the budget does not bear it."""
    REFUSED = "refused"
    """Nothing: no relay was to be had."""
    RESUMED = "resumed"
    """What another invocation had begun came to its end."""
    GROWN = "grown"
    CHANGED = "changed"
    """Routes were exchanged."""
    PARTLY = "partly"
    """Some of the relays came: nobody leaves for them yet."""
    REPLACED = "replaced"
    REMOVED = "removed"
    """The relay went, and has no successor."""
