"""Looks at a service's metrics and memory all the while it runs."""

import dataclasses
import pathlib
import re
import threading

PERIOD_SECONDS = 0.25
PREFIX = "heliograph_"
_LINE = re.compile(r"^(\w+)(?:\{[^}]*\})? (\S+)$", re.M)
# Where a consumed event can be.
PLACES = (
    "events_terminal_total",
    "inflight_events",
    "events_deferred_total",
    "events_released_total",
)


def metric_sums(text):
    """{name without prefix: the sum over its labels} of a page of Prometheus text."""
    sums = {}
    for name, value in _LINE.findall(text):
        name = name.removeprefix(PREFIX)
        sums[name] = sums.get(name, 0.0) + float(value)
    return sums


def violation(before, now):
    """What is wrong with the accounts on this page, or None; `before` is the page before it.

    The service reads the parts of `events_unaccounted` together; the other metrics are read one
    by one, so they must agree only while nothing moves.
    """
    unaccounted = now.get("events_unaccounted", 0)
    if unaccounted != 0:
        return f"events_unaccounted is {unaccounted:g}"
    names = ("events_consumed_total", *PLACES)
    if before is None or any(before.get(name) != now.get(name) for name in names):
        return None
    if now.get("events_consumed_total", 0) != sum(now.get(name, 0) for name in PLACES):
        told = {name: now.get(name) for name in names}
        return f"consumed is not terminal + in flight + deferred + released: {told}"
    return None


@dataclasses.dataclass
class Peaks:
    """The largest values seen."""

    rss_bytes: int = 0
    in_flight: int = 0


class Sampler:
    """Asks `fetch("/metrics")` four times a second until `stop`, on a thread of its own."""

    def __init__(self, service):
        self._service = service
        self._end = threading.Event()
        self.violations = []
        self.samples = 0
        self.peaks = Peaks()
        self.last = {}
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        before = None
        while not self._end.wait(PERIOD_SECONDS) and not self._service.child.is_silent:
            self._look_at_memory()
            if not self._service.has_port:
                continue
            status, text = self._service.fetch("/metrics")
            if status != 200:
                continue
            now = metric_sums(text)
            found = violation(before, now)
            if found:
                self.violations.append(found)
            self.samples += 1
            self.peaks.in_flight = max(self.peaks.in_flight, int(now.get("inflight_events", 0)))
            before = self.last = now

    def _look_at_memory(self):
        try:
            text = pathlib.Path(f"/proc/{self._service.child.pid}/status").read_text()
        except OSError:
            return
        found = re.search(r"^VmHWM:\s+(\d+) kB", text, re.M)
        if found:
            self.peaks.rss_bytes = max(self.peaks.rss_bytes, int(found[1]) * 1024)

    def stop(self):
        self._end.set()
        self._thread.join(10)

    def check(self):
        assert not self.violations, f"the accounts do not balance: {self.violations[:5]}"
