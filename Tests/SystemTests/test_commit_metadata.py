"""Apache Kafka accepts less commit metadata than Heliograph would write."""

import pytest

from harness.apache_kafka import kafka_home, running_apache_kafka
from harness.deadlines import eventually
from harness.events import new_event, record
from harness.service import outcomes_of, position_of

pytestmark = [
    pytest.mark.takes(30),
    pytest.mark.kafka,
    pytest.mark.skipif(kafka_home() is None, reason="KAFKA_HOME names no Apache Kafka"),
]
LESS = (
    "the broker accepts less commit metadata; a restart may send more events again"
)
EVENTS = 400
# One in ten waits until the test goes on: at one octet each, the text is longer than either limit.
HELD = {"prefix": "57ac", "is": "ok", "delay_ms": 300_000}


def events():
    for number in range(EVENTS):
        prefix = "57ac" if number % 10 == 5 else "0f0f"
        yield record(new_event(device_token=f"{prefix}{number:060x}"))


@pytest.mark.parametrize(
    ("limit", "is_empty"), [(48, False), (8, True)], ids=["some of it", "none of it"]
)
def test_offsets_are_committed_with_as_much_metadata_as_the_broker_accepts(
    tmp_path, benches, simulators, limit, is_empty
):
    with running_apache_kafka(tmp_path / "kafka", offset_metadata_max_bytes=limit) as apache:
        bench = benches(apache.kafka, 1)
        simulator = simulators({"rules": [HELD]}, ["--control-port", 0])
        # A connection has one stream until the first answer, so the first event must not be held.
        written = bench.produce([record(new_event())])
        service = bench.run(simulator, apns={"request_timeout": "5m"})
        bench.wait_for_outcomes(1, service=service)
        written += bench.produce(list(events()))

        def committed():
            return bench.kafka.committed(bench.group, bench.topics.source)[0]

        def metadata():
            return bench.kafka.committed_metadata(bench.group, bench.topics.source)[0]

        def is_refused():
            return service.log_lines(LESS) and committed() >= 6

        if is_empty:
            eventually(is_refused, 60, service.child.output)
            assert metadata() == ""
        else:
            # There is some as long as an event is held.
            told = eventually(lambda: is_refused() and metadata(), 60, service.child.output)
            assert len(told) <= limit
        assert "offset.metadata.max.bytes" in service.log_lines(LESS)[0]["problem"]
        # The held events are sent again on another connection.
        assert simulator.control("POST", "/scenario", {})[0] == 204
        assert simulator.control("POST", "/fault", {"is": "close"})[0] == 200
        bench.wait_until_settled(service=service)
        service.drain()
        outcomes = [position_of(outcome) for _, outcome in outcomes_of(bench.kafka, bench.topics)]
        assert sorted(outcomes) == sorted(place.position for place in written)
