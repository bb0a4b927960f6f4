"""The service under load, Kafka to Kafka, with broker and simulator beside it."""

import contextlib
import dataclasses
import pathlib
import shutil
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
# Of a timing log, at most.
TIMING_LINE_BYTES = 128


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
def world(case, simulator_options=()):
    """A broker, a simulator and a folder, for one run or several."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kafka = stack.enter_context(broker(case))
        scenario = {**SCENARIO, "latency_ms": case.latency_ms}
        # A line of each request would take longer than its answer.
        simulator = stack.enter_context(
            running_simulator(folder / "apns", scenario, simulator_options, logs_requests=False)
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
        assert service.child.is_running, service.child.told()
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


def count_calls(case):
    """Allocations and system calls of an event, each in a run of its own: counting costs time."""
    found = {"allocations_per_event": count_allocations(case)}
    if gauges.SystemCalls.can_be_counted():
        found["system_calls_per_event"] = count_system_calls(case)
    return found


def count_allocations(case):
    with world(case) as (kafka, simulator, folder):
        workload.fill(kafka, TOPICS.source, case.count, case.payload_bytes)
        counts = folder / "allocations"
        counts.write_bytes(bytes(8))
        library = built("Whole/allocations.c", "allocations.so", "-shared", "-fPIC")
        environment = {"LD_PRELOAD": str(library), "ALLOCATION_COUNTS": str(counts)}
        with running(case, kafka, simulator, folder, environment) as service:
            first = sample_from(case.count // 5, service, counts)
            last = sample_from(case.count * 9 // 10, service, counts)
            spent = last.usage - first.usage
            return spent.allocations / (last.terminal - first.terminal)


def count_system_calls(case):
    with world(case) as (kafka, simulator, folder):
        workload.fill(kafka, TOPICS.source, case.count, case.payload_bytes)
        with running(case, kafka, simulator, folder) as service:
            # The service waits for its group meanwhile.
            assert service.port
            calls = gauges.SystemCalls(service.child.pid)
            first = sample_from(case.count // 5, service)
            calls.begin()
            last = sample_from(case.count * 9 // 10, service)
            return calls.end() / (last.terminal - first.terminal)


def steady(**values):
    """A case for a stream of events in place of a backlog, made to suit the embedded broker.

    It answers a fetch that found nothing when its time is up, and not when a record comes, as Kafka
    does; so both sides wait for a millisecond only. And it finds an offset by going through all
    batches of its partition; so there are few partitions, which makes batches large.
    """
    return Case(partitions=4, outcome_partitions=4, fetch_wait_ms=1, **values)


def memory_folder(byte_count):
    """A folder without a disk, which would hold its writer up; None if it has no such room."""
    try:
        return "/dev/shm" if shutil.disk_usage("/dev/shm").free > byte_count else None
    except OSError:
        return None


def at_a_rate(case, per_second, seconds):
    """Events a second, and milliseconds from when an event was to be written to its outcome.

    `added` is from the broker's acknowledgement of it, and without the time for which the simulator
    held the request. `per_second` 0: as fast as outcomes come back.

    `case` should be a `steady` one.
    """
    count = max(int(per_second * seconds), 1) if per_second else case.events
    with contextlib.ExitStack() as stack:
        # An event that is sent again has another line.
        room = memory_folder(2 * count * TIMING_LINE_BYTES)
        log_folder = stack.enter_context(tempfile.TemporaryDirectory(dir=room))
        timing_log = pathlib.Path(log_folder) / "timing.ndjson"
        options = ["--timing-log", timing_log]
        kafka, simulator, folder = stack.enter_context(world(case, options))
        service = stack.enter_context(running(case, kafka, simulator, folder))
        service.wait_until_ready()
        command = pace_command(kafka, count, int(per_second), case.payload_bytes)
        output, _ = gauges.run_and_measure([*command, timing_log])
        shares = (50, 99, 99.9)
        names = [f"{to} p{share}" for to in ("made", "read", "added") for share in shares]
        return dict(zip(["events/s", *names], map(float, output.split())))


def pace_command(kafka, count, per_second, payload_bytes):
    program = built("Whole/kafka_pace.c", "kafka_pace", "-lrdkafka", "-lpthread")
    words = [program, kafka.bootstrap_servers, TOPICS.source, TOPICS.results]
    return [*map(str, words), str(count), str(per_second), str(payload_bytes)]


def memory(in_flight):
    """RSS of an idle service, and with so many events in hand whose answers do not come."""
    case = Case(events=in_flight + 20_000, in_flight=in_flight, latency_ms=60_000)
    case.partitions = 64
    with world(case) as (kafka, simulator, folder):
        with running(case, kafka, simulator, folder) as service:
            service.wait_until_ready()
            idle = gauges.resident_bytes(service.child.pid)
            workload.fill(kafka, TOPICS.source, case.count, case.payload_bytes)
            end = time.monotonic() + 60
            # The gate closes a few events before the limit.
            while (held := metric(service, "inflight_events")) < in_flight * 0.99:
                assert time.monotonic() < end, f"{held} of {in_flight} in flight after 60 s"
                time.sleep(0.1)
            full = gauges.resident_bytes(service.child.pid)
            return {"rss_idle_mib": idle / 2**20, "rss_full_mib": full / 2**20}
