"""Crashes, clean exits and several members: nothing is lost, and repetition has a bound."""

import collections
import json
import signal
import socket

import pytest

from harness.deadlines import eventually
from harness.events import HOLD, burst, new_event, record, records
from harness.service import EXPIRES_SOON, outcomes_of, position_of

EVENTS = 3000
IN_FLIGHT = 200
SLOW = {"latency_ms": 100}
# Keeps a burst in flight when the signal comes.
HOLDING = {**SLOW, "rules": [HOLD]}
# Lets tests replace the simulator's scenario.
CONTROLLED = ["--control-port", 0]
# Several times what fits in flight, whatever else has been answered: the signal may come late.
HELD = 4 * IN_FLIGHT
# The interval between two commits.
COMMIT_SECONDS = 0.25


def slow_configuration(bench, simulator, **changes):
    # A drain that ends early gives back what was sent, to be sent again.
    limits = {"in_flight_events": IN_FLIGHT, "drain_timeout": "2m"}
    return bench.configuration(simulator, limits=limits, **changes)


def pushes_of(*simulators):
    """How often each notification was requested, over all simulators."""
    requests = [request for simulator in simulators for request in simulator.requests()]
    return collections.Counter(request["apns-id"] for request in requests)


def outcome_counts(bench):
    outcomes = outcomes_of(bench.kafka, bench.topics)
    assert {outcome["outcome"] for _, outcome in outcomes} == {"accepted"}
    return collections.Counter(position_of(outcome) for _, outcome in outcomes)


def wait_for_mid_burst(bench, service):
    bench.wait_for_outcomes(EVENTS // 6, service=service)
    done = bench.kafka.count(bench.topics.results)
    assert done < EVENTS - IN_FLIGHT, "the burst is already over; nothing would be tested"


def hold_no_longer(simulator):
    """New requests are answered without the delay."""
    assert simulator.control("POST", "/scenario", SLOW)[0] == 204


@pytest.mark.takes(20)
@pytest.mark.core
def test_a_crash_in_mid_burst_loses_nothing(expiring_broker, simulators, benches):
    bench, simulator = benches(expiring_broker), simulators(HOLDING, CONTROLLED)
    written = bench.produce(burst(EVENTS, HELD))
    settings = slow_configuration(bench, simulator, kafka=EXPIRES_SOON)
    first = bench.start(settings).wait_until_ready()
    wait_for_mid_burst(bench, first)
    first.child.kill()
    hold_no_longer(simulator)
    second = bench.start(settings)
    bench.wait_until_settled(seconds=120, service=second)
    second.drain()

    assert set(outcome_counts(bench)) == {place.position for place in written}
    repeated = sum(count - 1 for count in pushes_of(simulator).values())
    # In flight at the crash, and settled since the last acknowledged commit: one commit is in
    # flight at a time, so that is what two intervals can settle.
    settled_per_second = IN_FLIGHT / (SLOW["latency_ms"] / 1000)
    assert repeated <= IN_FLIGHT + 2 * COMMIT_SECONDS * settled_per_second


@pytest.mark.takes(30)
def test_what_settled_behind_an_unsettled_record_is_not_sent_again(
    expiring_broker, simulators, benches
):
    """Commit metadata: a slow record holds back only the committed offset."""
    # No answer before the service is killed, however long that takes.
    slow = {"prefix": "57ac", "is": "ok", "delay_ms": 300_000}
    scenario = {**SLOW, "rules": [slow]}
    bench, simulator = benches(expiring_broker), simulators(scenario, ["--control-port", 0])
    # A connection has one stream until the first answer, so the first event must not be a slow one.
    written = bench.produce(records(1))
    patient = {"request_timeout": "5m"}
    settings = slow_configuration(bench, simulator, kafka=EXPIRES_SOON, apns=patient)
    first = bench.start(settings).wait_until_ready()
    bench.wait_for_outcomes(1, service=first)
    for partition in bench.kafka.partitions(bench.topics.source):
        stuck = record(new_event(device_token=f"57ac{partition:060x}"))
        written += bench.produce([stuck], partition)
    written += bench.produce(records(EVENTS))
    bench.wait_for_outcomes(2 * EVENTS // 3, service=first)
    first.child.kill()
    settled = bench.kafka.count(bench.topics.results)
    assert set(bench.kafka.committed(bench.group, bench.topics.source).values()) <= {0, 1}
    assert simulator.control("POST", "/scenario", SLOW)[0] == 204

    second = bench.start(settings)
    bench.wait_until_settled(seconds=120, service=second)
    second.drain()

    outcomes = outcome_counts(bench)
    assert set(outcomes) == {place.position for place in written}
    repeated = sum(count - 1 for count in outcomes.values())
    settled_per_second = IN_FLIGHT / (SLOW["latency_ms"] / 1000)
    bound = IN_FLIGHT + 2 * COMMIT_SECONDS * settled_per_second
    assert repeated <= bound, f"{repeated} of {settled} were sent again"
    assert bound < settled / 1.5, "the test would pass without metadata as well"


@pytest.mark.takes(15)
@pytest.mark.core
def test_sigterm_in_mid_burst_loses_and_repeats_nothing(broker, simulators, benches):
    bench, simulator = benches(broker), simulators(HOLDING, CONTROLLED)
    written = bench.produce(burst(EVENTS, HELD))
    first = bench.start(slow_configuration(bench, simulator)).wait_until_ready()
    wait_for_mid_burst(bench, first)
    first.drain()
    hold_no_longer(simulator)
    settled = bench.kafka.count(bench.topics.results)
    assert settled < EVENTS
    assert sum(pushes_of(simulator).values()) == settled, "some events were sent and have no outcome"

    second = bench.start(slow_configuration(bench, simulator)).wait_until_ready()
    bench.wait_until_settled(seconds=120, service=second)
    second.drain()

    assert outcome_counts(bench) == {place.position: 1 for place in written}
    assert set(pushes_of(simulator).values()) == {1}
    assert len(pushes_of(simulator)) == EVENTS


def test_two_stop_signals_at_once_count_as_one(broker, simulators, benches):
    bench, simulator = benches(broker), simulators(HOLDING, CONTROLLED)
    bench.produce(burst(EVENTS, HELD))
    service = bench.start(slow_configuration(bench, simulator)).wait_until_ready()
    wait_for_mid_burst(bench, service)
    service.sampler.look_last()
    # Both signals are pending when the process continues.
    for each in (signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGCONT):
        service.child.send(each)
    assert service.child.wait_for_exit() == 0
    assert sum(pushes_of(simulator).values()) == bench.kafka.count(bench.topics.results)


@pytest.mark.takes(20)
@pytest.mark.core
def test_two_members_share_and_one_leaves(expiring_broker, simulators, benches):
    bench = benches(expiring_broker)
    # A simulator for each member shows who sent what.
    ours, theirs = simulators(), simulators()
    staying = bench.start(slow_configuration(bench, ours)).wait_until_ready()
    leaving = bench.start(slow_configuration(bench, theirs)).wait_until_ready()
    written = []

    def both_work():
        before = [len(simulator.requests()) for simulator in (ours, theirs)]
        written.extend(bench.produce(records(40)))
        bench.wait_for_outcomes(len(written), service=staying)
        after = [len(simulator.requests()) for simulator in (ours, theirs)]
        return all(now > then for now, then in zip(after, before))

    eventually(both_work, 60, "both members to have partitions", interval=0.5)
    written.extend(bench.produce(records(500)))
    leaving.drain()
    written.extend(bench.produce(records(100)))
    bench.wait_until_settled(seconds=90, service=staying)
    staying.drain()

    assert set(outcome_counts(bench)) == {place.position for place in written}
    repeated = sum(count - 1 for count in pushes_of(ours, theirs).values())
    assert repeated <= (0 if bench.kafka.accepts_commits_in_rebalance else 2 * IN_FLIGHT)


@pytest.mark.takes(40)
def test_a_rolling_restart_of_two_members_loses_nothing(expiring_broker, simulators, benches):
    bench, simulator = benches(expiring_broker), simulators(SLOW)
    settings = slow_configuration(bench, simulator)
    members = [bench.start(settings).wait_until_ready() for _ in range(2)]
    written = []
    for leaving in members:
        written += bench.produce(records(EVENTS // 4))
        bench.wait_for_outcomes(len(written) - EVENTS // 8)
        successor = bench.start(settings)
        leaving.drain()
        written += bench.produce(records(EVENTS // 8))
        successor.wait_until_ready(60)
    bench.wait_until_settled(seconds=120, service=successor)
    successor.drain()

    assert set(outcome_counts(bench)) == {place.position for place in written}
    # The mock cluster refuses every commit while the group rebalances, so each of the five
    # rebalances can repeat events sent meanwhile; a cluster that accepts them repeats nothing.
    most = max(pushes_of(simulator).values())
    assert most <= (1 if bench.kafka.accepts_commits_in_rebalance else 1 + 5)


def test_a_static_member_is_known_by_its_instance_id(broker, simulators, benches):
    bench, simulator = benches(broker), simulators()
    settings = bench.configuration(simulator)
    settings["kafka"]["group_instance_id"] = "press-0"
    written = bench.produce(records(100))
    for _ in range(2):
        service = bench.start(settings).wait_until_ready()
        bench.wait_until_settled(service=service)
        service.drain()
        written += bench.produce(records(100))
    service = bench.start(settings).wait_until_ready()
    bench.wait_until_settled(service=service)
    service.drain()
    assert outcome_counts(bench) == {place.position: 1 for place in written}


def test_of_two_static_members_with_one_id_the_older_exits_and_says_why(broker, simulators, benches):
    bench, simulator = benches(broker), simulators()
    settings = bench.configuration(simulator)
    settings["kafka"]["group_instance_id"] = "press-0"
    older = bench.start(settings).wait_until_ready()
    written = bench.produce(records(10))
    bench.wait_until_settled(service=older)
    younger = bench.start(settings).wait_until_ready()

    def older_has_ended():
        written.extend(bench.produce(records(10)))
        return not older.child.is_running

    eventually(older_has_ended, 60, older.child.output, interval=0.5)
    assert older.child.wait_for_exit() == 1
    said = "kafka.group_instance_id: another process uses the same one"
    assert [line for line in older.child.lines("stderr") if said in line], older.child.output()
    bench.wait_until_settled(service=younger)
    younger.drain()
    assert set(outcome_counts(bench)) == {place.position for place in written}


def test_sigterm_before_the_group_is_joined_exits_cleanly(expiring_broker, simulators, benches):
    bench, simulator = benches(expiring_broker), simulators()
    written = bench.produce(records(10))
    # The mock cluster's first join takes three seconds; other brokers join at once.
    service = bench.start(bench.configuration(simulator))
    assert service.port, "the admin port opens before the group is joined"

    def has_checked_topics():
        told = json.loads(service.fetch("/ready")[1])
        return {one["reason"] for one in told["reasons"]} <= {"not in the consumer group yet"}

    eventually(has_checked_topics, 60, service.child.output)
    service.drain()
    (farewell,) = [line for line in service.messages() if line.startswith("left the consumer group")]
    assert "events handed back" in farewell

    successor = bench.start(bench.configuration(simulator)).wait_until_ready(60)
    bench.wait_until_settled(seconds=60, service=successor)
    successor.drain()
    assert outcome_counts(bench) == {place.position: 1 for place in written}


@pytest.mark.takes(10)
def test_sigterm_while_kafka_is_silent_at_startup_exits_cleanly(broker, simulators, benches):
    bench, simulator = benches(broker), simulators()
    settings = bench.configuration(simulator)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        settings["kafka"]["bootstrap_servers"] = f"127.0.0.1:{silent.getsockname()[1]}"
        service = bench.start(settings)
        # Connected: the service waits for an answer.
        connection, _ = silent.accept()
        with connection:
            service.drain()
    assert "shutdown requested during startup; no records were consumed" in service.messages()
