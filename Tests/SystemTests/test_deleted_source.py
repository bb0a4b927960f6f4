"""One of two sources is deleted in Apache Kafka while the service runs."""

import itertools
import json
import time

import pytest

from harness.deadlines import eventually
from harness.events import new_event, record
from harness.kafka import Written

pytestmark = pytest.mark.kafka
PARTITIONS = 2
# APNs answers for it after the topic is gone.
SLOW = {"prefix": "57ac", "is": "ok", "delay_ms": 15_000}
TOLD = ("offset not committed", "partition cannot be read")
# The deleted topic stays in the assignment until librdkafka refreshes its metadata.
NO_LOOK = {"topic.metadata.refresh.interval.ms": 600_000}


# Longer than until a process counts the partitions of its sources again.
COUNTED = 70


@pytest.mark.takes(30)
def test_a_deleted_source_does_not_delay_the_others(apache, benches, simulators):
    bench, simulator = benches(apache.kafka, PARTITIONS), simulators({"rules": [SLOW]})
    doomed = apache.kafka.create(f"{bench.topics.source}.doomed", PARTITIONS)
    settings = bench.configuration(
        simulator,
        sources=[{"topic": bench.topics.source}, {"topic": doomed}],
        kafka={"properties": NO_LOOK},
    )
    service = bench.start(settings).wait_until_ready()

    def produce_everywhere():
        bench.produce([record(new_event(), partition=p) for p in range(PARTITIONS)])
        bench.wait_until_settled(service=service)

    produce_everywhere()
    slow = [new_event(device_token=f"57ac{p:060x}") for p in range(PARTITIONS)]
    apache.kafka.produce(doomed, [record(e, partition=p) for p, e in enumerate(slow)])
    eventually(lambda: len(simulator.requests()) == 2 * PARTITIONS, 60, service.child.output)
    apache.kafka.delete(doomed)

    def told():
        lines = [line for message in TOLD for line in service.log_lines(message)]
        return sorted(line["partition"] for line in lines)

    gone = [f"{doomed}[{p}]" for p in range(PARTITIONS)]
    bench.wait_for_outcomes(2 * PARTITIONS, service=service)
    eventually(lambda: set(gone) <= set(told()), 60, service.child.output)
    produce_everywhere()
    service.wait_until_ready()
    produce_everywhere()
    assert service.fetch("/ready")[0] == 200
    service.drain()
    assert told() == gone
    assert sum(map(service.count, TOLD)) == PARTITIONS


@pytest.mark.takes(COUNTED + 10)
def test_orders_for_campaigns_arrive_although_a_source_is_gone(apache, benches, simulators):
    bench = benches(apache.kafka, PARTITIONS)
    doomed = apache.kafka.create(f"{bench.topics.source}.doomed", PARTITIONS)
    orders = f"{bench.topics.source}.campaigns"
    apache.kafka.create(orders, 1, **{"cleanup.policy": "compact"})
    settings = bench.configuration(
        simulators({}),
        sources=[{"topic": bench.topics.source}, {"topic": doomed}],
        campaigns={"topic": orders},
    )
    service = bench.start(settings).wait_until_ready()
    apache.kafka.delete(doomed)
    end = time.monotonic() + COUNTED
    for state in itertools.cycle(("paused", "running")):
        order = Written(json.dumps({"state": state}).encode(), key=b"sale")
        apache.kafka.produce(orders, [order])
        said = f'heliograph_campaign_orders{{state="{state}"}} 1'
        eventually(lambda: said in service.fetch("/metrics")[1], 60, service.child.output)
        if time.monotonic() > end:
            break
    assert service.count("campaign orders could not be read; retrying") == 0
    service.drain()
