"""A batch with a wrong checksum: nothing is sent again, and the partition waits for an intact batch."""

import collections
import re

import pytest

from harness.deadlines import eventually
from harness.events import new_event, record
from harness.kafka_link import running_kafka_link
from harness.service import outcomes_of, position_of

BATCHES = 6
BATCH = 5
# Where librdkafka 2.0.2 continues after a wrong checksum depends on what precedes it in the answer.
BEHIND_OTHERS = [3, BATCHES - 1]
SAID = "damaged batch or gap in the log; rereading the partition from its last offset"


class Bed:
    """A service that reads through a link, and the events written for it."""

    def __init__(self, bench, link, servers):
        self.bench = bench
        self.link = link
        self.written = []
        self._kafka = {"bootstrap_servers": servers}

    def write(self, events, partition=0):
        """Writes one batch: each call uses its own producer."""
        self.written += self.bench.produce([record(event) for event in events], partition)

    def write_batches(self):
        batches = [[new_event() for _ in range(BATCH)] for _ in range(BATCHES)]
        for batch in batches:
            self.write(batch)
        return batches

    def start(self, simulator, **kafka):
        kafka = {**self._kafka, **kafka}
        return self.bench.start(self.bench.configuration(simulator, kafka=kafka))

    def settle(self, service):
        """Each written event has one outcome, and the service exits cleanly."""
        self.bench.wait_for_outcomes(len(self.written), service=service)
        self.bench.wait_until_settled(service=service)
        service.wait_until_ready()
        service.drain()
        assert self.outcome_counts() == {place.position: 1 for place in self.written}

    def outcome_counts(self):
        outcomes = outcomes_of(self.bench.kafka, self.bench.topics)
        return collections.Counter(position_of(outcome) for _, outcome in outcomes)


@pytest.fixture
def bed(broker, benches):
    with running_kafka_link(broker.bootstrap_servers) as (link, servers):
        yield Bed(benches(broker, 2), link, servers)


@pytest.fixture
def simulator(simulators):
    return simulators({})


def mark_of(event):
    """Bytes of its record that occur nowhere else in Kafka's traffic."""
    return event["payload"]["aps"]["alert"].encode() + b'"'


def told_of_damage(service):
    """The checksum errors of librdkafka; what it does next appears in another line, or in none."""
    lines = service.log_lines("partition cannot be read")
    return [line for line in lines if "CRC32C" in line["error"]]


def wait_until_stuck(bed, service):
    """Waits until the batch was requested several times."""

    def is_stuck():
        assert service.child.is_running, service.child.output()
        return bed.link.damaged >= 4 and service.fetch("/ready")[0] == 503

    eventually(is_stuck, 60, service.child.output)


@pytest.mark.parametrize("number", [0, *BEHIND_OTHERS])
def test_a_batch_that_is_damaged_once_repeats_nothing(number, bed, simulator):
    bed.link.damage(mark_of(bed.write_batches()[number][2]), times=1)
    service = bed.start(simulator)
    bed.settle(service)
    assert bed.link.damaged == 1 and told_of_damage(service)
    assert len(simulator.requests()) == len(bed.written)


@pytest.mark.core
def test_a_batch_that_is_damaged_once_after_others_repeats_nothing(bed, simulator):
    """It is alone in its answer: librdkafka 2.0.2 then requests an invalid offset."""
    service = bed.start(simulator)
    bed.write_batches()
    bed.bench.wait_for_outcomes(len(bed.written), service=service)
    event = new_event()
    bed.link.damage(mark_of(event), times=1)
    bed.write([event])
    bed.settle(service)
    assert bed.link.damaged == 1 and told_of_damage(service)
    assert {line["level"] for line in service.log_lines(SAID)} == {"error"}
    assert len(simulator.requests()) == len(bed.written)


@pytest.mark.parametrize("number", BEHIND_OTHERS)
def test_a_batch_that_stays_damaged_stops_its_partition_and_repeats_nothing(
    number, bed, simulator
):
    bed.link.damage(mark_of(bed.write_batches()[number][2]))
    service = bed.start(simulator)
    wait_until_stuck(bed, service)
    assert told_of_damage(service)
    assert {line["level"] for line in service.log_lines(SAID)} == {"error"}
    before = [place.position for place in bed.written[: number * BATCH]]
    bed.bench.wait_for_outcomes(len(before), service=service)
    assert bed.outcome_counts() == dict.fromkeys(before, 1)
    assert len(simulator.requests()) == len(before)

    bed.link.heal()
    bed.settle(service)
    assert len(simulator.requests()) == len(bed.written)


@pytest.mark.takes(10)
def test_a_first_batch_that_stays_damaged_is_waited_for(bed, simulator):
    """This group has no committed offset yet."""
    bed.link.damage(mark_of(bed.write_batches()[0][2]))
    service = bed.start(simulator)
    wait_until_stuck(bed, service)
    assert {line["level"] for line in service.log_lines(SAID)} == {"error"}
    assert not simulator.requests()
    bed.link.heal()
    bed.settle(service)
    assert len(simulator.requests()) == len(bed.written)


def test_a_group_that_starts_at_the_end_reads_a_damaged_first_batch_again(bed, simulator):
    properties = {"statistics.interval.ms": 100}
    service = bed.start(simulator, start="latest", properties=properties).wait_until_ready()

    def is_at_the_end():
        # A partition has a lag once it is being read.
        _, text = service.fetch("/metrics")
        return len(re.findall(r"^heliograph_kafka_consumer_lag_records\{.* 0$", text, re.M)) == 2

    eventually(is_at_the_end, 60, service.child.output)
    event = new_event()
    bed.link.damage(mark_of(event), times=1)
    bed.write([event])
    eventually(lambda: bed.link.damaged, 60, service.child.output)
    bed.write([new_event()])
    bed.settle(service)
    assert len(simulator.requests()) == len(bed.written)


@pytest.mark.takes(10)
def test_a_stuck_partition_is_reported_while_others_continue(bed, simulator):
    service = bed.start(simulator).wait_until_ready()
    for partition in range(2):
        bed.write([new_event()], partition)
    bed.bench.wait_for_outcomes(2, service=service)
    event = new_event()
    bed.link.damage(mark_of(event))
    bed.write([event])
    wait_until_stuck(bed, service)

    def settled():
        committed = bed.bench.kafka.committed(bed.bench.group, bed.bench.topics.source)
        return committed[1] == bed.written[-1].offset + 1

    for _ in range(10):
        bed.write([new_event()], partition=1)
        eventually(settled, 60, service.child.output)
        assert service.fetch("/ready")[0] == 503
    bed.link.heal()
    bed.settle(service)
