"""The service on real parts: what an event costs, its latency, and its memory."""

import contextlib
import statistics
import time

from harness.processes import built_binary
from harness.service import Service
from Peers import heliograph

from . import floors, gauges, stage, turn, workload
from .figures import rounds
from .service import metric, pace_command

IN_FLIGHT = 100_000
# Longer than it takes to fill the service.
HELD_MS = 60_000
SHARES = (0.25, 0.5, 0.9)


def measure_floors(on, size):
    """What bare loops take for the same work, on the client's core."""
    prefix = on.cores.client_command()
    source = on.source(size.total, size.payload_bytes)
    counts = size.warm_up, size.measured
    read = floors.kafka_floor("consume", on.kafka, source, *counts, prefix)
    with on.new_topics() as topics:
        write = floors.kafka_floor("produce", on.kafka, topics.results, *counts, prefix)
    send = floors.h2load_floor(on.sink.ready, sum(counts), size.payload_bytes, prefix)
    return {
        "consume_us": read,
        "produce_us": write,
        "h2load_us": send,
        "floor_us": read + write + send,
    }


def count_calls(on, size):
    """Allocations and system calls of an event, each in a turn of its own: counting costs time."""
    counts = on.folder / "allocations"
    counts.write_bytes(bytes(8))
    library = floors.built("Whole/allocations.c", "allocations.so", "-shared", "-fPIC")
    environment = {"LD_PRELOAD": str(library), "ALLOCATION_COUNTS": str(counts)}
    found = turn.take(on, heliograph, size, environment, counts)
    told = {"allocations_per_event": found["allocations_per_event"]}
    if gauges.SystemCalls.can_be_counted():
        found = turn.take(on, heliograph, size, counts_calls=True)
        # A few events are over before perf is there.
        if found["system_calls"] is not None:
            told["system_calls_per_event"] = found["system_calls"] / found["events_measured"]
    return told


@contextlib.contextmanager
def running(on, topics, **limits):
    """The service on its core, with its admin port in reach."""
    job = turn.new_job(on, topics)
    settings = heliograph.settings(job)
    settings["log"]["level"] = "info"
    settings["limits"] = limits
    script = job.folder / "heliograph"
    words = on.cores.client_command([built_binary("heliograph")])
    script.write_text(f'#!/bin/sh\nexec {" ".join(words)} "$@"\n')
    script.chmod(0o755)
    with Service(job.folder / "service", settings, binary=script) as service:
        # The tests' sampler would be a load of its own.
        service.sampler.stop()
        yield service.wait_until_ready()


def memory(delayed):
    """RSS of an idle service, and with so many events in hand whose answers do not come."""
    limits = {"in_flight_events": IN_FLIGHT, "in_flight_bytes": "512MiB"}
    with delayed.new_topics() as topics, running(delayed, topics, **limits) as service:
        idle = gauges.resident_bytes(service.child.pid)
        workload.fill(delayed.kafka, topics.source, IN_FLIGHT + 20_000, 200)
        end = time.monotonic() + HELD_MS / 1000
        # The gate closes a few events before the limit.
        while (held := metric(service, "inflight_events")) < IN_FLIGHT * 0.99:
            assert time.monotonic() < end, f"{held} of {IN_FLIGHT} in flight in time"
            time.sleep(0.1)
        full = gauges.resident_bytes(service.child.pid)
    return {"rss_idle_mib": idle / 2**20, "rss_full_mib": full / 2**20}


def memories(count):
    with stage.set_up(HELD_MS) as delayed:
        return rounds(count, lambda: memory(delayed))


def at_a_rate(on, per_second, events, payload_bytes=200):
    """Events a second, and milliseconds from when an event was to be written to its outcome.

    `added` is from the broker's acknowledgement of it. `per_second` 0: as fast as outcomes come.
    """
    shares = (50, 99, 99.9)
    names = [f"{to} p{share}" for to in ("made", "read", "added") for share in shares]
    with on.new_topics() as topics, running(on, topics):
        words = pace_command(on.kafka, topics, events, int(per_second), payload_bytes)
        output, _ = gauges.run_and_measure([*words, "added"])
        return dict(zip(["events/s", *names], map(float, output.split())))


def latencies(on, count, events, seconds):
    """Of each round; at shares of what passes while writer and reader share a core with the rest.

    The loads take turns, so that a busy minute falls on all.
    """
    full = rounds(count, lambda: at_a_rate(on, 0, events))
    found = {f"{share:.0%}": {} for share in SHARES}
    for _ in range(count):
        for share in SHARES:
            rate = statistics.median(full["events/s"]) * share
            figures = at_a_rate(on, rate, max(int(rate * seconds), 1))
            for name, figure in figures.items():
                found[f"{share:.0%}"].setdefault(name, []).append(figure)
    return {**found, "as fast as it goes": full}
