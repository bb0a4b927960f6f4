"""A cold start: how long a new process takes until APNs has its first push."""

import dataclasses
import time

from harness.processes import Child
from Peers import heliograph

from . import turn, workload

# Of the source topic; each holds some events.
PARTITIONS = 1000
EVENTS = 20_000
DEADLINE_SECONDS = 60


def measured(on, count, told):
    """{figure: one of each round}; every process is of a new consumer group, which is empty."""
    source = on.kafka.create("events-start", PARTITIONS)
    workload.fill(on.kafka, source, EVENTS, 200)
    # The first group of a cluster waits until the brokers have made their topic of offsets.
    _first_push(on, source)
    found = []
    for number in range(count):
        found.append(_first_push(on, source))
        told(f"round {number + 1} of {count}: {found[-1]:.0f} ms")
    return {"first_push_ms": found}


def _first_push(on, source):
    with on.new_topics() as topics:
        job = turn.new_job(on, dataclasses.replace(topics, source=source))
        words = on.cores.client_command(heliograph.command(job))
        return _measured_push(on.sink, words, job.folder)


def _measured_push(sink, words, folder):
    before, begun = sink.requests(), time.monotonic()
    with Child(words, folder=folder) as child:
        while sink.requests() == before:
            assert child.is_running, f"the service ended: {child.output()}"
            assert time.monotonic() - begun < DEADLINE_SECONDS, "no push in time"
            time.sleep(0.001)
        took = time.monotonic() - begun
        child.terminate(60)
    return took * 1000
