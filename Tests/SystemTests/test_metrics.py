"""The metrics of a busy service, read by independent programs."""

import dataclasses
import http.client
import subprocess
import time

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

from harness.deadlines import eventually
from harness.events import new_event, record, records

OPENMETRICS = "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5"
SCENARIO = {"default": {"is": "flaky", "steps": ["TooManyRequests"]}}
# Nobody listens there.
NOWHERE = "https://127.0.0.1:1"
# Text made up by a peer or a producer must never be in a label.
HOSTILE = 'hostile"label\n'
# Besides the samples that every process has; with two topics, two routes and one credential.
MAX_SAMPLES = 1000


def page(service, accept=None):
    """(content type, text) of /metrics."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    connection.request("GET", "/metrics", headers={"Accept": accept} if accept else {})
    answer = connection.getresponse()
    assert answer.status == 200
    text = answer.read().decode()
    connection.close()
    return answer.getheader("Content-Type"), text


def samples(families):
    """{(sample, labels): value}."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def lasting(found):
    """The samples that do not come and go: a broker has one if it answered in the last 5 s."""
    return {sample for sample in found if sample[0] != "heliograph_kafka_broker_rtt_seconds"}


def value(found, name, **labels):
    """The sum of a metric's samples with these labels."""
    wanted = labels.items()
    return sum(
        number
        for (sample, pairs), number in found.items()
        if sample == f"heliograph_{name}" and wanted <= dict(pairs).items()
    )


@pytest.fixture
def bench(broker, benches):
    return benches(broker, partitions=3)


@pytest.fixture
def busy(bench, simulators):
    """A service that has had answers, retries and bad events, and its bench."""
    service = bench.start(
        bench.configuration(
            simulators(SCENARIO),
            retry={"later": ["1s"], "base_delay": "10ms", "max_delay": "50ms"},
            kafka={"create_topics": True},
        )
    ).wait_until_ready()
    events = records(60)
    strange = [record(new_event(push_type=HOSTILE)), record(new_event(bundle_id=HOSTILE))]
    bench.produce(events + strange + [record(new_event(bundle_id="org.nobody"))])
    bench.wait_for_outcomes(63, service=service)
    bench.wait_until_settled(service=service)

    # The lag updates every five seconds, and in seconds every second; the retry topic has
    # partitions too. An outcome is in Kafka before the service counts it.
    def is_told():
        text = page(service)[1]
        found = samples(prometheus(text))
        return (
            text.count("heliograph_kafka_consumer_lag_records{") == 6
            and value(found, "events_terminal_total") == 63
            and value(found, "kafka_consumer_lag_seconds") == 0
        )

    eventually(is_told, 60, service.child.output)
    yield service
    service.drain()


def test_promtool_reports_no_problem(busy):
    kind, text = page(busy)
    assert kind == "text/plain; version=0.0.4; charset=utf-8"
    told = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60
    )
    assert (told.returncode, told.stdout, told.stderr) == (0, "", ""), told


def test_strict_parsers_read_the_same_from_both_formats(busy):
    kind, text = page(busy, OPENMETRICS)
    assert kind == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert text.endswith("# EOF\n")
    strict = {family.name: family for family in openmetrics(text)}
    plain = {family.name: family for family in prometheus(page(busy)[1])}
    assert strict["heliograph_build"].type == "info"
    assert strict["process_cpu_seconds"].unit == "seconds"
    assert strict["heliograph_inflight_bytes"].unit == "bytes"
    plain_names = {name for name, _ in samples(plain.values())}
    assert {name for name, _ in samples(strict.values())} == plain_names
    assert plain["heliograph_end_to_end_seconds"].type == "histogram"


@pytest.mark.core
def test_metrics_show_the_work_of_a_busy_service(busy, bench):
    found = samples(prometheus(page(busy)[1]))
    source = bench.topics.source
    assert value(found, "events_consumed_total", topic=source, framing="plain") == 63
    assert value(found, "events_terminal_total", credential="example", outcome="accepted") == 60
    assert value(found, "events_terminal_total", credential="", outcome="invalid") == 2
    assert value(found, "events_terminal_total") == 63
    ends = {"source": source, "credential_class": "provider_token"}
    first = value(found, "end_to_end_seconds_count", **ends, round="first")
    later = value(found, "end_to_end_seconds_count", **ends, round="later")
    unknown = value(found, "end_to_end_seconds_count", source=source, credential_class="none")
    assert (first + later, unknown) == (60, 3)
    assert value(found, "kafka_consumer_lag_seconds", source=source) == 0
    assert value(found, "events_unaccounted") == 0
    production = {"credential": "example", "environment": "production"}
    assert value(found, "apns_responses_total", status="200", **production) == 60
    assert value(found, "apns_responses_total", status="429", **production) == 60
    assert value(found, "apns_refusals_total", reason="TooManyRequests") == 60
    assert value(found, "retries_total", reason="TooManyRequests", tier="here") > 0
    assert value(found, "retries_total") + 60 >= value(found, "apns_attempts_total")
    assert value(found, "apns_connections", state="ready", **production) >= 1
    assert value(found, "apns_streams_limit", **production) >= 1
    assert value(found, "apns_breakers", state="closed", **production) == 1
    assert value(found, "dlq_total", reason="NoCredential", decided_by="heliograph") == 1
    assert value(found, "ready") == 1
    assert value(found, "shards_joined") == value(found, "shards") == 1
    assert value(found, "partitions_assigned") == 6, "the source's and the retry topic's"
    for name in ("partition_paused", "kafka_consumer_lag_records"):
        partitions = {pairs for sample, pairs in found if sample == f"heliograph_{name}"}
        of_source = [pairs for pairs in partitions if ("topic", source) in pairs]
        assert len(of_source) == 3, partitions
    assert found["process_open_fds", ()] > 10
    assert found["process_resident_memory_bytes", ()] > 1 << 20
    # A broker has one if it answered in the last 5 s.
    eventually(
        lambda: value(samples(prometheus(page(busy)[1])), "kafka_broker_rtt_seconds") > 0,
        60,
        busy.child.output,
    )


def test_the_lag_falls_to_zero(busy, bench):
    bench.wait_until_settled(service=busy)
    eventually(
        lambda: value(samples(prometheus(page(busy)[1])), "kafka_consumer_lag_records") == 0,
        60,
        busy.child.output,
    )


def test_the_lag_in_seconds_is_the_age_of_the_oldest_record(bench, simulators):
    """Measured from its timestamp in Kafka: it was written before the service started."""
    settings = bench.configuration(simulators(), apns={"endpoints": {"production": NOWHERE}})
    hundred_seconds_ago = int(time.time() * 1000) - 100_000
    bench.produce(
        [
            dataclasses.replace(record(new_event()), timestamp=hundred_seconds_ago),
            record(new_event()),
        ]
    )
    service = bench.start(settings)

    def lag():
        found = samples(prometheus(page(service)[1]))
        return value(found, "kafka_consumer_lag_seconds", source=bench.topics.source)

    eventually(lambda: lag() >= 100, 60, service.child.output)
    assert lag() < 100 + 300
    service.child.kill()


def test_labels_have_values_from_closed_lists(busy, bench):
    before = samples(prometheus(page(busy)[1]))
    strange = [
        record(new_event(bundle_id=f"com.example.made-up-{number}", push_type=f"kind-{number}"))
        for number in range(100)
    ]
    bench.produce(strange)
    bench.wait_for_outcomes(163, service=busy)
    text = page(busy)[1]
    after = samples(prometheus(text))
    assert lasting(before) == lasting(after)
    assert len(after) < MAX_SAMPLES, len(after)
    assert "made-up" not in text and "kind-" not in text and "hostile" not in text
