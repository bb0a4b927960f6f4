"""Requests that Kafka refuses: they are logged, survived, and repeated with growing delays."""

import collections
import datetime
import functools
import json

import pytest

from harness.deadlines import eventually
from harness.events import APP, new_event, record, records
from harness.kafka import Written, faulty_cluster
from harness.kafka_link import RefusingLink, running_kafka_link
from harness.service import outcomes_of, position_of

# Kafka protocol error codes.
NOT_COORDINATOR = 16
NOT_ENOUGH_REPLICAS = 19
TOPIC_AUTHORIZATION_FAILED = 29
CLUSTER_AUTHORIZATION_FAILED = 31
OUT_OF_ORDER_SEQUENCE_NUMBER = 45
FENCED_INSTANCE_ID = 82


@pytest.fixture
def bench(benches):
    with faulty_cluster() as kafka:
        yield benches(kafka)


@pytest.fixture
def simulator(simulators):
    return simulators({})


def wait_until_unready(service, word):
    def unready():
        status, text = service.fetch("/ready")
        return status == 503 and word in text

    eventually(unready, 60, lambda: f"{word} in {service.fetch('/ready')}: {service.child.output()}")


def outcome_counts(bench):
    outcomes = outcomes_of(bench.kafka, bench.topics)
    return collections.Counter(position_of(outcome) for _, outcome in outcomes)


@pytest.mark.core
def test_a_missing_right_to_write_is_reported_until_it_is_granted(bench, simulator):
    # A single event, so that no other outcome is accepted meanwhile.
    written = bench.produce(records(1))
    bench.kafka.cause(f"fail produce {TOPIC_AUTHORIZATION_FAILED} 4")
    service = bench.start(bench.configuration(simulator))
    wait_until_unready(service, bench.topics.results)
    service.wait_until_ready(60)
    bench.wait_until_settled(service=service)
    # Logged once, and again if it lasts long.
    lines = service.log_lines("Kafka did not accept a record")
    assert {line["level"] for line in lines} == {"error"}
    assert all(bench.topics.results in line["error"] for line in lines)
    service.drain()
    assert outcome_counts(bench) == {place.position: 1 for place in written}
    assert len(simulator.requests()) == len(written)


def seconds_between(lines):
    times = [datetime.datetime.fromisoformat(line["time"]) for line in lines]
    return [(after - before).total_seconds() for before, after in zip(times, times[1:])]


def test_a_producer_without_the_right_to_write_is_replaced_with_growing_delays(bench, simulator):
    written = bench.produce(records(10))
    failures = 4
    bench.kafka.cause(f"fail initProducerID {CLUSTER_AUTHORIZATION_FAILED} {failures}")
    service = bench.start(bench.configuration(simulator))
    wait_until_unready(service, "CLUSTER_AUTHORIZATION_FAILED")
    bench.wait_for_outcomes(len(written), service=service)
    service.wait_until_ready(60)
    bench.wait_until_settled(service=service)
    service.drain()
    said = "producer failed; creating a new one"
    assert service.count(said) == failures
    # At once, and then after 1 s, 2 s and so on; the log shows the first three.
    _, second = seconds_between(service.log_lines(said))
    assert second > 0.5
    assert outcome_counts(bench) == {place.position: 1 for place in written}
    assert len(simulator.requests()) == len(written)


def test_an_outcome_that_librdkafka_infers_is_written_again(apache, benches, simulator):
    """Kafka refuses the first batch of a producer, and takes the second, which is on its way.

    It does not know the producer yet, so it takes any sequence number. librdkafka then reports both
    as written, and drops the first.
    """
    bench = benches(apache.kafka, 1)
    kind = functools.partial(RefusingLink, bench.topics.results)
    with running_kafka_link(apache.kafka.bootstrap_servers, kind) as (link, servers):
        settings = bench.configuration(simulator, kafka={"bootstrap_servers": servers})
        service = bench.start(settings).wait_until_ready()
        written = bench.produce(records(1))
        eventually(lambda: link.is_holding, 60, "the first outcome to be on its way")
        written += bench.produce(records(1))
        bench.wait_for_outcomes(len(written), service=service)
        bench.wait_until_settled(service=service)
        service.drain()
    assert link.has_refused
    [line] = service.log_lines("Kafka did not accept a record")
    assert "gave no offset" in line["error"]
    assert outcome_counts(bench) == {place.position: 1 for place in written}
    assert len(simulator.requests()) == len(written)


def test_offsets_are_waited_for_while_the_coordinator_moves(bench, simulator):
    """Without offsets, a group that starts at the end would read from the beginning."""
    old = bench.produce(records(50))
    bench.kafka.cause(f"fail offsetFetch {NOT_COORDINATOR} 3")
    service = bench.start(bench.configuration(simulator, kafka={"start": "latest"}))
    service.wait_until_ready(60)
    partitions = bench.kafka.partitions(bench.topics.source)
    seen = []

    def all_partitions_are_read():
        seen.extend(bench.produce(records(8)))
        assert service.child.is_running, service.child.output()
        return {partition for partition, _ in outcome_counts(bench)} == set(partitions)

    eventually(all_partitions_are_read, 60, service.child.output, interval=0.5)
    bench.wait_until_settled(service=service)
    service.drain()
    counts = outcome_counts(bench)
    assert not counts.keys() & {place.position for place in old}
    assert set(counts.values()) == {1}


@pytest.mark.takes(10)
def test_an_unreadable_token_status_topic_delays_no_event(bench, simulator):
    token = "dead" + "0" * 60
    status = {"status": "unregistered", "token_action": "remove", "unregistered_at": 1}
    key = f"{APP}|production|{token}".encode()
    said = Written(json.dumps(status).encode(), key)
    # One in each partition: the mock cluster drops the error of a fetch that waits for records.
    for partition in bench.kafka.partitions(bench.topics.token_status):
        bench.kafka.produce(bench.topics.token_status, [said], partition)
    # No one else fetches before the shards run.
    bench.kafka.cause(f"fail fetch {TOPIC_AUTHORIZATION_FAILED} 1")
    # It waits in Kafka until the shards run, before the service knows that its token is dead.
    bench.produce([record(new_event(device_token=token))])
    service = bench.run(simulator)
    [line] = service.log_lines("token status could not be read; retrying")
    assert "TOPIC_AUTHORIZATION_FAILED" in line["error"]
    bench.wait_for_outcomes(1, service=service)
    eventually(lambda: service.log_lines("token status loaded"), 60, service.child.output)
    bench.produce([record(new_event(device_token=token))])
    bench.wait_for_outcomes(2, service=service)
    service.drain()
    kinds = [outcome["outcome"] for _, outcome in outcomes_of(bench.kafka, bench.topics)]
    assert sorted(kinds) == ["accepted", "suppressed"]


@pytest.mark.takes(20)
def test_if_a_shard_fails_the_others_drain_before_the_process_exits(bench, simulators):
    # Longer than the failure takes, and shorter than the time for a shard to give partitions back,
    # which the group requests when the other shard has left.
    slow = simulators({"latency_ms": 1500})
    settings = bench.configuration(slow, shards=2)
    settings["kafka"]["properties"]["heartbeat.interval.ms"] = 100
    service = bench.start(settings).wait_until_ready(60)
    written = bench.produce(records(200))
    eventually(lambda: len(slow.requests()) == len(written), 60, "every event to be under way")
    bench.kafka.cause(f"fail heartbeat {FENCED_INSTANCE_ID} 1")
    assert service.child.wait_for_exit(60) == 1
    said = "shard failed; the process exits when the other shards have drained"
    [told] = service.log_lines(said)
    assert told["level"] == "critical"
    assert "FENCED_INSTANCE_ID" in told["problem"]
    last = service.child.lines("stderr")[-1]
    assert f"shard {told['shard']}: " in last and "FENCED_INSTANCE_ID" in last

    # The failing shard ends with its partitions; the other one gives its own back.
    given_back = service.log_lines("partitions revoked")[-1]
    others = {
        place.position
        for place in written
        if f"{bench.topics.source}[{place.partition}]" in given_back["partition"].split()
    }
    assert others and others <= outcome_counts(bench).keys(), service.child.output()

    successor = bench.run(simulators({}))
    bench.wait_until_settled(service=successor)
    successor.drain()
    # No exact count: the embedded Kafka refuses commits while members join and leave.
    assert outcome_counts(bench).keys() == {place.position for place in written}


@pytest.mark.takes(15)
def test_a_transaction_that_librdkafka_gives_up_is_repeated(bench, simulator):
    """Only the delivery reports of the dropped records show it."""
    # All outcomes have one key, so they are in one partition.
    written = bench.produce([Written(b"{", key=b"bad")] * 100)
    bench.kafka.cause("delay 1 50")
    # A request fails with a retriable error, so the next one is out of sequence. Injected twice,
    # because the first outcome may go alone, and the others go together in the second transaction.
    for _ in range(2):
        bench.kafka.cause(f"fail produce {NOT_ENOUGH_REPLICAS} 1")
        bench.kafka.cause(f"fail produce {OUT_OF_ORDER_SEQUENCE_NUMBER} 1")
    one_by_one = {"producer.batch.num.messages": 1, "producer.linger.ms": 0}
    settings = bench.configuration(simulator, kafka={"properties": one_by_one})
    transactional = {"transactional": True, "transactional_id": bench.group}
    settings["results"] |= {**transactional, "dead_letter_topic": None}
    service = bench.start(settings)

    # The embedded Kafka stores no offsets of transactions, and shows aborted records.
    def committed():
        return f"results_produced_total {len(written)}\n" in service.fetch("/metrics")[1]

    eventually(committed, 60, lambda: f"outcomes in transactions; {service.child.output()}")
    given_up = [line["problem"] for line in service.log_lines("librdkafka log")]
    assert any("skipped sequence" in problem for problem in given_up), service.child.output()
    service.drain()
    assert outcome_counts(bench).keys() == {place.position for place in written}
