"""Apache Kafka loses a log's last records: nothing of the rest is sent again, nothing new is lost."""

import json

import pytest

from harness.deadlines import eventually
from harness.events import new_event, record

pytestmark = pytest.mark.takes(30)
CUT = "the log ends before the next offset; reading continues at the log's end"
OLD, NEW = 40, 5


@pytest.mark.parametrize("is_transactional", [False, True], ids=["plain", "transactional"])
@pytest.mark.parametrize("lost", [1, 10])
@pytest.mark.parametrize("runs", [True, False], ids=["while it runs", "while it is down"])
def test_a_log_that_ends_early_is_gone_on_with(
    fragile_apache, benches, simulators, runs, lost, is_transactional
):
    bench, simulator = benches(fragile_apache.kafka, 1), simulators({})
    settings = bench.configuration(simulator, results={"transactional": is_transactional})
    service = bench.start(settings).wait_until_ready()
    # In batches of their own, which is what a log loses.
    bench.produce([record(new_event()) for _ in range(OLD - lost)])
    for _ in range(lost):
        bench.produce([record(new_event())])
    bench.wait_until_settled(service=service)
    # The control record of a transaction of outcomes is none of the source.
    assert bench.kafka.committed(bench.group, bench.topics.source) == {0: OLD}
    if not runs:
        service.drain()
    fragile_apache.broker.crash()
    fragile_apache.broker.cut(bench.topics.source, 0, OLD - lost)
    fragile_apache.broker.start_again()
    eventually(
        lambda: bench.kafka.ends(bench.topics.source) == {0: OLD - lost}, 60, "a log that is cut"
    )
    if not runs:
        service = bench.start(settings)
    eventually(lambda: service.log_lines(CUT), 60, service.child.told)
    written = bench.produce([record(new_event()) for _ in range(NEW)])
    assert written[0].offset == OLD - lost
    # The place is kept, and what stands at the offsets of before is new.
    bench.wait_until_settled(service=service)
    assert bench.kafka.committed(bench.group, bench.topics.source) == {0: OLD - lost + NEW}
    service.drain()
    told = bench.kafka.read_committed(bench.topics.results)
    ids = [json.loads(message.value())["event_id"] for message in told]
    assert len(ids) == len(set(ids)) == OLD + NEW
    assert len(simulator.requests()) == OLD + NEW
