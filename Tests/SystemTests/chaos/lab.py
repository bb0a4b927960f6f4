"""The tools of an experiment, and its report."""

import collections
import contextlib
import dataclasses
import random
import time

from harness import kafka as kafka_processes
from harness.bench import Bench
from harness.events import changed, records
from harness.link import running_link
from harness.service import EXPIRES_SOON, outcomes_of, position_of
from harness.simulator import running_simulator

IN_FLIGHT = 200
LATENCY_SECONDS = 0.1
SLOW = {"latency_ms": int(LATENCY_SECONDS * 1000)}
COMMIT_SECONDS = 0.25
SESSION_SECONDS = EXPIRES_SOON["properties"]["session.timeout.ms"] // 1000
# Events in flight when a process dies, plus those that settle between two commits, one of them
# unanswered.
CRASH_BOUND = int(IN_FLIGHT + 2 * COMMIT_SECONDS * IN_FLIGHT / LATENCY_SECONDS)
MEBIBYTE = 1 << 20

EXPERIMENTS = {}


def experiment(number, title):
    """Registers a function that takes a `Lab`, asserts and notes, and returns nothing."""

    def register(function):
        assert number not in EXPERIMENTS, number
        EXPERIMENTS[number] = (title, function)
        return function

    return register


@dataclasses.dataclass
class Numbers:
    """One row of the table; None means not measured."""

    broker: str = "-"
    events: int | None = None
    pushes: int | None = None
    repeated: int | None = None
    # A number, or words if it does not hold for all events together.
    bound: int | str | None = None
    rss_bytes: int = 0
    recovery_seconds: float | None = None
    notes: list = dataclasses.field(default_factory=list)
    # Speed goals that this machine missed; safety goals are assertions.
    missed: list = dataclasses.field(default_factory=list)


class Lab:
    """Creates brokers, simulators and services, and ends them all."""

    def __init__(self, folder, stack, seed, is_short):
        self.folder = folder
        self.is_short = is_short
        self.random = random.Random(seed)
        self.seed = seed
        self.numbers = Numbers()
        self.benches = []
        self._stack = stack
        self._count = 0

    def size(self, short, long):
        return short if self.is_short else long

    def _new_folder(self, kind):
        self._count += 1
        return self.folder / f"{kind}-{self._count}"

    # Brokers

    def persistent_broker(self):
        self._used("noida-db")
        folder = self._new_folder("broker")
        return self._stack.enter_context(kafka_processes.separate_broker(folder))

    def faulty_broker(self):
        self._used("mock cluster")
        return self._stack.enter_context(kafka_processes.faulty_cluster())

    def _used(self, broker):
        known = self.numbers.broker
        self.numbers.broker = broker if known in ("-", broker) else f"{known}, {broker}"

    # Everything else

    def simulator(self, scenario):
        folder = self._new_folder("simulator")
        return self._stack.enter_context(running_simulator(folder, scenario))

    def link(self, simulator):
        """A link to the simulator's production host; `through` adds it to a configuration."""
        url = simulator.ready["production"]
        return self._stack.enter_context(running_link(url, self.seed))

    def bench(self, kafka, partitions=4):
        folder = self._new_folder("bench")
        bench = Experiment(kafka, folder, self._stack, partitions)
        self.benches.append(bench)
        return bench

    # Reports

    def note(self, text):
        self.numbers.notes.append(text)

    def wish(self, is_met, text):
        """Checks a speed goal: a miss is reported and does not fail the experiment."""
        if not is_met:
            self.numbers.missed.append(text)

    def recovered(self, seconds, at_most=None):
        """Notes a recovery time; the table shows the longest."""
        known = self.numbers.recovery_seconds
        self.numbers.recovery_seconds = max(seconds, known or 0)
        if at_most is not None:
            self.wish(seconds <= at_most, f"recovery in {at_most} s")

    def account(self, bench, simulators, bound, outcomes=("accepted",), per_event=None):
        """Checks that nothing is lost and that repeated pushes stay within the bound.

        `bound` is for all events together; with None, only `per_event` applies.
        """
        found = outcomes_of(bench.kafka, bench.topics)
        positions = collections.Counter(position_of(outcome) for _, outcome in found)
        written = {place.position for place in bench.written}
        assert set(positions) == written, f"{len(written - set(positions))} events are lost"
        strange = {outcome["outcome"] for _, outcome in found} - set(outcomes)
        assert not strange, f"unexpected outcomes: {strange}"
        # The simulator may have served other benches before.
        own = {outcome["apns_id"] for _, outcome in found}
        pushes = collections.Counter(
            request["apns-id"]
            for simulator in simulators
            for request in simulator.accepted()
            if request["apns-id"] in own
        )
        repeated = sum(count - 1 for count in pushes.values())
        numbers = self.numbers
        numbers.events = (numbers.events or 0) + len(written)
        numbers.pushes = (numbers.pushes or 0) + sum(pushes.values())
        numbers.repeated = (numbers.repeated or 0) + repeated
        if per_event is not None:
            numbers.bound = f"{per_event - 1} an event"
            most = max(pushes.values())
            assert most <= per_event, f"an event was pushed {most} times; the limit is {per_event}"
        if bound is not None:
            numbers.bound = (numbers.bound or 0) + bound
            assert repeated <= bound, f"{repeated} pushes were repeated; the bound is {bound}"
        return found, pushes

    def finish(self):
        peaks = [service.sampler.peaks for bench in self.benches for service in bench.services]
        self.numbers.rss_bytes = max((peak.rss_bytes for peak in peaks), default=0)


class Experiment(Bench):
    """A bench that remembers its services and the events it wrote."""

    def __init__(self, kafka, folder, stack, partitions):
        super().__init__(kafka, folder, stack, partitions)
        self.services = []
        self.written = []

    def start(self, settings, environment=None):
        service = super().start(settings, environment)
        self.services.append(service)
        return service

    def slow(self, simulator, url=None, **changes):
        """A configuration with a small bound; `url` replaces the production host."""
        limits = {"in_flight_events": IN_FLIGHT}
        settings = self.configuration(simulator, limits=limits, kafka=EXPIRES_SOON)
        if url:
            settings["apns"]["endpoints"]["production"] = url
        return changed(settings, changes)

    def write(self, count):
        self.write_records(records(count))

    def write_records(self, new):
        self.written += self.produce(new)

    def wait_for_share(self, share, service=None, seconds=60):
        """Waits until this share of the written events has an outcome."""
        self.wait_for_outcomes(int(len(self.written) * share), seconds, service)

    def settle(self, service, seconds=120):
        self.wait_until_settled(seconds, service)
        service.drain()


@contextlib.contextmanager
def stopwatch():
    """Returns a function: the seconds since the start, or the total once the block has ended."""
    start = time.monotonic()
    end = None
    yield lambda: (end or time.monotonic()) - start
    end = time.monotonic()
