"""Logins at Apache Kafka: SCRAM over TLS, and a broker that wants to see them again and again."""

import ctypes
import json

import pytest

from harness.apache_kafka import SCRAM, kafka_version
from harness.commands import run_command
from harness.deadlines import eventually
from harness.events import new_event, record, records
from harness.service import position_of

pytestmark = pytest.mark.takes(20)
# librdkafka before it repeats a nonce, which Kafka 4 refuses.
FIRST_GOOD = 0x020601FF
DISCONNECTS = 20


def settings_for(bench, simulator, apache, listener, properties):
    kafka = {"bootstrap_servers": apache.server(listener), "properties": properties}
    return bench.configuration(simulator, kafka=kafka)


@pytest.mark.parametrize("mechanism", SCRAM)
def test_scram(apache, benches, simulators, tmp_path, mechanism):
    bench, simulator = benches(apache.kafka, 1), simulators()
    login = {**apache.tls(), **apache.login()}
    login |= {"security.protocol": "sasl_ssl", "sasl.mechanisms": mechanism}
    settings = settings_for(bench, simulator, apache, "SCRAM", login)
    if kafka_version() >= (4,) and ctypes.CDLL("librdkafka.so.1").rd_kafka_version() < FIRST_GOOD:
        ended = run_command(tmp_path, settings, "tail", "--no-follow")
        assert ended.code == 1
        assert "cannot log in by SCRAM: use librdkafka 2.6.1 or newer" in ended.said
        return
    service = bench.start(settings).wait_until_ready(60)
    bench.produce([record(new_event())])
    bench.wait_for_outcomes(1, service=service)
    service.drain()
    bad = settings_for(bench, simulator, apache, "SCRAM", {**login, "sasl.password": "wrong"})
    ended = run_command(tmp_path, bad, "tail", "--no-follow")
    assert ended.code == 1
    assert "refuses the login: check kafka.properties.sasl.username" in ended.said


@pytest.mark.parametrize("is_transactional", [False, True], ids=["plain", "transactional"])
def test_connections_that_the_broker_closes_every_two_seconds_lose_nothing(
    apache, benches, simulators, is_transactional
):
    """librdkafka before 2.2 does not log in again, and meets a closed connection (KIP-368)."""
    bench, simulator = benches(apache.kafka), simulators({"latency_ms": 200})
    properties = {**apache.login(), "debug": "broker"}
    settings = settings_for(bench, simulator, apache, "REAUTH", properties)
    settings["results"]["transactional"] = is_transactional
    settings["log"] = {"level": "debug"}
    service = bench.start(settings).wait_until_ready(60)
    written = []

    def has_met_it_often():
        written.extend(bench.produce(records(200)))
        bench.wait_until_settled(service=service)
        lines = service.child.lines("stderr")
        return sum("Disconnected" in line for line in lines) >= DISCONNECTS

    eventually(has_met_it_often, 60, service.child.told)
    service.drain()
    told = bench.kafka.read_committed(bench.topics.results)
    outcomes = [json.loads(message.value()) for message in told]
    assert sorted(map(position_of, outcomes)) == sorted(place.position for place in written)
    assert {outcome["outcome"] for outcome in outcomes} == {"accepted"}
    assert len(simulator.requests()) == len(written)
