"""Wait states, whose minutes take as long as the configuration says.

AWS: waits whole seconds. Emulator: so does it, and counts a part of one as none.
"""

from __future__ import annotations

import time
from typing import Any

from local.config import LocalConfig
from local.patches.replace import override
from local.patches.states.engine import WaitFunction

MINUTE_SECONDS = 60.0


def install(config: LocalConfig) -> None:
    """Wait so much shorter, or longer, until the execution is stopped."""

    def waiting(_self: Any, env: Any, wait_seconds: float) -> None:
        until = time.monotonic() + wait_seconds * config.wait_minute_seconds / MINUTE_SECONDS
        while (left := until - time.monotonic()) > 0 and env.is_running():
            env.program_state_event.wait(left)

    override(WaitFunction, _wait_interval=waiting)
