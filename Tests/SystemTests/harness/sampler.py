"""Samples a service's metrics and memory while it runs."""

import dataclasses
import pathlib
import re
import threading

PERIOD_SECONDS = 0.25
# This many equal samples in a row mean that the counts are at rest. On a busy machine, a thread can
# pause for a second between two of its counters.
REST_SAMPLES = 20
# A page lacks `events_unaccounted` while a shard is interrupted in the middle of writing its counts.
MAX_FETCHES = 20
PREFIX = "heliograph_"
_LINE = re.compile(r"^(\w+)(?:\{[^}]*\})? (\S+)$", re.M)
# The places where a consumed event can be.
PLACES = (
    "events_terminal_total",
    "inflight_events",
    "waiting_recipients",
    "events_deferred_total",
    "events_released_total",
)
SUMMED = ("events_consumed_total", *PLACES)


def metric_sums(text):
    """{name without prefix: the sum over all labels} of a page of Prometheus text."""
    sums = {}
    for name, value in _LINE.findall(text):
        name = name.removeprefix(PREFIX)
        sums[name] = sums.get(name, 0.0) + float(value)
    return sums


def violation(page):
    """The violated accounting rule that must hold at all times, or None."""
    missing = [name for name in ("events_unaccounted", *SUMMED) if name not in page]
    if missing:
        return f"the page has no {' and no '.join(missing)}"
    # The service reads these parts in one step.
    if page["events_unaccounted"] != 0:
        return f"events_unaccounted is {page['events_unaccounted']:g}"
    return None


def is_balanced(page):
    """Whether the sums agree. They are read one by one, so they may differ while events move."""
    return page["events_consumed_total"] == sum(page[name] for name in PLACES)


@dataclasses.dataclass
class Peaks:
    """The largest values seen."""

    rss_bytes: int = 0
    in_flight: int = 0


class Sampler:
    """Fetches `/metrics` four times a second until `stop`, on its own thread."""

    def __init__(self, service):
        self._service = service
        self._end = threading.Event()
        self._looking = threading.Lock()
        self.violations = []
        self.samples = 0
        self.peaks = Peaks()
        self.last = {}
        self._unbalanced = []
        self.failure = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        try:
            while not self._end.wait(PERIOD_SECONDS) and not self._service.child.is_silent:
                self.look()
        except Exception as error:
            # A thread cannot raise to the test; `check` reports it.
            self.failure = error

    def look(self):
        """Takes a sample if the admin port answers."""
        with self._looking:
            self._look_at_memory()
            if not self._service.has_port:
                return
            for _ in range(MAX_FETCHES):
                status, text = self._service.fetch("/metrics")
                if status != 200:
                    return
                page = metric_sums(text)
                if "events_unaccounted" in page:
                    break
                self._end.wait(PERIOD_SECONDS)
            self._take(page)

    def _take(self, now):
        found = violation(now)
        if found:
            self.violations.append(found)
        else:
            self._compare({name: now[name] for name in SUMMED})
        self.samples += 1
        self.peaks.in_flight = max(self.peaks.in_flight, int(now.get("inflight_events", 0)))
        self.last = now

    def _compare(self, sums):
        if is_balanced(sums):
            self._unbalanced = []
            return
        self._unbalanced = [s for s in self._unbalanced if s == sums] + [sums]
        if len(self._unbalanced) == REST_SAMPLES:
            told = f"consumed is not terminal + in flight + waiting + deferred + released: {sums}"
            self.violations.append(told)

    def look_last(self):
        """Makes sure before the end that a service with an open admin port was sampled.

        If the sums differ, it waits until something moves or nothing has moved for long enough.
        """
        if self._end.is_set():
            return
        self._assert_well()
        had_port = self._service.has_port
        self.look()
        self.look()
        while 1 < len(self._unbalanced) < REST_SAMPLES and not self._end.wait(PERIOD_SECONDS):
            self.look()
        was_seen = self.samples > 0 or not had_port
        assert was_seen, f"nobody saw the metrics of {self._service.child.output()}"

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
        self._thread.join(60)

    def _assert_well(self):
        assert self.failure is None, f"the sampler ended early: {self.failure!r}"

    def check(self):
        self._assert_well()
        assert not self._thread.is_alive(), "the sampler did not end"
        assert not self.violations, f"the accounts do not balance: {self.violations[:5]}"
