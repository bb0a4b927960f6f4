"""What stands around a client that is measured: Apache Kafka, and an APNs that is not ours.

The client has a core of its own; the broker, the sink and this program have the others.
"""

import contextlib
import dataclasses
import os
import pathlib
import tempfile
import uuid

from harness.apache_kafka import kafka_home, running_plain_broker
from harness.kafka import Kafka
from harness.processes import Child
from harness.service import Topics
from harness.strict_peer import make_identity

from . import workload
from .floors import FOLDER, built

PARTITIONS = 8
BROKER_JVM = ("-Xms1g", "-Xmx1g")


def require():
    """Ends the program where there is no broker or no second core."""
    if kafka_home() is None:
        raise SystemExit("bench: KAFKA_HOME names no Apache Kafka; scripts/setup kafka gets one")
    if len(os.sched_getaffinity(0)) < 2:
        raise SystemExit("bench: the client needs a core of its own, and there is only one")


@dataclasses.dataclass(frozen=True)
class Cores:
    client: int
    others: list

    @classmethod
    def split(cls):
        first, *others = sorted(os.sched_getaffinity(0))
        return cls(first, others)

    @contextlib.contextmanager
    def leaving_one(self):
        """Nothing that starts here runs on the client's core."""
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, self.others)
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)

    def client_command(self, words=()):
        """The command, on the client's core."""
        return ["taskset", "-c", str(self.client), *map(str, words)]


class Sink:
    """sink.c, and what the service's configuration says of it."""

    def __init__(self, child, identity):
        self._child, self._asked = child, 0
        told = child.wait_for_json()
        self.port = told["port"]
        self.versions = {"nghttp2 of the sink": told["nghttp2"], "OpenSSL": told["openssl"]}
        address = f"https://localhost:{self.port}"
        self.ready = {**identity, "production": address, "sandbox": address}

    def requests(self):
        """How many it has accepted."""
        self._asked += 1
        self._child.tell("count")
        return self._child.wait_for("stdout", _nth(self._asked))


def _nth(number):
    """Matches the answer to that question; the first line is the port."""
    seen = 0

    def match(line):
        nonlocal seen
        seen += 1
        return int(line.strip("}").rpartition(":")[2]) if seen == number + 1 else None

    return match


@contextlib.contextmanager
def running_sink(folder, delay_ms=0):
    program = built("Whole/sink.c", "sink", "-lnghttp2", "-lssl", "-lcrypto")
    identity = make_identity(folder)
    words = [program, folder / "server.pem", folder / "server.key", delay_ms]
    with Child([str(word) for word in words], takes_input=True) as child:
        yield Sink(child, identity)


@dataclasses.dataclass(frozen=True)
class Stage:
    kafka: Kafka
    sink: Sink
    folder: pathlib.Path
    cores: Cores

    @contextlib.contextmanager
    def new_topics(self, outcome_partitions=None):
        """Fresh ones for a turn; deletes them afterwards."""
        name = f"bench-{uuid.uuid4().hex[:8]}"
        topics = Topics.create(self.kafka, name, PARTITIONS)
        if outcome_partitions:
            results = self.kafka.create(f"{name}.many-results", outcome_partitions)
            self.kafka.delete(topics.results)
            topics = dataclasses.replace(topics, results=results)
        yield topics
        for topic in dataclasses.astuple(topics):
            self.kafka.delete(topic)

    def source(self, count, payload_bytes, recipients=None):
        """A topic with events for so many pushes, written when it is first asked for."""
        topic = f"events-{count}-{payload_bytes}-{recipients or 1}"
        if not self.kafka.partitions(topic):
            self.kafka.create(topic, PARTITIONS)
            events = count // (recipients or 1)
            workload.fill(self.kafka, topic, events, payload_bytes, recipients)
        return topic


@contextlib.contextmanager
def set_up(delay_ms=0):
    require()
    FOLDER.mkdir(parents=True, exist_ok=True)
    cores = Cores.split()
    with contextlib.ExitStack() as stack:
        stack.enter_context(cores.leaving_one())
        # Next to the other files of the build: /tmp may be in memory.
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(dir=FOLDER)))
        kafka = stack.enter_context(running_plain_broker(folder / "kafka", BROKER_JVM))
        sink = stack.enter_context(running_sink(folder / "sink", delay_ms))
        yield Stage(kafka, sink, folder, cores)
