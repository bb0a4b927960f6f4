"""One client's turn: it works a backlog off, and what that cost it, and whether all came out right.

A peer is a module of Benchmarks/Peers with

    TITLE      what it is, in a line
    OMITS      what it does not do that the service does, a list of phrases
    SHARE      of the events that it is given; less than 1 for what is slow
    WARM_UP    how many times the usual events it has to warm up; for what compiles as it runs
    versions() {name: version} of what it is made of
    missing()  what this machine lacks to run it, or None
    command(job)   the words that start it; it may write its files to job.folder

The client reads `job.topics.source`, sends each event to `job.apns["production"]`, and writes one
JSON object with `event_id` and `outcome` to `job.topics.results`. SIGTERM ends it.
"""

import dataclasses
import json
import pathlib
import time
import uuid

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from harness.kafka import patiently
from harness.processes import Child
from harness.service import Topics

from . import gauges, workload

# Of the measured events; so many more keep the client busy until the last sample is taken.
TAIL = 0.5
SILENCE_SECONDS = 60
# A count that took longer says too little of when it was true.
COUNT_SECONDS = 0.05


@dataclasses.dataclass(frozen=True)
class Job:
    bootstrap_servers: str
    topics: Topics
    group: str
    apns: dict
    folder: pathlib.Path


@dataclasses.dataclass(frozen=True)
class Size:
    """How many pushes warm the client up, and how many are measured after them.

    With `recipients`, an event is so many pushes; the numbers are multiples of it. With
    `outcome_partitions`, the topic of results has so many, and otherwise as many as the others.
    A quick round has too few events for a figure: it shows that everything runs.
    """

    warm_up: int
    measured: int
    payload_bytes: int = 200
    recipients: int | None = None
    outcome_partitions: int | None = None
    is_quick: bool = False

    @property
    def total(self):
        wanted = self.warm_up + self.measured + int(self.measured * TAIL)
        return wanted - wanted % (self.recipients or 1)

    def of(self, peer):
        """What this peer is given."""
        return dataclasses.replace(
            self,
            warm_up=int(self.warm_up * peer.SHARE * peer.WARM_UP),
            measured=int(self.measured * peer.SHARE),
        )


@dataclasses.dataclass(frozen=True)
class Sample:
    """How many requests APNs had accepted, and what the client had used by then."""

    requests: int
    at: float
    cpu_seconds: float
    usage: gauges.Usage


class Watch:
    """Counts a client's requests and outcomes, and what the client has used meanwhile.

    `before`: how many requests the sink had before the client started.
    """

    def __init__(self, stage, topic, child, before, allocations=None):
        self._admin = AdminClient(
            {"bootstrap.servers": stage.kafka.bootstrap_servers, "log_level": 0}
        )
        self._partitions = [TopicPartition(topic, p) for p in stage.kafka.partitions(topic)]
        self._child, self._allocations = child, allocations
        self._sink, self._before = stage.sink, before

    def requests(self):
        return self._sink.requests() - self._before

    def outcomes(self):
        """How many records the topic of outcomes has."""
        wanted = {partition: OffsetSpec.latest() for partition in self._partitions}

        def ask():
            ends = self._admin.list_offsets(wanted, request_timeout=SILENCE_SECONDS)
            return sum(end.result().offset for end in ends.values())

        # Of a new topic, a broker may not lead every partition yet; a busy one takes minutes for a
        # thousand.
        return patiently(ask, 300)

    def _look(self):
        pid = self._child.pid
        assert self._child.is_running, f"the client ended: {self._child.output()}"
        usage = gauges.usage(pid, self._allocations)
        return time.monotonic(), gauges.cpu_seconds(pid), usage

    def sample(self):
        """A sample, and how long the count took: the truth lies between two looks at the client."""
        (at, cpu, _), requests, (later, more, usage) = self._look(), self.requests(), self._look()
        return Sample(requests, (at + later) / 2, (cpu + more) / 2, usage), later - at

    def sample_from(self, count, size):
        """The first sample in which APNs has so many requests, but not yet all.

        Requests, not outcomes: the sink has nothing else to do than to count them, and Kafka takes
        seconds at times. As many events are between the two at the end as at the beginning.
        """
        most, moved = -1, time.monotonic()
        while True:
            found, took = self.sample()
            is_idle = found.requests >= size.total and not size.is_quick
            assert not is_idle, "a wrong round: the client was done before it was counted"
            if found.requests >= count and (took <= COUNT_SECONDS or size.is_quick):
                return found
            if found.requests > most:
                most, moved = found.requests, found.at
            told = self._child.output
            assert found.at - moved < SILENCE_SECONDS, f"{most} of {count}, then none: {told()}"
            time.sleep(0.02)

    def wait_for_outcomes(self, count):
        most, moved = -1, time.monotonic()
        while (found := self.outcomes()) < count:
            if found > most:
                most, moved = found, time.monotonic()
            told = self._child.output
            assert time.monotonic() - moved < SILENCE_SECONDS, f"{most} of {count}: {told()}"
            time.sleep(0.1)


def take(stage, peer, size, environment=None, allocations=None, counts_calls=False):
    """Runs the client over a backlog; what an event cost it."""
    size = size.of(peer)
    source = stage.source(size.total, size.payload_bytes, size.recipients)
    found = {}
    with stage.new_topics(size.outcome_partitions) as topics:
        topics = dataclasses.replace(topics, source=source)
        job = new_job(stage, topics)
        words = stage.cores.client_command(peer.command(job))
        before = stage.sink.requests()
        with Child(words, environment, folder=job.folder) as child:
            watch, calls = Watch(stage, topics.results, child, before, allocations), None
            if counts_calls:
                # When all its threads are there.
                watch.sample_from(size.warm_up // 2, size)
                calls = gauges.SystemCalls(child.pid)
            first = watch.sample_from(size.warm_up, size)
            if calls:
                calls.begin()
            last = watch.sample_from(size.warm_up + size.measured, size)
            if calls:
                found["system_calls"] = calls.end()
            found["rss_peak_mib"] = gauges.resident_bytes(child.pid, "VmHWM") / 2**20
            watch.wait_for_outcomes(size.total)
            found |= network(child.pid, stage.sink.port, size.total)
            child.terminate(60)
        assert watch.outcomes() == size.total, "a wrong round: more outcomes than pushes"
        verify(stage.kafka, topics.results, size, watch.requests())
    return {**cost(first, last), **found}


def new_job(stage, topics):
    group = f"bench-{uuid.uuid4().hex[:8]}"
    folder = stage.folder / group
    folder.mkdir()
    return Job(stage.kafka.bootstrap_servers, topics, group, stage.sink.ready, folder)


def cost(first, last):
    events = last.requests - first.requests
    assert events > 0, "too few events to measure"
    spent = last.usage - first.usage
    found = {
        "cpu_us_per_event": (last.cpu_seconds - first.cpu_seconds) / events * 1e6,
        "events_per_second": events / (last.at - first.at),
        "context_switches_per_event": spent.context_switches / events,
        "events_measured": events,
    }
    if spent.allocations is not None:
        found["allocations_per_event"] = spent.allocations / events
    return found


def network(pid, apns_port, events):
    """Bytes that an event took on the connections to Kafka and to APNs, both ways."""
    found = {}
    for port, (received, sent) in gauges.bytes_by_port(pid).items():
        far = "apns" if port == apns_port else "kafka"
        for name, count in (("from", received), ("to", sent)):
            name = f"bytes_{name}_{far}_per_event"
            found[name] = found.get(name, 0) + count / events
    return found


def verify(kafka, topic, size, sent):
    """Every push has been sent once and has one outcome, which is that APNs accepted it."""
    total = size.total
    seen = bytearray(total)
    with kafka.consumer() as consumer:
        consumer.assign([TopicPartition(topic, p, 0) for p in kafka.partitions(topic)])
        for message in _messages(consumer, total):
            outcome = json.loads(message.value())
            number = workload.number_of(outcome["event_id"])
            if size.recipients:
                number = number * size.recipients + outcome["recipient"]
            assert outcome["outcome"] == "accepted", f"a wrong round: {outcome}"
            assert not seen[number], f"a wrong round: two outcomes of push {number}"
            seen[number] = 1
    assert sent == total, f"a wrong round: {total} pushes became {sent} requests"


def _messages(consumer, count):
    while count > 0:
        batch = consumer.consume(min(count, 10_000), SILENCE_SECONDS)
        assert batch, f"a wrong round: {count} outcomes are missing"
        for message in batch:
            if message.error():
                raise KafkaException(message.error())
            yield message
        count -= len(batch)
