"""Time of this machine."""

import time


class SystemClock:
    """Clock over the operating system."""

    def now(self) -> float:
        """See Clock."""
        return time.time()

    def monotonic(self) -> float:
        """See Clock."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """See Clock."""
        time.sleep(seconds)
