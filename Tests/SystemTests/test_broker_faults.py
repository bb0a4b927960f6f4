"""Three brokers of Apache Kafka under load: restarts, crashes, and one that answers nothing.

Each topic has three replicas, of which two must take a record. Whatever a broker does, no event is
lost, and as the service lives all the time, none is sent twice (docs/guarantees.md).
"""

import collections
import contextlib
import json
import signal
import threading

import pytest
from confluent_kafka import Producer

from harness.apache_kafka import kafka_home, running_apache_cluster
from harness.deadlines import eventually
from harness.events import encoded, new_event

pytestmark = [
    pytest.mark.takes(90),
    pytest.mark.skipif(kafka_home() is None, reason="KAFKA_HOME names no Apache Kafka"),
]
PARTITIONS = 6
PER_SECOND = 200
# Other tests have a shorter session, and lose it while a coordinator moves.
SHIPPED = {"session.timeout.ms": 30_000}
# What must come between two faults.
BETWEEN = 300


class Load:
    """Writes events until it is closed, as a careful upstream does: each until Kafka has it."""

    def __init__(self, kafka, topic):
        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "enable.idempotence": True,
                "message.timeout.ms": 120_000,
                "linger.ms": 5,
                "log_level": 0,
            }
        )
        self._is_over = threading.Event()
        self._lock = threading.Lock()
        self._written = []
        self._errors = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def written(self):
        """The events that Kafka has."""
        with self._lock:
            return list(self._written)

    def close(self):
        self._is_over.set()
        self._thread.join(150)
        assert not self._thread.is_alive() and not self._errors, self._errors[:3]

    def _run(self):
        while not self._is_over.wait(1 / PER_SECOND):
            event = new_event()
            key = event["device_token"].encode()
            self._producer.produce(self._topic, encoded(event), key, on_delivery=self._note)
            self._producer.poll(0)
        if self._producer.flush(120):
            self._errors.append("records were left in the producer")

    def _note(self, error, message):
        with self._lock:
            if error:
                self._errors.append(error)
            else:
                # A record whose first acknowledgement was lost has no offset here.
                self._written.append(json.loads(message.value())["id"])


@contextlib.contextmanager
def restarting(broker):
    broker.stop()
    yield
    broker.start_again()


@contextlib.contextmanager
def crashing(broker):
    broker.crash()
    yield
    broker.start_again()


@contextlib.contextmanager
def pausing(broker):
    """Until long after the others have taken over what it leads and coordinates."""
    broker.send(signal.SIGSTOP)
    try:
        yield
    finally:
        broker.send(signal.SIGCONT)


@pytest.mark.parametrize("is_transactional", [False, True], ids=["plain", "transactional"])
def test_no_event_is_lost_and_none_sent_twice(tmp_path, benches, simulators, is_transactional):
    with running_apache_cluster(tmp_path / "kafka") as cluster:
        bench, simulator = benches(cluster.kafka, PARTITIONS), simulators({"latency_ms": 50})
        settings = bench.configuration(simulator, kafka={"properties": SHIPPED})
        settings["results"]["transactional"] = is_transactional
        service = bench.start(settings).wait_until_ready(60)
        with contextlib.closing(Load(cluster.kafka, bench.topics.source)) as load:

            def wait():
                """Until the service has gone on for a while, as APNs sees it."""
                wanted = len(simulator.requests()) + BETWEEN
                eventually(
                    lambda: len(simulator.requests()) >= wanted, 120, service.child.told, 0.5
                )

            wait()
            # Each leads some partitions; Kafka chooses the coordinators and the active controller.
            for fault, broker in zip((restarting, crashing, pausing), cluster.brokers.values()):
                with fault(broker):
                    wait()
                cluster.wait_until_whole()
                wait()
        bench.wait_until_settled(120, service=service)
        service.drain(60)
        told = bench.kafka.read_committed(bench.topics.results)
        outcomes = collections.Counter(json.loads(m.value())["event_id"] for m in told)
        assert outcomes.keys() == set(load.written)
        repeated = len(simulator.requests()) - len(load.written)
        assert repeated == 0, f"{repeated} of {len(load.written)} sent twice: {service.child.told()}"
        if is_transactional:
            assert set(outcomes.values()) == {1}
