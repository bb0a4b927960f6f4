"""Kafka client certificates and passwords change:

the service drains, exits with 75, and restarts with them.
"""

import datetime
import json
import os
import signal
import time

import pytest

from harness.apache_kafka import kafka_home, running_apache_kafka
from harness.deadlines import eventually
from harness.events import records
from harness.service import outcomes_of

pytestmark = pytest.mark.takes(60)
CHANGED = "Kafka client files changed; restarting soon to use them"
DRAINING = "Kafka client files changed; draining, then exiting with code 75 to be restarted"
REFUSED = "Kafka client files changed and are unusable; a restart would fail"
WARNED = "Kafka client files changed; restart the process to use them"
EXPIRY = 'heliograph_tls_certificate_expiry_timestamp_seconds{use="kafka"}'


def put(path, text):
    """Replaces a file atomically, as a Kubernetes volume does."""
    fresh = path.with_suffix(".fresh")
    fresh.write_text(text)
    os.replace(fresh, path)


def expiry(service):
    lines = service.fetch("/metrics")[1].splitlines()
    return [float(line.rpartition(" ")[2]) for line in lines if line.startswith(EXPIRY)]


def settings_for(bench, simulator, apache, listener, properties, **kafka):
    kafka = {"bootstrap_servers": apache.server(listener), "properties": properties, **kafka}
    return bench.configuration(simulator, kafka=kafka)


def ended_with(service, code):
    """Waits until it has drained without a signal."""
    assert service.child.wait_for_exit(60) == code, service.child.output()
    assert service.log_lines(DRAINING)
    service.assert_no_crash()


def test_a_new_certificate_is_used_and_nothing_is_lost(
    apache, benches, simulators, tmp_path
):
    bench, simulator = benches(apache.kafka), simulators()
    certificate = tmp_path / "client.pem"
    first = apache.certificates.sign("first-client", ends="20500101000000Z")
    certificate.write_text(first.read_text())
    own = {name: str(certificate) for name in ("ssl.certificate.location", "ssl.key.location")}
    settings = settings_for(bench, simulator, apache, "MUTUAL", apache.tls(**own))
    service = bench.start(settings).wait_until_ready(60)
    assert expiry(service) == [2524608000.0]
    bench.produce(records(50))
    bench.wait_for_outcomes(50, service=service)

    # An expired certificate and an invalid file end nothing.
    for number, bad in enumerate((apache.certificates.sign("old", ends="20210101000000Z"), None)):
        put(certificate, bad.read_text() if bad else "nothing")
        service.child.send(signal.SIGHUP)
        eventually(lambda: len(service.log_lines(REFUSED)) > number, 60, service.child.output)
    [warning] = service.warnings()
    assert warning.startswith("kafka files: ") and "ssl.certificate.location" in warning
    assert 'heliograph_unusable_files{use="kafka"} 1\n' in service.fetch("/metrics")[1]
    # Restoring the original changes nothing.
    put(certificate, first.read_text())
    service.child.send(signal.SIGHUP)
    eventually(lambda: not service.warnings(), 60, service.child.output)
    shown = service.fetch("/metrics")[1]
    assert 'heliograph_files_reloads_total{use="kafka",result="failed"} 2\n' in shown
    assert 'heliograph_unusable_files{use="kafka"} 0\n' in shown
    bench.produce(records(50))
    bench.wait_for_outcomes(100, service=service)
    assert not service.log_lines(CHANGED)

    second = apache.certificates.sign("second-client", ends="20510101000000Z")
    bench.produce(records(200))
    put(certificate, second.read_text())
    service.child.send(signal.SIGHUP)
    ended_with(service, 75)
    again = bench.start(settings).wait_until_ready(60)
    assert expiry(again) == [2556144000.0]
    bench.wait_for_outcomes(300, service=again)
    bench.wait_until_settled(service=again)
    found = [outcome for _, outcome in outcomes_of(bench.kafka, bench.topics)]
    assert len(found) == 300 and {outcome["outcome"] for outcome in found} == {"accepted"}
    again.drain()


@pytest.mark.skipif(not kafka_home(), reason="needs Apache Kafka in KAFKA_HOME")
@pytest.mark.takes(150)
def test_a_certificate_that_expires_under_way_is_told_and_replaced_without_loss(
    benches, simulators, tmp_path
):
    with running_apache_kafka(tmp_path / "kafka") as apache:
        bench, simulator = benches(apache.kafka), simulators()
        # Time for the service to start in.
        ends = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=90)
        first = apache.certificates.sign("short-lived", ends=f"{ends:%Y%m%d%H%M%SZ}")
        certificate = tmp_path / "client.pem"
        certificate.write_text(first.read_text())
        own = {name: str(certificate) for name in ("ssl.certificate.location", "ssl.key.location")}
        settings = settings_for(bench, simulator, apache, "MUTUAL", apache.tls(**own))
        service = bench.start(settings).wait_until_ready(60)
        bench.produce(records(50))
        bench.wait_for_outcomes(50, service=service)
        bench.wait_until_settled(service=service)

        # Connections outlive the certificate: only a new one shows it to the broker.
        eventually(lambda: time.time() > ends.timestamp() + 1, 120, "the certificate to expire")
        apache.broker.stop()
        apache.start_broker_again()
        apache.kafka.wait_for_leaders(bench.topics.source)
        bench.produce(records(50))

        def reasons():
            told = json.loads(service.fetch("/ready")[1])
            return [one for one in told["reasons"] if "client certificate" in str(one)]

        [reason] = eventually(reasons, 60, service.child.output)
        assert "it has expired, or the broker does not trust its authority" in reason["reason"]
        put(certificate, apache.certificates.sign("second").read_text())
        service.child.send(signal.SIGHUP)
        ended_with(service, 75)
        again = bench.start(settings).wait_until_ready(60)
        bench.wait_for_outcomes(100, service=again)
        bench.wait_until_settled(service=again)
        found = [outcome for _, outcome in outcomes_of(bench.kafka, bench.topics)]
        assert len(found) == 100 and {outcome["outcome"] for outcome in found} == {"accepted"}
        again.drain()


def test_a_new_password_is_used_later_unless_only_a_warning_is_configured(
    apache, benches, simulators, tmp_path
):
    bench, simulator = benches(apache.kafka, 1), simulators()
    login = apache.login()
    right = login.pop("sasl.password")
    password = tmp_path / "password"
    password.write_text(right)
    login["sasl.password_file"] = str(password)
    settings = settings_for(bench, simulator, apache, "LOGIN", login)
    service = bench.start(settings).wait_until_ready(60)
    put(password, f"{right}-of-tomorrow")
    # No refused login needs it, so the restart waits; SIGHUP ends the wait.
    eventually(lambda: service.log_lines(CHANGED), 60, service.child.output)
    service.child.send(signal.SIGHUP)
    ended_with(service, 75)

    password.write_text(right)
    settings["kafka"]["files_changed"] = "warn"
    service = bench.start(settings).wait_until_ready(60)
    put(password, f"{right}-of-tomorrow")
    service.child.send(signal.SIGHUP)
    eventually(lambda: service.log_lines(WARNED), 60, service.child.output)
    assert service.fetch("/ready")[0] == 200
    said = service.child.output()
    assert right not in said
    service.drain()
