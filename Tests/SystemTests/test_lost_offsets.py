"""Committed offsets that Kafka does not have: the service continues as docs/operations.md describes."""

import collections
import time

import pytest
from confluent_kafka import OFFSET_INVALID, TopicPartition

from harness.deadlines import eventually
from harness.events import new_event, record
from harness.service import outcomes_of, position_of

# This many failures at once: librdkafka 2.0.2 ended the process when each was restarted by itself.
PARTITIONS = 24
BEYOND = 5000
CUT = "the log ends before the next offset; reading "
MADE_AGAIN = "topic was recreated; reading the partition from its beginning"


@pytest.fixture
def bench(broker, benches):
    bench = benches(broker, PARTITIONS)
    assert len(broker.partitions(bench.topics.source)) == PARTITIONS
    return bench


@pytest.fixture
def simulator(simulators):
    return simulators({})


def produce_everywhere(bench, count=1):
    partitions = [p for p in range(PARTITIONS) for _ in range(count)]
    return bench.produce([record(new_event(), partition=p) for p in partitions])


def commit_beyond_the_end(bench):
    """As if the topic had been longer before."""
    commit(bench, [TopicPartition(bench.topics.source, p, BEYOND) for p in range(PARTITIONS)])


def commit(bench, places):
    with bench.kafka.consumer(bench.group) as consumer:
        answers = consumer.commit(offsets=places, asynchronous=False)
    assert not [place for place in answers if place.error]


def outcome_counts(bench):
    outcomes = outcomes_of(bench.kafka, bench.topics)
    return collections.Counter(position_of(outcome) for _, outcome in outcomes)


def test_a_truncated_log_is_read_from_its_beginning_if_configured(bench, simulator):
    written = produce_everywhere(bench, 5)
    commit_beyond_the_end(bench)
    service = bench.run(simulator, kafka={"offset_lost": "beginning"})
    bench.wait_for_outcomes(len(written), service=service)
    bench.wait_until_settled(service=service)
    written += produce_everywhere(bench)
    bench.wait_for_outcomes(len(written), service=service)
    bench.wait_until_settled(service=service)
    service.drain()
    assert service.count(CUT + "the partition from its beginning") == PARTITIONS
    assert outcome_counts(bench) == {place.position: 1 for place in written}
    assert len(simulator.requests()) == len(written)


@pytest.mark.parametrize("start", ["earliest", "latest"])
def test_a_truncated_log_is_read_from_its_end(bench, simulator, start):
    old = produce_everywhere(bench, 5)
    commit_beyond_the_end(bench)
    service = bench.run(simulator, kafka={"start": start})
    seen = []

    def all_partitions_are_read():
        # Records written before a partition's restart are before its end, and are not read.
        seen.extend(produce_everywhere(bench))
        assert service.child.is_running, service.child.output()
        return {partition for partition, _ in outcome_counts(bench)} == set(range(PARTITIONS))

    eventually(all_partitions_are_read, 60, service.child.output, interval=0.5)
    new = produce_everywhere(bench, 2)
    bench.wait_until_settled(service=service)
    service.drain()

    assert service.count(CUT + "continues at the log's end") == PARTITIONS
    counts = outcome_counts(bench)
    assert set(counts.values()) == {1}
    assert not counts.keys() & {place.position for place in old}
    assert counts.keys() >= {place.position for place in new}
    first = {p: min(offset for partition, offset in counts if partition == p) for p, _ in counts}
    later = {place.position for place in seen if place.offset >= first[place.partition]}
    assert counts.keys() >= later, "once a partition is read, it has no gaps"
    assert len(simulator.requests()) == counts.total()


def test_a_truncated_log_ends_the_process_if_configured(bench, simulator):
    produce_everywhere(bench)
    commit_beyond_the_end(bench)
    before = bench.kafka.committed(bench.group, bench.topics.source)
    service = bench.start(bench.configuration(simulator, kafka={"offset_lost": "stop"}))
    service.is_to_crash = True
    assert service.child.wait_for_exit(60) == 1
    assert "set kafka.offset_lost to end or beginning" in service.child.lines("stderr")[-1]
    assert bench.kafka.committed(bench.group, bench.topics.source) == before
    assert not simulator.requests()


def test_an_event_that_is_too_old_is_not_sent(bench, simulator):
    service = bench.run(simulator, limits={"event_age": "1h"})
    now = time.time() * 1000
    hours = [0, 2, 0.5]
    bench.produce([record(new_event(), timestamp=int(now - h * 3_600_000)) for h in hours])
    bench.wait_for_outcomes(3, service=service)
    service.drain()
    outcomes = [outcome for _, outcome in outcomes_of(bench.kafka, bench.topics)]
    ends = collections.Counter((outcome["outcome"], outcome["reason"]) for outcome in outcomes)
    assert ends == {("accepted", None): 2, ("expired", "EventTooOld"): 1}
    assert len(simulator.requests()) == 2


def test_a_group_that_starts_at_the_end_keeps_its_position_before_its_first_record(bench, simulator):
    """Otherwise the next member would start at the end as of its own start, and skip records."""
    produce_everywhere(bench, 5)
    settings = bench.configuration(simulator, kafka={"start": "latest"})
    first = bench.start(settings).wait_until_ready()
    places = {partition: 5 for partition in range(PARTITIONS)}

    def committed():
        return bench.kafka.committed(bench.group, bench.topics.source)

    eventually(lambda: committed() == places, 60, first.child.output)
    first.drain()
    written = produce_everywhere(bench)
    second = bench.start(settings)
    bench.wait_for_outcomes(len(written), service=second)
    bench.wait_until_settled(service=second)
    second.drain()
    assert outcome_counts(bench) == {place.position: 1 for place in written}


@pytest.mark.core
@pytest.mark.parametrize("start", ["earliest", "latest"])
def test_a_recreated_topic_that_grew_longer_is_read_from_its_start(
    empty_broker, benches, simulator, start
):
    """As after a member that commits once more when Kafka has deleted the offsets with the topic.

    noida-db keeps offsets, so it is the broker here; no available client commits with metadata.
    """
    is_read_again(benches(empty_broker, PARTITIONS), simulator, start)


def test_kafka_deletes_offsets_with_their_topic(apache, benches):
    """So `kafka.start` decides where a recreated topic is read from."""
    bench = benches(apache.kafka, 1)
    bench.produce([record(new_event())])
    commit(bench, [TopicPartition(bench.topics.source, 0, 1)])
    assert apache.kafka.committed(bench.group, bench.topics.source) == {0: 1}
    apache.kafka.make_again(bench.topics.source, 1)
    # The group's coordinator hears of a deleted topic later than who deleted it.
    eventually(
        lambda: apache.kafka.committed(bench.group, bench.topics.source) == {0: OFFSET_INVALID},
        60,
        "the offset to go with its topic",
    )


def is_read_again(bench, simulator, start):
    old = produce_everywhere(bench, 5)
    settings = bench.configuration(simulator, kafka={"start": "earliest"})
    first = bench.start(settings).wait_until_ready()
    bench.wait_until_settled(service=first)
    first.drain()
    # The topic is unchanged: nothing is reported, and nothing is read twice.
    old += produce_everywhere(bench)
    second = bench.start(settings).wait_until_ready()
    bench.wait_until_settled(service=second)
    second.drain()
    assert not second.log_lines(MADE_AGAIN)
    assert outcome_counts(bench) == {place.position: 1 for place in old}

    bench.kafka.make_again(bench.topics.source, PARTITIONS)
    new = produce_everywhere(bench, 9)
    third = bench.start(bench.configuration(simulator, kafka={"start": start}))
    bench.wait_for_outcomes(len(old) + len(new), service=third)
    bench.wait_until_settled(service=third)
    third.drain()
    assert third.count(MADE_AGAIN) == PARTITIONS
    expected = collections.Counter(place.position for place in old + new)
    assert outcome_counts(bench) == expected


def test_a_stop_right_after_all_partitions_failed_exits_cleanly(bench, simulator):
    """The assignment is revoked while its partitions restart."""
    written = produce_everywhere(bench, 5)
    commit_beyond_the_end(bench)
    settings = bench.configuration(simulator, kafka={"offset_lost": "beginning"})
    first = bench.start(settings)
    eventually(lambda: first.count(CUT), 60, first.child.output, interval=0.005)
    first.drain()
    second = bench.start(settings).wait_until_ready()
    bench.wait_for_outcomes(len(written), service=second)
    bench.wait_until_settled(service=second)
    second.drain()
    assert outcome_counts(bench) == {place.position: 1 for place in written}
