"""One run of the whole service, Kafka to Kafka, with broker and simulator beside it."""

import contextlib
import dataclasses
import pathlib
import tempfile
import time
import uuid

from harness.kafka import faulty_cluster
from harness.sampler import metric_sums
from harness.service import Service, Topics, configuration
from harness.simulator import running_simulator

from . import gauges, workload
from .floors import FOLDER, built

# Streams from the first: what the simulator holds back is not the service's cost.
SCENARIO = {"settings": {"unproven_streams": 1000}, "strictness": {"bind_connections": False}}


@dataclasses.dataclass
class Case:
    """What varies."""

    events: int = 60_000
    partitions: int = 16
    payload_bytes: int = 200
    shards: int = 1
    connections: int = 4
    in_flight: int = 10_000
    latency_ms: int = 0
    credentials: int = 1
    counts_allocations: bool = False


@contextlib.contextmanager
def world(case):
    """A broker, a simulator and a folder, for one run or several."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kafka = stack.enter_context(faulty_cluster())
        scenario = {**SCENARIO, "latency_ms": case.latency_ms}
        simulator = stack.enter_context(running_simulator(folder / "apns", scenario))
        yield kafka, simulator, folder


def settings(case, kafka, topics, simulator):
    text = configuration(kafka, topics, simulator, f"bench-{uuid.uuid4().hex[:8]}")
    del text["kafka"]["properties"]["fetch.wait.max.ms"]
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
def running(case, kafka, simulator, folder, topics):
    """A service on these topics; yields it, and the file of its allocations if they count."""
    counts, environment = None, None
    if case.counts_allocations:
        counts = folder / f"allocations-{uuid.uuid4().hex[:8]}"
        counts.write_bytes(bytes(8))
        library = built("Whole/allocations.c", "allocations.so", "-shared", "-fPIC")
        environment = {"LD_PRELOAD": str(library), "ALLOCATION_COUNTS": str(counts)}
    text = settings(case, kafka, topics, simulator)
    with Service(folder / f"service-{uuid.uuid4().hex[:8]}", text, environment) as service:
        # The tests' sampler would be a load of its own.
        service.sampler.stop()
        yield service, counts


def new_topics(kafka, case):
    return Topics.create(kafka, f"bench-{uuid.uuid4().hex[:8]}", case.partitions)


def drain(case):
    """A backlog, worked off: what an event costs from the first fifth to nearly the last.

    The beginning (connections, first fetches, warm caches) and the end (idle waits) are left out.
    """
    with world(case) as (kafka, simulator, folder):
        topics = new_topics(kafka, case)
        workload.fill(kafka, topics.source, case.events, case.payload_bytes)
        with running(case, kafka, simulator, folder, topics) as (service, counts):
            first = sample_from(case.events // 5, service, counts)
            last = sample_from(case.events * 9 // 10, service, counts)
            assert last.terminal > first.terminal, "too few events to measure"
            events = last.terminal - first.terminal
            spent = last.usage - first.usage
            found = {
                "cpu_us_per_event": spent.cpu_seconds / events * 1e6,
                "events_per_second": events / (last.at - first.at),
                "context_switches_per_event": spent.context_switches / events,
                "rss_peak_mib": gauges.resident_bytes(service.child.pid, "VmHWM") / 2**20,
            }
            if spent.allocations is not None:
                found["allocations_per_event"] = spent.allocations / events
            return found


@dataclasses.dataclass
class Sample:
    terminal: int
    at: float
    usage: gauges.Usage


def sample_from(count, service, counts, seconds=120):
    """The first sample in which so many events have ended."""
    end = time.monotonic() + seconds
    while True:
        used = gauges.usage(service.child.pid, counts)
        at = time.monotonic()
        # 0 until the admin port is open.
        terminal = int(metric_sums(service.fetch("/metrics")[1]).get("events_terminal_total", 0))
        if terminal >= count:
            return Sample(terminal, at, used)
        assert service.child.is_running, service.child.told()
        assert time.monotonic() < end, f"{terminal} of {count} after {seconds} s"
        time.sleep(0.05)


def latency(case, per_second, seconds):
    """Milliseconds from an event's making to its outcome, at a steady rate."""
    with world(case) as (kafka, simulator, folder):
        topics = new_topics(kafka, case)
        with running(case, kafka, simulator, folder, topics) as (service, _):
            service.wait_until_ready()
            count = workload.write_at_rate(
                kafka, topics.source, per_second, seconds, case.payload_bytes
            )
            found = workload.latencies(kafka, topics, count)
            return {
                f"p{name}_ms": workload.percentile(found, share)
                for name, share in (("50", 0.5), ("99", 0.99), ("99.9", 0.999))
            }
