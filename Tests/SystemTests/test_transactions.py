"""`results.transactional`: readers of committed records see one outcome per event."""

import collections
import json

import pytest

from harness.deadlines import eventually
from harness.events import HOLD, burst, encoded, new_event, record, records
from harness.kafka import Written
from harness.retries import create_retry_topics, retrying
from harness.service import position_of

EVENTS = 1500
IN_FLIGHT = 200
SLOW = {"latency_ms": 100}
# Lets tests replace the simulator's scenario.
CONTROLLED = ["--control-port", 0]
# Several times what fits in flight: if a simulator holds them, the burst is in flight when the
# signal comes, even if that is late.
HELD = 4 * IN_FLIGHT


def transactional(bench, simulator, name="press", **changes):
    # A drain that ends early gives back what was sent, to be sent again.
    limits = {"in_flight_events": IN_FLIGHT, "drain_timeout": "2m"}
    settings = bench.configuration(simulator, limits=limits, **changes)
    settings["results"] |= {"transactional": True, "transactional_id": f"{bench.group}-{name}"}
    return settings


def committed_outcomes(bench):
    """The number of committed outcomes of each event."""
    found = bench.kafka.read_committed(bench.topics.results)
    return collections.Counter(position_of(json.loads(message.value())) for message in found)


def wait_for_committed(bench, count, service):
    def reached():
        assert service.child.is_running, f"the service ended: {service.child.output()}"
        return committed_outcomes(bench).total() >= count

    eventually(reached, 60, lambda: f"{count} outcomes; {service.child.output()}", interval=0.2)


def each_once(written):
    return {place.position: 1 for place in written}


def test_outcomes_and_offsets_are_committed_together(broker, simulators, benches):
    bench, simulator = benches(broker), simulators()
    service = bench.start(transactional(bench, simulator, shards=2)).wait_until_ready()
    # Not before: while shards join, events in flight can be sent again.
    written = bench.produce(records(300))
    bench.wait_until_settled(service=service)
    assert committed_outcomes(bench) == each_once(written)
    # More, after a pause, in another transaction.
    written += bench.produce(records(100))
    bench.wait_until_settled(service=service)
    service.drain()
    assert committed_outcomes(bench) == each_once(written)
    assert len(simulator.requests()) == len(written)


@pytest.mark.takes(20)
def test_a_crash_repeats_no_outcome_of_a_recipient(broker, simulators, benches):
    """Which recipients have settled is part of the transaction."""
    slow = {"latency_ms": 400}
    bench, simulator = benches(broker, 1), simulators({**slow, "rules": [HOLD]}, CONTROLLED)
    # Not a divisor of what is in flight, so that a crash finds events that have settled in part.
    recipients, wanted = 70, {}
    for number in range(EVENTS // recipients):
        # More of the last ones than fit in flight are answered late.
        is_late = (number + 1) * recipients > EVENTS - HELD
        prefix = HOLD["prefix"] if is_late else "a11c"
        tokens = [f"{prefix}{number:030x}{index:030x}" for index in range(recipients)]
        event = new_event(device_token=None, recipients=tokens)
        bench.produce([Written(encoded(event), event["id"].encode())])
        wanted |= {(event["id"], index): 1 for index in range(recipients)}

    def committed():
        found = bench.kafka.read_committed(bench.topics.results)
        outcomes = (json.loads(message.value()) for message in found)
        return collections.Counter((one["event_id"], one["recipient"]) for one in outcomes)

    settings = transactional(bench, simulator)
    settings["kafka"]["group_instance_id"] = "press-0"
    for share in (6, 3):
        service = bench.start(settings).wait_until_ready(60)
        wait_for_committed(bench, len(wanted) // share, service)
        service.child.kill()
        assert committed().total() < len(wanted), "all recipients have been sent to"
    assert simulator.control("POST", "/scenario", slow)[0] == 204
    last = bench.start(settings).wait_until_ready(60)
    bench.wait_until_settled(seconds=120, service=last)
    last.drain()

    assert committed() == wanted
    pushes = collections.Counter(request["apns-id"] for request in simulator.requests())
    assert len(pushes) == len(wanted)
    # Pushes may repeat: those in flight, and those whose transaction was not committed.
    assert sum(pushes.values()) <= len(wanted) + 2 * 2 * IN_FLIGHT


def test_all_records_of_an_outcome_are_in_its_transaction(broker, simulators, benches):
    dead = {"prefix": "dead", "is": "unregistered", "since": 1767225600000}
    bench, simulator = benches(broker), simulators({"rules": [dead]})
    bench.produce([record(new_event(device_token="dead" + "0" * 60)), Written(b"no event")])
    service = bench.start(transactional(bench, simulator)).wait_until_ready()
    bench.wait_until_settled(service=service)
    service.drain()
    topics = bench.topics
    for topic, count in ((topics.results, 2), (topics.token_status, 1), (topics.dead_letters, 1)):
        assert len(bench.kafka.read_committed(topic)) == count, topic


@pytest.mark.core
def test_an_event_that_waits_in_a_retry_topic_has_one_outcome(broker, simulators, benches):
    recovering = {"default": {"is": "flaky", "steps": ["ServiceUnavailable"]}}
    bench, simulator = benches(broker), simulators(recovering)
    (topic,) = create_retry_topics(bench, "2s")
    settings = transactional(bench, simulator, retry=retrying("2s"))
    settings["kafka"]["group_instance_id"] = "press-0"
    # Too few devices to open the breaker, whose probes would fail with each event not yet tried.
    written = bench.produce(records(9))
    first = bench.start(settings).wait_until_ready()
    eventually(
        lambda: len(bench.kafka.read_committed(topic)) == len(written), 60, first.child.output
    )
    first.child.kill()
    second = bench.start(settings).wait_until_ready(60)
    wait_for_committed(bench, len(written), second)
    bench.wait_until_settled(service=second)
    second.drain()
    assert committed_outcomes(bench) == each_once(written)
    deferred = bench.kafka.read_committed(topic)
    assert len(deferred) == len(written), "each event must be deferred once"


@pytest.mark.takes(20)
def test_a_crash_in_mid_flight_repeats_no_outcome(broker, simulators, benches):
    slow = {"latency_ms": 400}
    bench, simulator = benches(broker), simulators({**slow, "rules": [HOLD]}, CONTROLLED)
    written = bench.produce(burst(EVENTS, HELD))
    settings = transactional(bench, simulator)
    # This broker keeps a dead member's partitions, so a static member replaces it.
    settings["kafka"]["group_instance_id"] = "press-0"
    for share in (6, 3):
        service = bench.start(settings).wait_until_ready()
        wait_for_committed(bench, EVENTS // share, service)
        service.child.kill()
        assert committed_outcomes(bench).total() < EVENTS, "the burst is already over"
    assert simulator.control("POST", "/scenario", slow)[0] == 204
    last = bench.start(settings).wait_until_ready(60)
    bench.wait_until_settled(seconds=120, service=last)
    last.drain()

    assert committed_outcomes(bench) == each_once(written)
    pushes = collections.Counter(request["apns-id"] for request in simulator.requests())
    assert len(pushes) == EVENTS
    # Pushes may repeat: those in flight, and those whose transaction was not committed.
    assert sum(pushes.values()) <= EVENTS + 2 * 2 * IN_FLIGHT


@pytest.mark.takes(10)
def test_what_settled_behind_a_slow_record_keeps_its_one_outcome(broker, simulators, benches):
    """The commit metadata is part of the transaction."""
    # No answer before the service is killed, however long that takes.
    slow = {"prefix": "57ac", "is": "ok", "delay_ms": 300_000}
    scenario = {**SLOW, "rules": [slow]}
    bench, simulator = benches(broker, 1), simulators(scenario, ["--control-port", 0])
    settings = transactional(bench, simulator, apns={"request_timeout": "5m"})
    settings["kafka"]["group_instance_id"] = "press-0"
    written = bench.produce(records(1))
    first = bench.start(settings).wait_until_ready()
    wait_for_committed(bench, 1, first)
    written += bench.produce([record(new_event(device_token=f"57ac{0:060x}"))])
    written += bench.produce(records(300))
    wait_for_committed(bench, 200, first)
    first.child.kill()
    assert bench.kafka.committed(bench.group, bench.topics.source) == {0: 1}
    assert bench.kafka.committed_metadata(bench.group, bench.topics.source)[0].startswith("p")
    assert simulator.control("POST", "/scenario", SLOW)[0] == 204

    second = bench.start(settings).wait_until_ready(60)
    bench.wait_until_settled(seconds=90, service=second)
    second.drain()
    assert committed_outcomes(bench) == each_once(written)


@pytest.mark.takes(15)
def test_sigterm_in_mid_burst_repeats_no_push(broker, simulators, benches):
    bench, simulator = benches(broker), simulators({**SLOW, "rules": [HOLD]}, CONTROLLED)
    written = bench.produce(burst(EVENTS, HELD))
    first = bench.start(transactional(bench, simulator)).wait_until_ready()
    wait_for_committed(bench, EVENTS // 6, first)
    first.drain()
    assert simulator.control("POST", "/scenario", SLOW)[0] == 204
    settled = committed_outcomes(bench).total()
    assert settled < EVENTS
    assert len(simulator.requests()) == settled, "some events were sent and have no outcome"

    second = bench.start(transactional(bench, simulator)).wait_until_ready()
    bench.wait_until_settled(seconds=120, service=second)
    second.drain()
    assert committed_outcomes(bench) == each_once(written)
    assert len(simulator.requests()) == EVENTS


@pytest.mark.takes(10)
def test_two_members_share_the_work_and_one_leaves(broker, simulators, benches):
    bench = benches(broker)
    ours, theirs = simulators(SLOW), simulators(SLOW)
    staying = bench.start(transactional(bench, ours, "staying")).wait_until_ready()
    written = bench.produce(records(EVENTS // 3))
    leaving = bench.start(transactional(bench, theirs, "leaving")).wait_until_ready()

    def both_work():
        written.extend(bench.produce(records(40)))
        return len(ours.requests()) > 0 and len(theirs.requests()) > 0

    eventually(both_work, 60, "both members to have partitions", interval=0.5)
    written += bench.produce(records(EVENTS // 3))
    leaving.drain()
    written += bench.produce(records(100))
    bench.wait_until_settled(seconds=90, service=staying)
    staying.drain()
    assert committed_outcomes(bench) == each_once(written)


def test_of_two_members_with_one_transactional_id_the_older_exits(broker, simulators, benches):
    bench, simulator = benches(broker), simulators()
    settings = transactional(bench, simulator)
    first = bench.start(settings).wait_until_ready()
    bench.produce(records(10))
    bench.wait_until_settled(service=first)
    twin = bench.start(settings).wait_until_ready(60)

    def work_until_the_older_ends():
        bench.produce(records(20))
        return not first.child.is_running

    eventually(work_until_the_older_ends, 60, "the older twin to end", interval=0.5)
    assert first.child.wait_for_exit(5) != 0
    assert "results.transactional_id" in first.child.output()
    twin.child.kill()
