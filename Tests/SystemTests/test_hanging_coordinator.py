"""A broker stands still while it should commit a transaction that it coordinates."""

import json
import signal

import pytest

from harness.apache_kafka import kafka_home, running_apache_cluster
from harness.deadlines import eventually
from harness.events import records
from harness.kafka_link import CommitLink
from harness.service import position_of

pytestmark = [
    pytest.mark.takes(80),
    pytest.mark.kafka,
    pytest.mark.skipif(kafka_home() is None, reason="KAFKA_HOME names no Apache Kafka"),
]
# As with the shipped 15 s for a transaction, except that it has time on a busy machine, which takes
# a while to move what a broker coordinated.
TRANSACTION = {
    "session.timeout.ms": 60_000,
    "transaction.timeout.ms": 60_000,
    "producer.socket.timeout.ms": 5000,
    "producer.socket.connection.setup.timeout.ms": 5000,
}


def test_a_coordinator_that_hangs_in_a_commit_does_not_end_the_process(tmp_path, benches, simulators):
    """Without an answer, it asks which broker coordinates now."""
    with running_apache_cluster(tmp_path / "kafka", has_links=True, link=CommitLink) as cluster:
        bench, simulator = benches(cluster.kafka, 1), simulators({})
        settings = bench.configuration(
            simulator, results={"transactional": True}, kafka={"properties": TRANSACTION}
        )
        service = bench.start(settings).wait_until_ready(300)
        written = bench.produce(records(1))
        bench.wait_until_settled(120, service=service)
        stopped = []

        def stop(broker):
            broker.send(signal.SIGSTOP)
            stopped.append(broker)

        for number, link in cluster.links.items():
            link.before_commit = lambda broker=cluster.brokers[number]: stop(broker)
        written += bench.produce(records(1))
        [broker] = eventually(lambda: stopped, 60, service.child.output)
        for link in cluster.links.values():
            link.before_commit = None

        def is_idle():
            return "heliograph_inflight_events 0\n" in service.fetch("/metrics")[1]

        eventually(lambda: is_idle() or not service.child.is_running, 120, service.child.output)
        assert service.child.is_running, service.child.output()
        broker.send(signal.SIGCONT)
        cluster.wait_until_whole()
        written += bench.produce(records(10))
        bench.wait_until_settled(120, service=service)
        service.drain()
        told = bench.kafka.read_committed(bench.topics.results, 120)
        outcomes = [json.loads(message.value()) for message in told]
        assert sorted(map(position_of, outcomes)) == sorted(place.position for place in written)
        assert len(simulator.requests()) == len(written)
