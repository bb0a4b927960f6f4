"""Retry topics: events that APNs refuses for a while wait in Kafka, and end exactly once."""

import collections
import json
import time

import pytest

from harness.deadlines import eventually
from harness.events import new_event, record, records
from harness.kafka import Written
from harness.retries import create_retry_topics, history_of, own_headers_of, retrying
from harness.service import EXPIRES_SOON, outcomes_of, position_of

IN_FLIGHT = 20
# The interval between two commits.
COMMIT_SECONDS = 0.25
DELAY = "2s"
DELAY_SECONDS = 2
# Two refusals, then success. 429 is about the device; with 503 the circuit breaker would open, and
# hold the events that should be deferred here.
RECOVERING = {"default": {"is": "flaky", "steps": ["TooManyRequests", "TooManyRequests"]}}
BROKEN = {"default": {"is": "TooManyRequests"}}
GARBAGE = (
    (("heliograph-retry-due", b"soon"),),
    (("heliograph-retry-due", b"99999999999999999999"), ("heliograph-retry-attempts", b"-1")),
    (("heliograph-retry-topic", b"\xff\xfe"), ("heliograph-retry-topic", b"other")),
)


def metric(service, name):
    """The sum of a metric's samples."""
    samples = [
        line.rsplit(" ", 1)
        for line in service.fetch("/metrics")[1].splitlines()
        if line.split("{")[0].split(" ")[0] == f"heliograph_{name}"
    ]
    assert samples, f"no metric {name}"
    return sum(float(value) for _, value in samples)


def assert_accounted_for(service):
    assert metric(service, "events_unaccounted") == 0


def wait_until_deferred(bench, topic, count, service):
    bench.kafka.wait_for_count(topic, count, child=service.child)


def outcomes_by_id(bench):
    outcomes = outcomes_of(bench.kafka, bench.topics)
    counts = collections.Counter(outcome["event_id"] for _, outcome in outcomes)
    assert set(counts.values()) <= {1}, "an event has two outcomes"
    return {outcome["event_id"]: outcome for _, outcome in outcomes}


def forged(event, source, due_ms, **changes):
    """A record in a retry topic that the service did not write."""
    facts = {
        "topic": source,
        "partition": 1,
        "offset": 7,
        "received": due_ms - 60_000,
        "attempts": 3,
        "first-failure": due_ms - 60_000,
        "due": due_ms,
        "tier": DELAY,
        "reason": "TooManyRequests",
        **changes,
    }
    headers = tuple((f"heliograph-retry-{n}", str(v).encode()) for n, v in facts.items())
    return record(event, headers=headers)


@pytest.mark.core
def test_a_recovered_event_is_delivered_once_with_its_whole_history(broker, simulators, benches):
    bench, simulator = benches(broker), simulators(RECOVERING)
    [topic] = create_retry_topics(bench, DELAY)
    parent = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    trace = (("traceparent", parent), ("binary", b"\x00\xff"), ("null", None))
    written = bench.produce([record(new_event(), headers=trace) for _ in range(20)])
    service = bench.run(simulator, retry=retrying(DELAY))
    bench.wait_for_outcomes(20, service=service)
    bench.wait_until_settled(service=service)
    assert_accounted_for(service)
    assert metric(service, "events_deferred_total") == 40
    assert metric(service, "events_returned_total") == 40
    service.drain()

    outcomes = outcomes_of(broker, bench.topics)
    assert sorted(position_of(o) for _, o in outcomes) == sorted(w.position for w in written)
    for message, outcome in outcomes:
        assert (outcome["outcome"], outcome["attempts"]) == ("accepted", 3)
        assert outcome["source"]["topic"] == bench.topics.source
        assert outcome["latency_ms"] >= 2 * DELAY_SECONDS * 1000
        assert dict(message.headers())["traceparent"] == parent
    retried = broker.read_all(topic)
    by_value = {place.value: place for place in written}
    assert len(retried) == 40
    for message in retried:
        place = by_value[message.value()]
        assert message.key() == place.key
        assert own_headers_of(message) == list(trace)
        history = history_of(message)
        assert (history["topic"], int(history["partition"]), int(history["offset"])) == (
            bench.topics.source,
            *place.position,
        )
        assert history["reason"] in ("TooManyRequests", "UnexplainedStatus")
    assert collections.Counter(history_of(m)["attempts"] for m in retried) == {"1": 20, "2": 20}
    assert_waited_between_attempts(simulator, 20)


def assert_waited_between_attempts(simulator, count):
    """Each token was requested three times, never sooner than its tier's delay."""
    times = collections.defaultdict(list)
    for request in simulator.requests():
        times[request["token"]].append(request["time"])
    assert len(times) == count
    for asked in times.values():
        assert len(asked) == 3
        # The due time is set before the record is written, so only the millisecond that each clock
        # reading rounds away is subtracted.
        gaps = [later - earlier for earlier, later in zip(asked, asked[1:])]
        assert all(gap >= DELAY_SECONDS * 1000 - 5 for gap in gaps), gaps


def test_a_partition_that_waits_blocks_no_other(broker, simulators, benches):
    bench = benches(broker)
    simulator = simulators({"rules": [{"prefix": "dead", "is": "TooManyRequests"}]})
    [topic] = create_retry_topics(bench, "1h")
    late = [new_event(device_token=f"dead{number:060x}") for number in range(50)]
    bench.produce([record(event) for event in late])
    service = bench.run(
        simulator,
        retry=retrying("1h", give_up_after="3h"),
        limits={"drain_timeout": "120s"},
    )
    wait_until_deferred(bench, topic, 50, service)

    def holds_one_for_each_partition():
        return metric(service, "waiting_for_due_events") == 4

    eventually(holds_one_for_each_partition, 60, "one waiting record for each partition")
    bench.produce(records(200))
    bench.wait_for_outcomes(200, service=service)
    bench.wait_until_settled(service=service)
    # Fifty wait in Kafka, four of them read and held in memory.
    assert metric(service, "events_deferred_total") == 50
    assert metric(service, "inflight_events") == 4
    assert_accounted_for(service)
    # Waiting records do not use up the drain time.
    service.drain()


@pytest.mark.takes(25)
def test_a_restart_loses_no_deferred_event(broker, simulators, benches):
    bench, simulator = benches(broker), simulators(RECOVERING)
    [topic] = create_retry_topics(bench, "10s")
    bench.produce(records(30))
    first = bench.run(simulator, retry=retrying("10s"))
    wait_until_deferred(bench, topic, 30, first)
    bench.wait_until_settled(service=first)
    first.drain()
    # Some may have come back; at least one has not.
    assert bench.kafka.count(bench.topics.results) < 30

    second = bench.run(simulator, retry=retrying("10s"))
    bench.wait_for_outcomes(30, service=second)
    assert_accounted_for(second)
    second.drain()
    outcomes = outcomes_by_id(bench)
    assert len(outcomes) == 30
    assert {outcome["attempts"] for outcome in outcomes.values()} == {3}


@pytest.mark.takes(25)
def test_a_crash_loses_no_event_deferred_or_about_to_be(
    expiring_broker, simulators, benches
):
    bench, simulator = benches(expiring_broker), simulators({**RECOVERING, "latency_ms": 100})
    [topic] = create_retry_topics(bench, "3s")
    limits = {"in_flight_events": IN_FLIGHT}
    settings = bench.configuration(
        simulator, retry=retrying("3s"), limits=limits, kafka=EXPIRES_SOON
    )
    bench.produce(records(600))
    first = bench.start(settings).wait_until_ready()
    # Some are deferred, some are about to be, the rest has not been read.
    wait_until_deferred(bench, topic, 200, first)
    first.child.kill()
    assert bench.kafka.count(bench.topics.results) < 600
    second = bench.start(settings)

    def all_have_outcomes():
        outcomes = outcomes_of(bench.kafka, bench.topics)
        return len({outcome["event_id"] for _, outcome in outcomes}) == 600

    eventually(all_have_outcomes, 120, "an outcome for each event", interval=0.5)
    assert_accounted_for(second)
    second.drain()
    outcomes = [outcome for _, outcome in outcomes_of(bench.kafka, bench.topics)]
    assert {outcome["outcome"] for outcome in outcomes} == {"accepted"}
    # Events in flight, and those that two commit intervals can settle, run twice.
    settled_per_second = IN_FLIGHT / 0.1
    assert len(outcomes) - 600 <= IN_FLIGHT + 2 * COMMIT_SECONDS * settled_per_second


@pytest.mark.takes(25)
def test_two_members_share_deferred_events_and_one_leaves(expiring_broker, simulators, benches):
    bench, simulator = benches(expiring_broker), simulators(RECOVERING)
    [topic] = create_retry_topics(bench, "5s")
    settings = bench.configuration(simulator, retry=retrying("5s"))
    staying = bench.start(settings).wait_until_ready()
    leaving = bench.start(settings).wait_until_ready()
    bench.produce(records(60))
    wait_until_deferred(bench, topic, 60, staying)
    leaving.drain()
    assert_accounted_for(staying)

    def all_have_outcomes():
        outcomes = outcomes_of(bench.kafka, bench.topics)
        return len({outcome["event_id"] for _, outcome in outcomes}) == 60

    eventually(all_have_outcomes, 120, "an outcome for each event", interval=0.5)
    assert_accounted_for(staying)
    staying.drain()
    kinds = {outcome["outcome"] for _, outcome in outcomes_of(bench.kafka, bench.topics)}
    assert kinds == {"accepted"}


def test_an_event_that_would_expire_while_it_waits_is_not_deferred(broker, simulators, benches):
    bench, simulator = benches(broker), simulators(BROKEN)
    [topic] = create_retry_topics(bench, "1h")
    bench.produce([record(new_event(expiration=int(time.time()) + 600))])
    service = bench.run(simulator, retry=retrying("1h", give_up_after="3h"))
    bench.wait_for_outcomes(1, service=service)
    service.drain()
    [(_, outcome)] = outcomes_of(broker, bench.topics)
    assert (outcome["outcome"], outcome["reason"]) == ("undeliverable", "TooManyRequests")
    assert outcome["http_status"] == 429
    assert broker.count(topic) == 0
    assert broker.count(bench.topics.dead_letters) == 1


def test_an_event_for_now_or_never_is_not_deferred(broker, simulators, benches):
    bench, simulator = benches(broker), simulators(BROKEN)
    [topic] = create_retry_topics(bench, "1h")
    call, usual = new_event(expiration=0), new_event()
    bench.produce([record(call), record(usual)])
    service = bench.run(simulator, retry=retrying("1h", here_for="1s", give_up_after="3h"))
    bench.wait_for_outcomes(1, service=service)
    wait_until_deferred(bench, topic, 1, service)
    assert_accounted_for(service)
    service.drain()
    outcome = outcomes_by_id(bench)[call["id"]]
    assert (outcome["outcome"], outcome["reason"]) == ("undeliverable", "TooManyRequests")
    assert broker.count(topic) == 1
    assert broker.count(bench.topics.dead_letters) == 1
    requests = collections.Counter(request["token"] for request in simulator.requests())
    assert requests[call["device_token"]] == outcome["attempts"] > requests[usual["device_token"]]


@pytest.mark.takes(20)
def test_the_last_tier_repeats_until_the_event_is_given_up(broker, simulators, benches):
    bench, simulator = benches(broker), simulators(BROKEN)
    first, last = create_retry_topics(bench, "1s", DELAY)
    bench.produce(records(3))
    service = bench.run(simulator, retry=retrying("1s", DELAY, give_up_after="16s"))
    bench.wait_for_outcomes(3, service=service)
    assert_accounted_for(service)
    service.drain()
    # Once per event in the first tier; in the last one as often as fits between 1 s and 16 s.
    assert broker.count(first) == 3
    assert broker.count(last) >= 3
    for outcome in outcomes_by_id(bench).values():
        assert outcome["outcome"] == "undeliverable"
        assert outcome["reason"] == "TooManyRequests"
        assert outcome["http_status"] == 429
    requests = collections.Counter(request["token"] for request in simulator.requests())
    attempts = {o["device_token"]: o["attempts"] for o in outcomes_by_id(bench).values()}
    assert requests == attempts
    assert all(2 <= count <= 10 for count in attempts.values()), attempts
    assert broker.count(bench.topics.dead_letters) == 3
    for message in broker.read_all(bench.topics.dead_letters):
        assert not history_of(message)
        headers = dict(message.headers())
        assert headers["__connect.errors.topic"] == bench.topics.source.encode()


def test_forged_records_do_no_harm(broker, simulators, benches):
    bench, simulator = benches(broker), simulators()
    [topic] = create_retry_topics(bench, DELAY)
    now = int(time.time() * 1000)
    far = 9 * 10**17
    fresh = [Written(record(new_event()).value, headers=headers) for headers in GARBAGE]
    held = [
        forged(new_event(), bench.topics.source, far),
        forged(new_event(), bench.topics.source, now, attempts=10**9, reason=""),
        forged(new_event(), "somebody-elses-topic", far),
        record(new_event()),
    ]
    notes = [Written(b"not JSON"), Written(None, key=b"tombstone")]
    broker.produce(topic, fresh + held + notes)
    service = bench.run(simulator, retry=retrying(DELAY))
    bench.wait_for_outcomes(len(fresh + held) + 1, service=service)
    bench.kafka.wait_until_settled(bench.group, topic, child=service.child)
    assert_accounted_for(service)
    service.drain()
    outcomes = [outcome for _, outcome in outcomes_of(broker, bench.topics)]
    kinds = collections.Counter(outcome["outcome"] for outcome in outcomes)
    assert kinds == {"accepted": len(fresh + held), "invalid": 1}
    sources = {o["event_id"]: o["source"] for o in outcomes if o["event_id"]}
    believed = [json.loads(r.value)["id"] for r in held[:2]]
    assert all(sources[event]["topic"] == bench.topics.source for event in believed)
    assert {s["topic"] for e, s in sources.items() if e not in believed} == {topic}


def test_a_group_that_starts_at_the_end_does_not_skip_retry_records(
    broker, simulators, benches
):
    bench, simulator = benches(broker), simulators()
    [topic] = create_retry_topics(bench, DELAY)
    resting = new_event()
    broker.produce(topic, [forged(resting, bench.topics.source, int(time.time() * 1000))])
    bench.produce(records(5))
    service = bench.run(simulator, kafka={"start": "latest"}, retry=retrying(DELAY))
    bench.wait_for_outcomes(1, service=service)
    service.drain()
    assert set(outcomes_by_id(bench)) == {resting["id"]}


def test_missing_retry_topics_are_named_with_the_command_that_creates_them(
    broker, simulators, benches
):
    bench, simulator = benches(broker, 3), simulators()
    create_retry_topics(bench, "1m")
    kafka = {"properties": {"topic.metadata.propagation.max.ms": 1000}}
    retry = retrying("1m", "7m", "15m")
    service = bench.start(bench.configuration(simulator, kafka=kafka, retry=retry))
    assert service.child.wait_for_exit(60) == 1
    said = "\n".join(service.child.lines("stderr"))
    source = bench.topics.source
    for delay in ("7m", "15m"):
        assert f"retry.later: topic '{source}.retry.{delay}'" in said
        assert f"--create --topic {source}.retry.{delay} --partitions 3" in said
    assert "retention.ms=608400000" in said
    assert f"'{source}.retry.1m'" not in said


def test_missing_retry_topics_are_created_if_configured(broker, simulators, benches):
    bench, simulator = benches(broker, 3), simulators()
    service = bench.run(simulator, kafka={"create_topics": True}, retry=retrying("1m", "15m"))
    service.drain()
    for delay in ("1m", "15m"):
        assert len(broker.partitions(f"{bench.topics.source}.retry.{delay}")) == 3
