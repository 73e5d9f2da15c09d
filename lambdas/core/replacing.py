"""What of the destination is replaced: which keys of a request cannot stand beside each other."""

from typing import Literal

Overwrite = Literal["always", "if-newer", "never"]


def problems(overwrite: Overwrite, *, resend_all: bool, compare: str, resume: bool, hard_links: bool) -> list[str]:
    """What is said of it, and does not go together; one line each."""
    found = []
    if overwrite != "always" and hard_links:
        found.append(
            f"$.overwrite: {overwrite!r}, and $.preserve.hardLinks is true: further names of a file that is left alone "
            "would show another content than the source's; leave one of them out"
        )
    others: tuple[tuple[str, object, object, str], ...] = (
        ("overwrite", overwrite, "always", "all would be sent, and some of it not written"),
        ("compare", compare, "size-time", "all would be read, and none of it left out"),
        ("resume", resume, False, "a resumed transfer does not send again what has arrived"),
    )
    if resend_all:
        found += [
            f"$.resendAll: true, and $.{key} is {value!r}: {why}; leave one of them out"
            for key, value, usual, why in others
            if value != usual
        ]
    return found
