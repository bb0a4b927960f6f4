"""A topic is deleted and created again while the service runs, after its leader had changed.

librdkafka 2.1 and later keep the old leader epoch, and then do not fetch the new topic.
"""

import collections
import json
import signal

import pytest

from harness.deadlines import eventually
from harness.events import new_event, record
from harness.kafka import Written, patiently

pytestmark = [pytest.mark.takes(40), pytest.mark.kafka]
NOT_FETCHED = "partition is no longer fetched; draining, then exiting with code 75 to be restarted"
COMPACTED = {"cleanup.policy": "compact"}
TRY_AGAIN = 75
# Three looks, a minute apart.
NOTICED = 240


def test_a_source_that_is_created_again_is_read(fragile_apache, benches, simulators):
    bench, simulator = benches(fragile_apache.kafka, 1), simulators({})
    settings = bench.configuration(simulator, kafka={"offset_lost": "beginning"})
    service = bench.start(settings).wait_until_ready()
    old = [new_event() for _ in range(10)]
    bench.produce([record(event) for event in old[:5]])
    bench.wait_until_settled(service=service)
    fragile_apache.broker.crash()
    fragile_apache.start_broker_again()
    fragile_apache.kafka.wait_for_leaders(bench.topics.source)
    bench.produce([record(event) for event in old[5:]])
    bench.wait_until_settled(service=service)
    bench.kafka.make_again(bench.topics.source, 1)
    new = [new_event() for _ in range(5)]
    bench.produce([record(event) for event in new])
    everything = collections.Counter(event["id"] for event in old + new)
    eventually(
        lambda: told(bench) == everything or not service.child.is_running,
        NOTICED,
        service.child.output,
    )
    if not service.child.is_running:
        assert service.child.wait_for_exit(1) == TRY_AGAIN
        assert len(service.log_lines(NOT_FETCHED)) == 1
        service = bench.start(settings)
        eventually(lambda: told(bench) == everything, 60, service.child.output)
    service.drain()


def test_orders_from_a_topic_that_is_created_again_are_read(fragile_apache, benches, simulators):
    kafka = fragile_apache.kafka
    bench, simulator = benches(kafka, 1), simulators({})
    topic = kafka.create(f"{bench.topics.source}.campaigns", 1, **COMPACTED)
    service = bench.start(bench.configuration(simulator, campaigns={"topic": topic}))
    service.wait_until_ready()

    def wait_until_paused(*campaigns, seconds=60):
        def are_paused():
            shown = service.status()["campaigns"]["shown"]
            return {one["campaign"] for one in shown if one["order"]} == set(campaigns)

        eventually(are_paused, seconds, service.child.output)

    def pause(campaign):
        kafka.produce(topic, [Written(b'{"state": "paused"}', key=campaign.encode())])

    pause("a")
    wait_until_paused("a")
    fragile_apache.broker.crash()
    fragile_apache.start_broker_again()
    kafka.wait_for_leaders(topic)
    pause("b")
    wait_until_paused("a", "b")
    # The service sees no moment without the topic, which it would notice.
    service.child.send(signal.SIGSTOP)
    kafka.delete(topic)
    patiently(lambda: kafka.create(topic, 1, **COMPACTED))
    pause("c")
    service.child.send(signal.SIGCONT)
    wait_until_paused("c", seconds=NOTICED)
    service.drain()


def told(bench):
    """How many outcomes each event has."""
    messages = bench.kafka.read_committed(bench.topics.results)
    return collections.Counter(json.loads(message.value())["event_id"] for message in messages)
