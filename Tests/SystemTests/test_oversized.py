"""Records that are too large for Kafka, and a full queue: nothing is lost or repeated."""

import collections
import json

import pytest

from harness.events import encoded, new_event, record, records
from harness.kafka import Written
from harness.retries import create_retry_topics, retrying
from harness.service import position_of

LIMIT = 1500
# With the service's headers for the event, it exceeds the limit.
FILLER = "x" * LIMIT
BUSY = "b5b5"
SCENARIO = {"rules": [{"prefix": BUSY, "is": "TooManyRequests"}]}
HEADERS = (("own", b"\x00\xff"), ("nothing", None))
DROPPED = "deadLetter record dropped: too large for its topic; only the outcome says so"


@pytest.fixture(params=["plain", "transactional"])
def bed(request, broker, simulators, benches):
    return Bed(benches(broker), simulators(SCENARIO), request.param == "transactional")


class Bed:
    """A service whose own records have a size limit."""

    def __init__(self, bench, simulator, is_transactional):
        self.bench = bench
        self.simulator = simulator
        self.is_transactional = is_transactional

    def run(self, limit=LIMIT, **changes):
        properties = {"producer.message.max.bytes": limit}
        settings = self.bench.configuration(
            self.simulator, **{"kafka": {"properties": properties}, **changes}
        )
        if self.is_transactional:
            transactional = {"transactional": True, "transactional_id": self.bench.group}
            settings["results"] |= transactional
        return self.bench.start(settings).wait_until_ready()

    def settle(self, service):
        self.bench.wait_until_settled(service=service)
        service.drain()

    def read(self, topic):
        return self.bench.kafka.read_committed(topic)

    def outcomes(self):
        """{position: (message, outcome)}; each event has one."""
        found = self.read(self.bench.topics.results)
        told = [(message, json.loads(message.value())) for message in found]
        outcomes = {position_of(outcome): (message, outcome) for message, outcome in told}
        assert len(outcomes) == len(told), "an event has two outcomes"
        return outcomes

    @property
    def dead_letters(self):
        return self.read(self.bench.topics.dead_letters)


def busy_event(**fields):
    event = new_event(**fields)
    return {**event, "device_token": BUSY + event["device_token"][4:]}


def test_an_outcome_that_is_too_large_is_shortened(bed):
    spacious = record(new_event(metadata={"campaign": FILLER}))
    hopeless = record(busy_event(payload={"aps": {"alert": "x"}, "filler": FILLER}))
    unreadable = Written(FILLER.encode(), key=b"unreadable", headers=HEADERS)
    small = Written(b"{", key=b"small", headers=HEADERS)
    fitting = record(new_event(metadata={"campaign": "spring"}))
    written = bed.bench.produce([spacious, hopeless, unreadable, small, fitting])
    service = bed.run(retry={"attempts": 1, "here_for": "1s"})
    bed.settle(service)

    outcomes = bed.outcomes()
    assert outcomes.keys() == {place.position for place in written}
    found = [outcomes[place.position] for place in written]
    assert [outcome["outcome"] for _, outcome in found] == [
        "accepted",
        "undeliverable",
        "invalid",
        "invalid",
        "accepted",
    ]
    assert [outcome.get("metadata") for _, outcome in found] == [None] * 4 + [{"campaign": "spring"}]
    # The key of a shortened outcome still has the token.
    assert [message.key() for message, _ in found] == [place.key for place in written]
    [letter] = bed.dead_letters
    assert (letter.key(), letter.value()) == (b"small", b"{")
    assert service.count(DROPPED) == 2
    assert {line["level"] for line in service.log_lines(DROPPED)} == {"error"}
    assert len(bed.simulator.accepted()) == 2


def test_a_retry_record_that_is_too_large_ends_the_event(bed):
    [topic] = create_retry_topics(bed.bench, "1h")
    large = record(busy_event(payload={"aps": {"alert": "x"}, "filler": FILLER}))
    small = record(busy_event())
    refused, deferred = bed.bench.produce([large, small])
    service = bed.run(retry=retrying("1h", give_up_after="3h"))
    bed.settle(service)

    [(position, (_, outcome))] = bed.outcomes().items()
    assert (position, outcome["outcome"]) == (refused.position, "undeliverable")
    assert outcome["reason"] == "TooManyRequests"
    [waiting] = bed.read(topic)
    assert waiting.value() == deferred.value
    said = "retry record dropped: too large for its topic; the event is not retried"
    assert service.log_lines(said)


def unreadable_with_key(key_bytes):
    """Its outcome has the key and five violations, its dead letter only the key."""
    event = new_event(device_token=None, **{f"unknown{number}": 1 for number in range(5)})
    return Written(encoded(event), key=b"k" * key_bytes, headers=HEADERS)


def test_a_dead_letter_is_complete_or_not_written(bed):
    """Also if only the outcome is too large."""
    limit = 4 * LIMIT
    sizes = range(limit // 8, limit, limit // 40)
    written = bed.bench.produce([unreadable_with_key(size) for size in sizes])
    service = bed.run(limit)
    bed.settle(service)

    outcomes = bed.outcomes()
    assert outcomes.keys() == {place.position for place in written}
    shortened = {len(p.key) for p in written if outcomes[p.position][0].key() is None}
    letters = {len(letter.key() or b""): letter for letter in bed.dead_letters}
    keys = {len(place.key): place for place in written}
    assert letters.keys() < keys.keys(), "the largest must not fit, and keys stay the same"
    for size, letter in letters.items():
        assert (letter.key(), letter.value()) == (keys[size].key, keys[size].value)
        own = [h for h in letter.headers() if not h[0].startswith("__connect.errors.")]
        assert own == list(HEADERS)
        assert len(letter.headers()) > len(HEADERS), "the error headers are missing"
    assert shortened & letters.keys(), "no case in which only the outcome was too large"
    assert keys.keys() - shortened, "every outcome was too large"
    assert service.count(DROPPED) == len(keys) - len(letters)


def test_a_full_queue_loses_and_repeats_nothing(bed):
    """The queue holds one record, so each event that writes two finds it full."""
    bad = [Written(b"{", key=b"bad %d" % number) for number in range(200)]
    written = bed.bench.produce([one for pair in zip(records(200), bad) for one in pair])
    properties = {"producer.queue.buffering.max.messages": 1, "producer.linger.ms": 0}
    service = bed.run(kafka={"properties": properties})
    bed.settle(service)

    assert bed.outcomes().keys() == {place.position for place in written}
    letters = collections.Counter(letter.key() for letter in bed.dead_letters)
    assert letters == {place.key: 1 for place in bad}
    assert len(bed.simulator.requests()) == 200
