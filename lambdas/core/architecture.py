"""The processor of each instance type: relays are launched with an image for it."""

import re
from typing import Literal

Architecture = Literal["x86_64", "arm64"]

# An Arm family has a `g` after its generation (c7gn, t4g); g4dn has it before. `infra/lib/config.ts` reads names alike.
_ARM = re.compile(r"([a-z]+\d+[a-z]*g[a-z]*|a1)\.")


def architecture_of(instance_type: str) -> Architecture:
    """Return the processor of a type: arm64 for `c7gn.large`."""
    return "arm64" if _ARM.match(instance_type) else "x86_64"
