"""Kafka is unreachable because of a configuration mistake: one line names the cause and the fix."""

import concurrent.futures
import contextlib
import http.server
import threading

import pytest
from confluent_kafka import Consumer

from harness.apache_kafka import Certificates
from harness.commands import run_command
from harness.deadlines import eventually
from harness.events import new_event, record

pytestmark = pytest.mark.takes(30)
PROTOCOL = "kafka.properties.security.protocol"
OWN_CERTIFICATE = "kafka.properties.ssl.certificate.location and ssl.key.location"
CLOSES = "closes the connection at the first request; it probably expects"
LOGIN = "and sasl.mechanisms, sasl.username and sasl.password"
LOGIN_FILES = "kafka.properties.sasl.username and sasl.password"
ADVERTISED = (
    "this address comes from the broker's advertised.listeners, which must be reachable from here"
)


def certificate(path):
    return {"ssl.certificate.location": str(path), "ssl.key.location": str(path)}


def wrong_configurations(apache):
    """(mistake, listener, properties, expected text about the listener's address)"""
    old = apache.certificates.sign("old-client", ends="20210101000000Z")
    others = Certificates(apache.certificates.folder / "others").make_authority()
    stranger = others.sign("stranger")
    refused = (
        f"refuses the client certificate of {OWN_CERTIFICATE}: it has expired, or the broker does "
        "not trust its authority"
    )
    distrusted = (
        "its certificate is signed by an authority that is not trusted here: set "
        "kafka.properties.ssl.ca.location to the authority's certificate"
    )
    other_authority = apache.tls(**{"ssl.ca.location": str(others.authority)})
    bad_login = "SASL authentication error: Authentication failed: Invalid username or password"
    return [
        ("plain text to TLS", "TLS", {}, f"{CLOSES} TLS: set {PROTOCOL} to ssl"),
        (
            "a login without TLS to TLS",
            "TLSLOGIN",
            apache.login(),
            f"{CLOSES} TLS: set {PROTOCOL} to sasl_ssl",
        ),
        ("no authority", "TLS", {"security.protocol": "ssl"}, distrusted),
        ("another authority", "TLS", other_authority, distrusted),
        ("an expired certificate", "EXPIRED", apache.tls(), "its certificate has expired"),
        (
            "a certificate for another host",
            "FOREIGN",
            apache.tls(),
            "its certificate is for another host; use a name from the certificate",
        ),
        (
            "no client certificate",
            "MUTUAL",
            apache.tls(),
            f"asks for a client certificate: set {OWN_CERTIFICATE}",
        ),
        ("an expired client certificate", "MUTUAL", apache.tls(**certificate(old)), refused),
        ("a stranger's certificate", "MUTUAL", apache.tls(**certificate(stranger)), refused),
        (
            "TLS to plain text",
            "PLAIN",
            apache.tls(),
            f"does not speak TLS: set {PROTOCOL} to plaintext",
        ),
        (
            "no login",
            "LOGIN",
            {},
            f"{CLOSES} a login: set {PROTOCOL} to sasl_plaintext, {LOGIN}",
        ),
        (
            "TLS without a login",
            "TLSLOGIN",
            apache.tls(),
            f"{CLOSES} a login: set {PROTOCOL} to sasl_ssl, {LOGIN}",
        ),
        (
            "a wrong password",
            "LOGIN",
            apache.login(**{"sasl.password": "wrong"}),
            f"refuses the login: check {LOGIN_FILES} ({bad_login})",
        ),
        (
            "a mechanism that is off",
            "LOGIN",
            apache.login(**{"sasl.mechanisms": "SCRAM-SHA-256"}),
            "does not offer this login mechanism: set kafka.properties.sasl.mechanisms to PLAIN",
        ),
        (
            "a login where none is",
            "PLAIN",
            apache.login(),
            f"expects no login: set {PROTOCOL} to plaintext",
        ),
        ("nobody", "NOWHERE", {}, "Connection refused; check kafka.bootstrap_servers"),
    ]


def test_a_password_can_come_from_a_file(apache, benches, simulators, tmp_path):
    login = apache.login()
    password = tmp_path / "password"
    password.write_text(f"{login.pop('sasl.password')}\n")
    login["sasl.password_file"] = str(password)
    bench = benches(apache.kafka, 1)
    service = bench.start(settings_for(bench, simulators(), apache.server("LOGIN"), login))
    service.wait_until_ready(60)
    bench.produce([record(new_event())])
    bench.wait_for_outcomes(1, service=service)
    shown = {entry["key"]: entry["value"] for entry in service.status()["configuration"]}
    assert shown["kafka.properties.sasl.password_file"] == str(password)
    assert "kafka.properties.sasl.password" not in shown
    service.drain()


def settings_for(bench, simulator, server, properties):
    kafka = {"bootstrap_servers": server, "properties": properties}
    return bench.configuration(simulator, kafka=kafka)


def test_each_command_names_the_cause_and_the_fix(apache, benches, simulators, tmp_path):
    bench, simulator = benches(apache.kafka, 1), simulators()

    def said_of(case):
        what, listener, properties, cause = case
        server = apache.server(listener)
        folder = tmp_path / what.replace(" ", "-")
        folder.mkdir()
        settings = settings_for(bench, simulator, server, properties)
        ended = run_command(folder, settings, "tail", "--no-follow")
        said = f"heliograph: kafka.bootstrap_servers: no answer from {server}: {server}: {cause}"
        return (what, ended.code, ended.err), (what, 1, [said])

    # Each takes the ten seconds that Kafka has for an answer.
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for found, right in pool.map(said_of, wrong_configurations(apache)):
            assert found == right


def test_correct_configurations_work(apache, benches, simulators):
    bench = benches(apache.kafka, 1)
    client = apache.certificates.sign("client")
    cases = [
        ("TLS", apache.tls()),
        ("MUTUAL", apache.tls(**certificate(client))),
        ("LOGIN", apache.login()),
        ("TLSLOGIN", {**apache.tls(), **apache.login(), "security.protocol": "sasl_ssl"}),
    ]
    for count, (listener, properties) in enumerate(cases, 1):
        settings = settings_for(bench, simulators(), apache.server(listener), properties)
        service = bench.start(settings).wait_until_ready(60)
        bench.produce([record(new_event())])
        bench.wait_for_outcomes(count, service=service)
        service.drain()


def test_the_service_reports_the_same_in_its_log_and_in_readiness(apache, benches, simulators):
    bench, simulator = benches(apache.kafka, 1), simulators()
    server = apache.server("EXPIRED")
    service = bench.start(settings_for(bench, simulator, server, apache.tls()))
    cause = f"no answer from {server}: {server}: its certificate has expired"
    eventually(lambda: cause in service.fetch("/ready")[1], 60, service.child.output)
    # The log tells it after readiness does, and without the cause if that comes late.
    wanted = f"kafka.bootstrap_servers: {cause}"

    def is_logged_once():
        told = [line["error"] for line in service.log_lines("waiting for Kafka")]
        return told.count(wanted) == 1

    eventually(is_logged_once, 60, service.child.output)
    service.drain()


def test_an_unreachable_advertised_address_is_named(
    apache, benches, simulators, tmp_path
):
    """The configured address answers, and sends clients to one where nobody listens."""
    bench, simulator = benches(apache.kafka, 1), simulators()
    settings = settings_for(bench, simulator, apache.server("ASTRAY"), {})
    cause = f"127.0.0.1:{apache.ports['NOWHERE']}: Connection refused; {ADVERTISED}"
    topic, server = bench.topics.results, apache.server("ASTRAY")
    for command, said in (
        (("tail", "--no-follow"), f"results.topic: '{topic}' cannot be read: _TRANSPORT"),
        (("dead-letters", "list"), f"kafka.bootstrap_servers: no answer from {server}"),
    ):
        ended = run_command(tmp_path, settings, *command)
        assert (ended.code, ended.err) == (1, [f"heliograph: {said}: {cause}"])

    service = bench.start(settings)
    cause = f"_TRANSPORT: {cause}"
    reason = f"loading token status: {cause}"
    eventually(lambda: reason in service.fetch("/ready")[1], 60, service.child.output)
    [line] = eventually(
        lambda: service.log_lines("token status could not be read yet"), 60, service.child.output
    )
    assert line["error"] == cause
    service.child.kill()


def test_a_port_of_another_protocol_is_reported(apache, benches, simulators, tmp_path):
    bench = benches(apache.kafka, 1)
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_port}"
        try:
            settings = settings_for(bench, simulators(), address, {})
            ended = run_command(tmp_path, settings, "tail", "--no-follow")
        finally:
            server.shutdown()
    assert ended.code == 1
    [line] = ended.err
    assert line == (
        f"heliograph: kafka.bootstrap_servers: no answer from {address}: {address}: answers in "
        "another protocol, so this is not a port of Kafka"
    )


def test_another_assignor_in_the_group_is_named(apache, benches, simulators):
    bench = benches(apache.kafka, 1)
    other = Consumer(
        {
            "bootstrap.servers": apache.server("PLAIN"),
            "group.id": bench.group,
            "partition.assignment.strategy": "cooperative-sticky",
        }
    )
    with contextlib.closing(other):
        other.subscribe([bench.topics.source])
        eventually(lambda: other.poll(0.1) is None and other.assignment(), 60, "the other member")
        service = bench.start(bench.configuration(simulators()))
        remedy = (
            "another member of the group uses another partition.assignment.strategy: set "
            "kafka.group_id to a group that only this service uses"
        )

        def is_told():
            other.poll(0.1)
            return remedy in service.fetch("/ready")[1]

        eventually(is_told, 60, service.child.output)
        service.child.kill()


def test_a_topic_created_a_moment_later_is_waited_for(apache, benches, simulators):
    bench = benches(apache.kafka, 1)
    late = f"{bench.topics.source}.late"
    settings = bench.configuration(simulators(), sources=[{"topic": late}])
    service = bench.start(settings)
    waiting = "waiting for topics to appear in Kafka"
    eventually(lambda: service.log_lines(waiting), 60, service.child.output)
    assert late in service.fetch("/ready")[1]
    apache.kafka.create(late, 1)
    service.wait_until_ready(60)
    service.drain()


def test_a_topic_that_stays_unknown_fails_the_start(apache, benches, simulators):
    bench = benches(apache.kafka, 1)
    kafka = {"properties": {"topic.metadata.propagation.max.ms": 1000}}
    settings = bench.configuration(simulators(), kafka=kafka, sources=[{"topic": "never-made"}])
    service = bench.start(settings)
    assert service.child.wait_for_exit(60) == 1
    assert "sources.0.topic: topic 'never-made'" in service.child.output()
