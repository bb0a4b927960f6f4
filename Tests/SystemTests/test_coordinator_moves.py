"""The group's coordinator moves to another broker of Apache Kafka, then a member leaves."""

import json

import pytest

from harness.apache_kafka import kafka_home, running_apache_cluster
from harness.deadlines import eventually
from harness.events import records
from harness.service import position_of

pytestmark = [
    pytest.mark.takes(60),
    pytest.mark.kafka,
    pytest.mark.skipif(kafka_home() is None, reason="KAFKA_HOME names no Apache Kafka"),
]
EVENTS = 200


def test_the_remaining_member_continues_with_the_new_coordinator(tmp_path, benches, simulators):
    """It no longer asks the old coordinator, although that one is up again."""
    with running_apache_cluster(tmp_path / "kafka") as cluster:
        bench, simulator = benches(cluster.kafka, 4), simulators({})
        settings = bench.configuration(
            simulator,
            results={"transactional": True},
            # A busy machine takes a while to move a coordinator.
            kafka={"properties": {"transaction.timeout.ms": 60_000}},
        )
        stays, leaves = (
            bench.start({**settings, "results": {**settings["results"], "transactional_id": name}})
            for name in ("stays", "leaves")
        )
        for service in (stays, leaves):
            service.wait_until_ready(300)

        def has_shared():
            return all(s.log_lines("partitions assigned") for s in (stays, leaves))

        eventually(has_shared, 60, stays.child.output)
        written = bench.produce(records(EVENTS))
        bench.wait_until_settled(service=stays)
        before = cluster.kafka.coordinator(bench.group)
        cluster.brokers[before].stop()
        cluster.brokers[before].start_again()
        eventually(
            lambda: cluster.kafka.coordinator(bench.group) != before, 60, "another coordinator"
        )
        written += bench.produce(records(EVENTS))
        bench.wait_until_settled(120, service=stays)
        leaves.drain()
        written += bench.produce(records(EVENTS))
        bench.wait_until_settled(120, service=stays)
        stays.drain()

        def all_told():
            told = bench.kafka.read_committed(bench.topics.results)
            return told if len(told) >= len(written) else None

        # The end of a transaction reaches each broker on its own.
        told = eventually(all_told, 60, "the outcomes of the last transaction")
        outcomes = [json.loads(message.value()) for message in told]
        assert sorted(map(position_of, outcomes)) == sorted(r.position for r in written)
