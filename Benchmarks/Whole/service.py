"""The service between the embedded broker and our simulator: for growth, endurance, profiles, and
for two builds side by side. Nothing here can be compared with what is measured on real parts.
"""

import contextlib
import dataclasses
import pathlib
import tempfile
import time
import uuid

from harness.kafka import FaultyCluster
from harness.processes import Child, built_binary
from harness.sampler import metric_sums
from harness.service import Service, Topics, configuration
from harness.simulator import running_simulator

from . import gauges, workload
from .floors import FLOOR_TOPICS, FOLDER, built

# Streams from the first: what the simulator holds back is not the service's cost.
SCENARIO = {"settings": {"unproven_streams": 1000}, "strictness": {"bind_connections": False}}
TOPICS = Topics("bench", "bench.results", "bench.token-status", "bench.dead-letters")
# The embedded broker keeps so much of a partition and drops the oldest.
PARTITION_BYTES = 4_500_000


@dataclasses.dataclass
class Case:
    """What varies."""

    events: int = 100_000
    partitions: int = 16
    outcome_partitions: int = 16
    payload_bytes: int = 200
    shards: int = 1
    connections: int = 4
    in_flight: int = 10_000
    latency_ms: int = 0
    credentials: int = 1
    fetch_wait_ms: int | None = None

    @property
    def count(self):
        """The events of one run: as many as are wanted, if the broker holds them."""
        held = PARTITION_BYTES // (self.payload_bytes + workload.RECORD_BYTES)
        return min(self.events, held * self.partitions)


@contextlib.contextmanager
def broker(case):
    partitions = {name: case.outcome_partitions for name in dataclasses.astuple(TOPICS)}
    partitions |= {TOPICS.source: case.partitions, FLOOR_TOPICS[0]: case.partitions}
    partitions |= {FLOOR_TOPICS[1]: case.outcome_partitions}
    options = [word for name, n in partitions.items() for word in ("--topic", f"{name}:{n}")]
    words = [built_binary("heliograph-lab"), "kafka", *options]
    with Child(words, takes_input=True) as child:
        yield FaultyCluster(child)


@contextlib.contextmanager
def world(case):
    """A broker, a simulator and a folder, for one run or several."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kafka = stack.enter_context(broker(case))
        scenario = {**SCENARIO, "latency_ms": case.latency_ms}
        # A line of each request would take longer than its answer.
        simulator = stack.enter_context(
            running_simulator(folder / "apns", scenario, logs_requests=False)
        )
        yield kafka, simulator, folder


def settings(case, kafka, simulator):
    text = configuration(kafka, TOPICS, simulator, f"bench-{uuid.uuid4().hex[:8]}")
    properties = text["kafka"]["properties"]
    if case.fetch_wait_ms is None:
        del properties["fetch.wait.max.ms"]
    else:
        properties["fetch.wait.max.ms"] = case.fetch_wait_ms
    text["shards"] = case.shards
    text["limits"] = {"in_flight_events": case.in_flight, "in_flight_bytes": "512MiB"}
    text["apns"]["connections"] = {"min": 1, "max": case.connections}
    first = text["apns"]["credentials"][0]
    # The others take no events: what they cost by being there is what is measured.
    text["apns"]["credentials"] += [
        {**first, "name": f"other-{number}", "bundle_ids": [f"com.example.other{number}"]}
        for number in range(1, case.credentials)
    ]
    return text


@contextlib.contextmanager
def running(case, kafka, simulator, folder, environment=None, binary=None):
    text = settings(case, kafka, simulator)
    home = folder / f"service-{uuid.uuid4().hex[:8]}"
    with Service(home, text, environment, binary) as service:
        # The tests' sampler would be a load of its own.
        service.sampler.stop()
        yield service


@dataclasses.dataclass
class Sample:
    terminal: int
    at: float
    usage: gauges.Usage


def metric(service, name):
    """0 until the admin port is open."""
    return int(metric_sums(service.fetch("/metrics")[1]).get(name, 0))


def sample_from(count, service, counts=None, seconds=120):
    """The first sample in which so many events have ended."""
    end = time.monotonic() + seconds
    while True:
        used = gauges.usage(service.child.pid, counts)
        at = time.monotonic()
        terminal = metric(service, "events_terminal_total")
        if terminal >= count:
            return Sample(terminal, at, used)
        assert service.child.is_running, service.child.output()
        assert time.monotonic() < end, f"{terminal} of {count} after {seconds} s"
        time.sleep(0.1)


def drain(case):
    """A backlog, worked off: what an event costs from the first fifth to nearly the last.

    The beginning (connections, first fetches, warm caches) and the end (idle waits) are left out.
    """
    with world(case) as (kafka, simulator, folder):
        workload.fill(kafka, TOPICS.source, case.count, case.payload_bytes)
        with running(case, kafka, simulator, folder) as service:
            return drained(case, service, 0.9)


def drained(case, service, share):
    """What was spent from the first fifth of a backlog to that share of it."""
    first = sample_from(case.count // 5, service)
    last = sample_from(int(case.count * share), service)
    events = last.terminal - first.terminal
    assert events > 0, "too few events to measure"
    spent = last.usage - first.usage
    return {
        "cpu_us_per_event": spent.cpu_seconds / events * 1e6,
        "events_per_second": events / (last.at - first.at),
        "context_switches_per_event": spent.context_switches / events,
        "rss_peak_mib": gauges.resident_bytes(service.child.pid, "VmHWM") / 2**20,
    }


def steady(**values):
    """A case for a stream of events in place of a backlog, made to suit the embedded broker.

    It answers a fetch that found nothing when its time is up, and not when a record comes, as Kafka
    does; so both sides wait for a millisecond only. And it finds an offset by going through all
    batches of its partition; so there are few partitions, which makes batches large.
    """
    return Case(partitions=4, outcome_partitions=4, fetch_wait_ms=1, **values)


def pace_command(kafka, topics, count, per_second, payload_bytes):
    program = built("Whole/kafka_pace.c", "kafka_pace", "-lrdkafka", "-lpthread")
    words = [program, kafka.bootstrap_servers, topics.source, topics.results]
    return [*map(str, words), str(count), str(per_second), str(payload_bytes)]
