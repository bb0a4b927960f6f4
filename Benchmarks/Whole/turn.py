"""One client's turn: it works a backlog off, and what that cost it, and whether all came out right.

A peer is a module of Benchmarks/Peers with

    TITLE      what it is, in a line
    OMITS      what it does not do that the service does, a list of phrases
    SHARE      of the events that it is given; less than 1 for what is slow
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

from . import gauges

# Of the measured events; so many more keep the client busy until the last sample.
TAIL = 0.05
SILENCE_SECONDS = 60
# A count that took longer says too little of when it was true: some take Kafka three seconds. On a
# busy machine all may take longer; then the quickest of so many is good enough.
COUNT_SECONDS = 0.05
COUNTS = 3


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
    """

    warm_up: int
    measured: int
    payload_bytes: int = 200
    recipients: int | None = None
    outcome_partitions: int | None = None

    @property
    def total(self):
        wanted = self.warm_up + self.measured + int(self.measured * TAIL)
        return wanted - wanted % (self.recipients or 1)

    def share(self, share):
        return dataclasses.replace(
            self, warm_up=int(self.warm_up * share), measured=int(self.measured * share)
        )


@dataclasses.dataclass(frozen=True)
class Sample:
    outcomes: int
    at: float
    cpu_seconds: float
    usage: gauges.Usage

    @classmethod
    def between(cls, outcomes, first, last):
        """Kafka was asked between two looks at the client: the truth lies between them.

        What is counted is of the second look, when the outcomes have surely been made.
        """
        (at, cpu, _), (later, more, usage) = first, last
        return cls(outcomes, (at + later) / 2, (cpu + more) / 2, usage)


class Watch:
    """Counts a client's outcomes in Kafka, and what the client has used meanwhile."""

    def __init__(self, kafka, topic, child, allocations=None):
        self._admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
        self._partitions = [TopicPartition(topic, p) for p in kafka.partitions(topic)]
        self._child, self._allocations = child, allocations

    def start(self):
        """The first sample, before there is any outcome."""
        at, cpu, usage = self._look()
        return Sample(0, at, cpu, usage)

    def outcomes(self):
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
        quickest = None
        for _ in range(COUNTS):
            first, outcomes, last = self._look(), self.outcomes(), self._look()
            took = last[0] - first[0]
            if quickest is None or took < quickest[0]:
                quickest = took, Sample.between(outcomes, first, last)
            if took <= COUNT_SECONDS:
                break
        return quickest[1]

    def sample_from(self, count, total=None):
        """The first sample in which so many outcomes are in Kafka.

        If there are `total` of them by then, the client may be idle: it is the sample before, unless
        that is from the first half.
        """
        most, moved, before = -1, time.monotonic(), None
        while (found := self.sample()).outcomes < count:
            before = found
            if found.outcomes > most:
                most, moved = found.outcomes, found.at
            told = self._child.output
            assert found.at - moved < SILENCE_SECONDS, f"{most} of {count}, then none: {told()}"
            time.sleep(0.02)
        is_idle = found.outcomes == total
        return before if is_idle and before and before.outcomes * 2 > count else found


def take(stage, peer, size, environment=None, allocations=None, counts_calls=False):
    """Runs the client over a backlog; what an event cost it."""
    size = size.share(peer.SHARE)
    source = stage.source(size.total, size.payload_bytes, size.recipients)
    found = {}
    with stage.new_topics(size.outcome_partitions) as topics:
        topics = dataclasses.replace(topics, source=source)
        job = new_job(stage, topics)
        before = stage.sink.requests()
        words = stage.cores.client_command(peer.command(job))
        with Child(words, environment, folder=job.folder) as child:
            watch = Watch(stage.kafka, topics.results, child, allocations)
            first, calls = watch.start(), None
            if counts_calls:
                # When all its threads are there.
                watch.sample_from(size.warm_up // 2)
                calls = gauges.SystemCalls(child.pid)
            if size.warm_up:
                first = watch.sample_from(size.warm_up)
            if calls:
                calls.begin()
            last = watch.sample_from(size.warm_up + size.measured, size.total)
            if calls:
                found["system_calls"] = calls.end()
            found["rss_peak_mib"] = gauges.resident_bytes(child.pid, "VmHWM") / 2**20
            watch.sample_from(size.total)
            found |= network(child.pid, stage.sink.port, size.total)
            sent = stage.sink.requests() - before
            child.terminate(60)
        verify(stage.kafka, topics.results, size, sent)
    return {**cost(first, last), **found}


def new_job(stage, topics):
    group = f"bench-{uuid.uuid4().hex[:8]}"
    folder = stage.folder / group
    folder.mkdir()
    return Job(stage.kafka.bootstrap_servers, topics, group, stage.sink.ready, folder)


def cost(first, last):
    events = last.outcomes - first.outcomes
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
            number = int(outcome["event_id"][-19:])
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
