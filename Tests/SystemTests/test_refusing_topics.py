"""An output topic other than the results topic accepts nothing, or not everything, in Apache Kafka."""

import json

import pytest

from harness.deadlines import eventually
from harness.events import new_event, record
from harness.kafka import Written
from harness.service import position_of

pytestmark = [pytest.mark.takes(60), pytest.mark.kafka]
IN_FLIGHT = 4000
# More than the eighth of events that may wait.
BAD = 1000
DROPPED = "deadLetter record dropped: refused by its topic; only the outcome says so"


def positions(bench):
    told = bench.kafka.read_committed(bench.topics.results)
    return sorted(position_of(json.loads(message.value())) for message in told)


def test_a_deleted_dead_letter_topic_delays_only_events_that_need_it(
    apache, benches, simulators
):
    bench, simulator = benches(apache.kafka, 2), simulators({})
    settings = bench.configuration(simulator, limits={"in_flight_events": IN_FLIGHT})
    service = bench.start(settings).wait_until_ready()
    apache.kafka.delete(bench.topics.dead_letters)
    # The controller answers before the broker knows of it, and takes records until then.
    eventually(
        lambda: not apache.kafka.partitions(bench.topics.dead_letters), 60, service.child.output
    )
    bad = bench.produce([Written(b"{", key=b"bad")] * BAD, partition=0)

    def stands():
        metrics = service.fetch("/metrics")[1]
        name = f'heliograph_partition_paused{{topic="{bench.topics.source}",partition="0"}} 1'
        return name in metrics

    eventually(stands, 60, service.child.output)
    good = bench.produce([record(new_event()) for _ in range(2 * IN_FLIGHT)], partition=1)
    wanted = {place.position for place in good}
    eventually(lambda: wanted <= set(positions(bench)), 60, service.child.output)
    # librdkafka looks for a missing topic for a while before it gives up.
    eventually(lambda: service.fetch("/ready")[0] == 503, 60, service.child.output)

    apache.kafka.create(bench.topics.dead_letters, 2)
    bench.wait_until_settled(90, service=service)
    service.drain()
    assert positions(bench) == sorted(place.position for place in bad + good)
    assert len(bench.kafka.read_committed(bench.topics.dead_letters)) == len(bad)


def test_a_record_refused_by_a_compacted_topic_does_not_fail_its_batch(apache, benches, simulators):
    """A compacted topic refuses records without a key."""
    bench, simulator = benches(apache.kafka, 1), simulators({})
    apache.kafka.configure(bench.topics.dead_letters, **{"cleanup.policy": "compact"})
    bad = [Written(b"{", key=b"%d" % n if n % 10 else None) for n in range(100)]
    service = bench.start(bench.configuration(simulator)).wait_until_ready()
    written = bench.produce(bad)
    bench.wait_until_settled(service=service)
    assert 'records_dropped_total{record="dead_letter"} 10\n' in service.fetch("/metrics")[1]
    service.drain()
    assert positions(bench) == sorted(place.position for place in written)
    letters = bench.kafka.read_committed(bench.topics.dead_letters)
    keyed = [record.key for record in bad if record.key is not None]
    assert sorted(letter.key() for letter in letters) == sorted(keyed)
    told = [line["source"] for line in service.log_lines(DROPPED)]
    assert told[0] == f"{bench.topics.source}[0]@0"
    assert service.count(DROPPED) == 10
