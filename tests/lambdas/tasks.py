"""Functions that wait beside each other on one clock: each runs until it waits, and goes on when its time comes."""

import threading
from collections.abc import Callable

from tests.lambdas.clock import FakeClock


class TaskClock(FakeClock):
    """Time passes in `tick` alone; `begin` runs a function as one of many that wait at the same time.

    One function runs at a time, so what it does between two waits is never disturbed.
    """

    def __init__(self) -> None:
        super().__init__()
        self._tasks: list[_Task] = []

    def begin(self, work: Callable[[], object]) -> None:
        """Run `work` until it waits or ends; raises what it raises."""
        task = _Task(work)
        self._tasks.append(task)
        self._go_on(task)

    def tick(self, seconds: float = 1.0) -> None:
        """Let time pass, and run whoever has waited for long enough."""
        self.time += seconds
        for task in [task for task in self._tasks if task.wakes_at <= self.time]:
            self._go_on(task)

    def sleep(self, seconds: float) -> None:
        """Wait within `begin`; who waits for nothing may be anywhere."""
        if seconds <= 0:
            return
        task = next((task for task in self._tasks if task.thread is threading.current_thread()), None)
        assert task, "only what was begun as a task may wait: this clock moves for all of them"
        task.wakes_at = self.time + seconds
        task.wait()

    def _go_on(self, task: "_Task") -> None:
        task.run()
        if task.is_over:
            self._tasks.remove(task)
            if task.error:
                raise task.error


class _Task:
    """A function in a thread of its own, which runs only while `run` waits for it."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._turn, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self.wakes_at, self.is_over = 0.0, False
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        self._turn.release()
        self._stopped.acquire()

    def wait(self) -> None:
        self._stopped.release()
        self._turn.acquire()

    def _run(self) -> None:
        self._turn.acquire()
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001  raised where the task was begun or went on
            self.error = error
        self.is_over = True
        self._stopped.release()
