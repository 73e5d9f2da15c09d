"""Where in a network something is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A region, and what of its inside is known; `account`: None is the deployment's own."""

    region: str
    vpc_id: str | None = None
    zone: str | None = None
    account: str | None = None
