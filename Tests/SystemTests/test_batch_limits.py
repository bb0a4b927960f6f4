"""Apache Kafka accepts or refuses a batch as a whole, which says nothing about its single records."""

import json
import random

import pytest

from harness.kafka import Written
from harness.service import position_of

pytestmark = [pytest.mark.takes(40), pytest.mark.kafka]
# A dead letter fits, and some more; what is larger is one record.
LIMIT = 3000
EVENTS = 200
REFUSED = "Kafka refused a batch; retrying in smaller ones"
DROPPED = "deadLetter record dropped: too large for its topic; only the outcome says so"


def unreadable(byte_count):
    """Not an event, and not compressible."""
    return Written(random.Random(byte_count).randbytes(byte_count), key=b"%d" % byte_count)


@pytest.mark.parametrize("is_transactional", [False, True], ids=["plain", "transactional"])
@pytest.mark.parametrize("is_known", [True, False], ids=["known", "lowered later"])
def test_records_that_fit_are_written(apache, benches, simulators, is_known, is_transactional):
    bench, simulator = benches(apache.kafka, 1), simulators({})
    settings = bench.configuration(simulator)
    if is_transactional:
        settings["results"] |= {"transactional": True, "transactional_id": bench.group}
    lowered = [bench.topics.results, bench.topics.dead_letters]

    def lower():
        for topic in lowered:
            apache.kafka.configure(topic, **{"max.message.bytes": str(LIMIT)})

    if is_known:
        lower()
    service = bench.start(settings).wait_until_ready()
    if not is_known:
        lower()
    sizes = [*range(300, 300 + EVENTS), LIMIT + 500]
    written = bench.produce([unreadable(size) for size in sizes])
    bench.wait_until_settled(service=service)
    service.drain()

    told = bench.kafka.read_committed(bench.topics.results)
    outcomes = [json.loads(message.value()) for message in told]
    assert sorted(map(position_of, outcomes)) == [place.position for place in written]
    assert {outcome["outcome"] for outcome in outcomes} == {"invalid"}
    letters = bench.kafka.read_committed(bench.topics.dead_letters)
    assert sorted(len(letter.value()) for letter in letters) == sizes[:-1]
    assert service.count(DROPPED) == 1
    # If the limit is known, Kafka refuses only the record that is too large by itself, in smaller
    # and smaller transactions.
    most = EVENTS.bit_length() if is_transactional else 1
    assert (service.count(REFUSED) <= most) == is_known, service.child.output()
