"""`heliograph check --connect`: one line for each thing that the service needs, and nothing left behind."""

import base64
import re
import socket

import pytest

from harness.apache_kafka import LIMITED
from harness.commands import run_command
from harness.events import new_event, record
from harness.registry import running_registry
from harness.rights import Rights

# Of the registry's user.
RIGHT = "Basic " + base64.b64encode(b"u:right").decode()


def checked(folder, settings, **options):
    """The exit code and {place: (whether it is ok, its text)}."""
    ended = run_command(folder, settings, "check", "--connect", **options)
    findings = {}
    for line in ended.out:
        verdict, place, text = re.fullmatch(r"(ok|failed) +([^:]+): (.+)", line).groups()
        # Topics that share a key differ in their names.
        topic = re.search(r"'([^']+)'", text) if place == "retry.later" else None
        findings[f"{place} {topic[1]}" if topic else place] = (verdict == "ok", text)
    return ended.code, findings, ended


def failed(findings):
    return {place: text for place, (is_ok, text) in findings.items() if not is_ok}


# --- Any broker -----------------------------------------------------------------------------------


def test_everything_answers(broker, benches, simulators, tmp_path):
    bench = benches(broker, 2)
    with running_registry() as registry:
        settings = bench.configuration(simulators(), schema_registry={"url": registry.url})
        code, findings, ended = checked(tmp_path, settings)
    assert (code, failed(findings)) == (0, {}), ended.output
    assert list(findings) == [
        "kafka.bootstrap_servers",
        "sources.0.topic",
        "results.topic",
        "results.token_status_topic",
        "results.dead_letter_topic",
        "kafka.group_id",
        "schema_registry.url",
        "apns.credentials.0 (example, production)",
        "apns.credentials.0 (example, sandbox)",
    ]
    assert findings["sources.0.topic"][1].endswith("has 2 partitions and can be read")
    assert findings["results.token_status_topic"][1].endswith("can be read and written")


def test_the_service_is_not_disturbed(broker, benches, simulators, tmp_path):
    """Neither a running service nor APNs is affected; the group's commits stay as they are."""
    bench, simulator = benches(broker, 2), simulators()
    service = bench.run(simulator)
    bench.produce([record(new_event())])
    bench.wait_for_outcomes(1, service=service)
    bench.wait_until_settled(service=service)
    before = broker.committed(bench.group, bench.topics.source)
    code, _, ended = checked(tmp_path, bench.configuration(simulator))
    assert code == 0, ended.output
    assert broker.committed(bench.group, bench.topics.source) == before
    assert len(simulator.requests()) == 1
    bench.produce([record(new_event())])
    bench.wait_until_settled(service=service)
    assert not service.log_lines("partitions revoked")
    service.drain()


def test_each_failure_is_named_and_the_rest_is_still_tried(
    broker, benches, simulators, tmp_path
):
    bench, simulator = benches(broker, 1), simulators()
    with socket.socket() as taken, running_registry(authorization=RIGHT) as registry:
        # A bound port without a listener.
        taken.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{taken.getsockname()[1]}"
        changes = {
            "kafka": {"bootstrap_servers": nobody},
            "apns": {"endpoints": {"production": f"https://{nobody}"}},
            "schema_registry": {"url": registry.url, "username": "u"},
        }
        password = {"HELIOGRAPH_SCHEMA_REGISTRY_PASSWORD": "wrong"}
        code, findings, ended = checked(
            tmp_path, bench.configuration(simulator, **changes), environment=password
        )
    said = failed(findings)
    assert code == 1
    assert set(said) == {
        "kafka.bootstrap_servers",
        "schema_registry.url",
        "apns.credentials.0 (example, production)",
    }, ended.output
    assert said["kafka.bootstrap_servers"].endswith(
        "Connection refused; check kafka.bootstrap_servers"
    )
    assert said["schema_registry.url"].endswith(
        "the credentials are refused; check schema_registry.username or bearer_token"
    )
    assert "Connection refused" in said["apns.credentials.0 (example, production)"]
    assert findings["apns.credentials.0 (example, sandbox)"][0]
    assert ended.err[-1] == "heliograph: 3 checks failed"


def test_apns_with_an_untrusted_certificate_is_reported(broker, benches, simulators, tmp_path):
    bench, simulator, other = benches(broker, 1), simulators(), simulators()
    settings = bench.configuration(simulator, apns={"ca_file": other.ready["ca_file"]})
    code, findings, ended = checked(tmp_path, settings)
    assert code == 1
    assert set(failed(findings)) == {
        "apns.credentials.0 (example, production)",
        "apns.credentials.0 (example, sandbox)",
    }, ended.output
    assert all(text.endswith("apns.ca_file") for text in failed(findings).values()), ended.output


def test_an_invalid_configuration_is_not_tried(simulators, benches, broker, tmp_path):
    settings = benches(broker, 1).configuration(simulators(), retry={"attempts": "many"})
    code, findings, ended = checked(tmp_path, settings)
    assert (code, findings) == (1, {})
    assert "retry.attempts" in ended.output


# --- Rights, as docs/kafka.md lists them ----------------------------------------------------------


def limited_settings(apache, benches, simulators, **changes):
    bench = benches(apache.kafka, 2)
    topics = bench.topics
    retry = apache.kafka.create(f"{topics.source}.retry.1m", 2)
    login = apache.login(**{"sasl.username": LIMITED})
    kafka = {"bootstrap_servers": apache.server("LOGIN"), "properties": login}
    settings = bench.configuration(
        simulators(), kafka=kafka, retry={"later": ["1m"]}, **changes
    )
    rights = {
        "sources.0.topic": [("TOPIC", topics.source, "READ")],
        "results.topic": [("TOPIC", topics.results, "WRITE")],
        "results.token_status_topic": [
            ("TOPIC", topics.token_status, "READ"),
            ("TOPIC", topics.token_status, "WRITE"),
        ],
        "results.dead_letter_topic": [("TOPIC", topics.dead_letters, "WRITE")],
        f"retry.later {retry}": [
            ("TOPIC", f"{topics.source}.retry.*", "READ"),
            ("TOPIC", f"{topics.source}.retry.*", "WRITE"),
        ],
        "kafka.group_id": [("GROUP", bench.group, "READ")],
        "results.transactional_id": [
            ("TRANSACTIONAL_ID", f"{bench.group}-*", "WRITE"),
        ],
    }
    return bench, settings, rights, retry


@pytest.mark.takes(60)
def test_each_right_that_is_missing_is_named(apache, benches, simulators, tmp_path):
    transactional = {"results": {"transactional": True}}
    bench, settings, rights, retry = limited_settings(apache, benches, simulators, **transactional)
    acls = Rights(apache, LIMITED)
    every = [right for some in rights.values() for right in some]
    acls.set(every)
    code, findings, ended = checked(tmp_path, settings)
    assert (code, failed(findings)) == (0, {}), ended.output
    assert set(rights) < set(findings)
    for place, needed in rights.items():
        for right in needed:
            acls.set([other for other in every if other != right])
            code, findings, ended = checked(tmp_path, settings)
            assert (code, set(failed(findings))) == (1, {place}), (right, ended.output)
            text = failed(findings)[place]
            assert re.search(f"the service's principal {right[2].title()}[, ]", text), text
    acls.set([])
    code, findings, ended = checked(tmp_path, settings)
    assert set(failed(findings)) == set(rights), ended.output
    # Nothing was written, with or without the right to write.
    acls.set(every)
    written = (*vars(bench.topics).values(), retry)
    assert {topic: apache.kafka.count(topic) for topic in written} == dict.fromkeys(written, 0)
    committed = apache.kafka.committed(bench.group, bench.topics.source)
    assert set(committed.values()) == {-1001}


@pytest.mark.takes(30)
def test_a_topic_that_is_missing_is_named_or_would_be_made(
    apache, benches, simulators, tmp_path
):
    bench, settings, rights, _ = limited_settings(apache, benches, simulators)
    missing = f"{bench.topics.results}.missing"
    settings["results"]["topic"] = missing
    every = [right for some in rights.values() for right in some]
    every += [("TOPIC", missing, "WRITE")]
    acls = Rights(apache, LIMITED)
    acls.set(every)
    code, findings, ended = checked(tmp_path, settings)
    assert (code, set(failed(findings))) == (1, {"results.topic"}), ended.output
    text = failed(findings)["results.topic"]
    assert "create the topic, or set kafka.create_topics to true" in text
    assert f"--create --topic {missing} --partitions 12" in text

    settings["kafka"]["create_topics"] = True
    code, findings, ended = checked(tmp_path, settings)
    assert (code, set(failed(findings))) == (1, {"results.topic"}), ended.output
    acls.set([*every, ("TOPIC", missing, "CREATE")])
    code, findings, ended = checked(tmp_path, settings)
    assert (code, failed(findings)) == (0, {}), ended.output
    assert "the service will create it" in findings["results.topic"][1]
    assert not apache.kafka.partitions(missing)


@pytest.mark.takes(30)
def test_a_wrong_password_is_one_line(apache, benches, simulators, tmp_path):
    _, settings, _, _ = limited_settings(apache, benches, simulators)
    settings["kafka"]["properties"]["sasl.password"] = "not-right"
    code, findings, ended = checked(tmp_path, settings)
    assert (code, set(failed(findings))) == (1, {"kafka.bootstrap_servers"}), ended.output
    assert "refuses the login: check kafka.properties.sasl.username" in ended.output
    assert "not-right" not in ended.output
