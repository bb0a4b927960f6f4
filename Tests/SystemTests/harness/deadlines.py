"""Waiting for something to become true, never for time to pass."""

import threading
import time


class Deadline:
    """A moment after which waiting turns into failure."""

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
    """Asks until `condition()` is truthy, and returns that value.

    `what` completes the sentence "waited N s for ..."; it may be a callable, for late facts.
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
