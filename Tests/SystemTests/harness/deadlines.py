"""Waits for a condition, never for time to pass."""

import threading
import time


class Deadline:
    """A point in time after which waiting fails."""

    def __init__(self, seconds):
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def remaining(self):
        return max(0.0, self._end - time.monotonic())

    @property
    def passed(self):
        return self.remaining == 0


def eventually(condition, seconds, what, interval=0.05):
    """Polls until `condition()` is truthy, and returns its value.

    `what` completes the sentence "waited N s for ..."; it may be a callable, for details at the
    time of failure.
    """
    deadline = Deadline(seconds)
    pause = threading.Event()
    while True:
        value = condition()
        if value:
            return value
        if deadline.passed:
            told = what() if callable(what) else what
            raise AssertionError(f"waited {seconds} s for {told}")
        pause.wait(interval)
