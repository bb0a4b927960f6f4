"""An operator's mistakes: one clear line that names the key, never a crash."""

import datetime
import re
import socket

import pytest

from harness.deadlines import eventually
from harness.ports import reserved_port
from harness.processes import Child, built_binary, json_object

EXIT_SECONDS = 60


@pytest.fixture
def bench(broker, benches):
    return benches(broker, 1)


@pytest.fixture
def simulator(simulators):
    return simulators()


def with_credential(settings, **fields):
    settings["apns"]["credentials"][0].update(fields)
    return settings


def missing_key_file(settings, folder):
    return with_credential(settings, key_file=str(folder / "nowhere.p8"))


def unreadable_key_file(settings, folder):
    # A directory, because root can read files of any mode.
    return with_credential(settings, key_file=str(folder))


def garbage_key_file(settings, folder):
    (folder / "garbage.p8").write_bytes(b"-----BEGIN PRIVATE KEY-----\nbm90IGEga2V5\n-----END\xff")
    return with_credential(settings, key_file=str(folder / "garbage.p8"))


def empty_key_file(settings, folder):
    (folder / "empty.p8").write_bytes(b"")
    return with_credential(settings, key_file=str(folder / "empty.p8"))


def short_key_id(settings, _):
    return with_credential(settings, key_id="SHORT")


def no_bundle_ids(settings, _):
    return with_credential(settings, bundle_ids=[])


def unknown_key(settings, _):
    settings["kafka"]["bootstrap_server"] = "localhost:9092"
    return settings


def wrong_type(settings, _):
    settings["limits"] = {"in_flight_events": "many"}
    return settings


def no_sources(settings, _):
    del settings["sources"]
    # Leaves one source, whose topic does not exist.
    settings["kafka"]["properties"] = {"topic.metadata.propagation.max.ms": 0}
    return settings


def bad_endpoint(settings, _):
    settings["apns"]["endpoints"]["production"] = "ftp://example"
    return settings


def missing_ca_file(settings, folder):
    settings["apns"]["ca_file"] = str(folder / "nowhere.pem")
    return settings


def garbage_ca_file(settings, folder):
    (folder / "garbage.pem").write_text("not a certificate")
    settings["apns"]["ca_file"] = str(folder / "garbage.pem")
    return settings


def unreadable_kafka_file(settings, _):
    properties = {"security.protocol": "ssl", "ssl.ca.location": "/nope"}
    settings["kafka"]["properties"].update(properties)
    return settings


def short_fingerprint_key(settings, folder):
    (folder / "short.key").write_text("short")
    settings["log"]["fingerprint_key_file"] = str(folder / "short.key")
    return settings


def missing_inputs_folder(settings, folder):
    settings["log"]["inputs_folder"] = str(folder / "nowhere")
    return settings


def admin_host_with_a_port(settings, _):
    settings["admin"]["host"] = "0.0.0.0:9464"
    return settings


def unknown_kafka_property(settings, _):
    settings["kafka"]["properties"]["no.such.property"] = "1"
    return settings


def same_bundle_twice(settings, _):
    credentials = settings["apns"]["credentials"]
    credentials.append({**credentials[0], "name": "again"})
    return settings


# fault: the pattern of its line
FATAL_FAULTS = {
    missing_key_file: r"apns\.credentials\.0\.key_file",
    unreadable_key_file: r"apns\.credentials\.0\.key_file",
    garbage_key_file: r"apns\.credentials\.0\.key_file",
    empty_key_file: r"apns\.credentials\.0\.key_file",
    short_key_id: r"apns\.credentials\.0\.key_id",
    no_bundle_ids: r"apns\.credentials\.0\.bundle_ids",
    same_bundle_twice: r"apns\.credentials\.1\.bundle_ids",
    unknown_key: r"kafka\.bootstrap_server\b",
    wrong_type: r"limits\.in_flight_events",
    no_sources: r"\bsources\b",
    bad_endpoint: r"apns\.endpoints\.production",
    missing_ca_file: r"apns\.ca_file",
    garbage_ca_file: r"apns\.ca_file",
    unreadable_kafka_file: r"kafka\.properties\.ssl\.ca\.location: '/nope' cannot be read",
    short_fingerprint_key: r"log\.fingerprint_key_file",
    missing_inputs_folder: r"log\.inputs_folder: '.*/nowhere' cannot be written: No such file",
    admin_host_with_a_port: r"admin\.host: is '0\.0\.0\.0:9464'",
    unknown_kafka_property: r"kafka\.properties\.no\.such\.property",
}


def assert_one_clear_line(service, pattern, lines=1):
    """The process exited with its own code, and one line per fault says what to fix."""
    code = service.child.wait_for_exit(EXIT_SECONDS)
    assert code > 0, f"exit code {code}: {service.child.output()}"
    service.assert_no_crash()
    told = [line for line in service.child.lines("stderr") if re.search(pattern, line)]
    assert len(told) == lines, service.child.output()


@pytest.mark.parametrize("fault", FATAL_FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_in_the_configuration_is_named(fault, bench, simulator, tmp_path):
    service = bench.start(fault(bench.configuration(simulator), tmp_path))
    # Three patterns are in both credentials, and each is named.
    lines = 3 if fault is same_bundle_twice else 1
    assert_one_clear_line(service, FATAL_FAULTS[fault], lines)


@pytest.mark.core
def test_all_faults_are_reported_at_once(bench, simulator, tmp_path):
    settings = bench.configuration(simulator)
    for fault in (missing_key_file, unknown_key, wrong_type):
        settings = fault(settings, tmp_path)
    service = bench.start(settings)
    for fault in (missing_key_file, unknown_key, wrong_type):
        assert_one_clear_line(service, FATAL_FAULTS[fault])


@pytest.mark.parametrize(
    "text",
    ["kafka: [unclosed\n", "kafka:\n\tbootstrap_servers: tab\n", "- a list\n"],
)
def test_invalid_yaml_is_named_with_its_file(text, bench):
    assert_one_clear_line(bench.start(text), r"heliograph\.yaml")


ALIAS_BOMB = "a0: &a0 x\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 30)
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("kafka:\n\tgroup_id: a\n", r"found a tab; expected spaces .*heliograph\.yaml:2:1"),
        ("log: {level: info}\n---\nlog: {}\n", r"one document.*heliograph\.yaml:2:1"),
        ("log: {level: info}\nlog: {level: info}\n", r"^heliograph: log: is set twice, again at 2:1;.*yaml:1:1"),
        ("log: {level: in\0fo}\n", r"U\+0000.*heliograph\.yaml:1:16"),
        ("log: *level\n", r"alias has no anchor.*heliograph\.yaml:1:6"),
        (ALIAS_BOMB, r"has more than \d+ values.*heliograph\.yaml:7:10"),
        (ALIAS_BOMB + "? *a29\n: x\n", r"has more than \d+ values.*heliograph\.yaml:7:10"),
    ],
    ids=["tab", "two documents", "twice", "NUL", "no anchor", "alias bomb", "alias bomb as a key"],
)
def test_yaml_that_cannot_be_read_names_the_reason_and_the_place(text, told, bench):
    assert_one_clear_line(bench.start(text), told)


def test_an_empty_file_reports_the_required_keys(bench):
    assert_one_clear_line(bench.start(""), r"^(heliograph: |error: )?apns\.credentials")


def test_a_missing_configuration_file_is_named():
    arguments = [built_binary("heliograph"), "run", "--config", "/nowhere/heliograph.yaml"]
    with Child(arguments) as child:
        assert child.wait_for_exit(EXIT_SECONDS) > 0
        assert len([line for line in child.lines("stderr") if "/nowhere/" in line]) == 1


def test_a_port_in_use_is_named(bench, simulator):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        admin = {"port": taken.getsockname()[1]}
        service = bench.start(bench.configuration(simulator, admin=admin))
        assert_one_clear_line(service, r"admin\.port")


def test_an_environment_variable_is_named_like_its_key(bench, simulator, monkeypatch):
    monkeypatch.setenv("HELIOGRAPH_ADMIN_PORT", "many")
    service = bench.start(bench.configuration(simulator))
    assert_one_clear_line(service, r"admin\.port|HELIOGRAPH_ADMIN_PORT")


def assert_not_ready(service, pattern):
    """The process exits with a clear line, or stays up, is not ready, and says why."""

    def explained():
        if not service.child.is_running:
            return True
        status, body = service.fetch("/ready")
        return status == 503 and re.search(pattern, body)

    def what():
        return f"{pattern} in /ready or an exit: {service.fetch('/ready')} {service.child.output()}"

    eventually(explained, EXIT_SECONDS, what)
    if not service.child.is_running:
        assert_one_clear_line(service, pattern)
        return
    assert service.fetch("/live")[0] == 200
    service.drain()


@pytest.mark.takes(10)
def test_the_service_is_not_ready_without_a_broker(bench, simulator):
    with reserved_port() as port:
        kafka = {"bootstrap_servers": f"127.0.0.1:{port}"}
        service = bench.start(bench.configuration(simulator, kafka=kafka))
        assert_not_ready(service, r"kafka\.bootstrap_servers")


def test_an_unknown_topic_is_named(bench, simulator):
    sources = [{"topic": "no-such-topic"}]
    service = bench.start(bench.configuration(simulator, sources=sources))
    assert_not_ready(service, r"sources\.0\.topic.*no-such-topic")


def test_an_unknown_results_topic_is_named(bench, simulator):
    results = {"topic": "no-such-results"}
    service = bench.start(bench.configuration(simulator, results=results))
    assert_not_ready(service, r"results\.topic.*no-such-results")


def test_a_certificate_of_another_authority_is_not_trusted(bench, simulator, simulators):
    apns = {"ca_file": simulators().ready["ca_file"]}
    service = bench.run(simulator, apns=apns)
    told = r"apns\.endpoints\.production.*certificate|apns\.ca_file"
    eventually(lambda: re.search(told, str(service.warnings())), EXIT_SECONDS, service.child.output)
    service.drain()
    assert simulator.requests() == []


def test_every_log_line_is_one_json_object(bench, simulator):
    service = bench.run(simulator)
    service.drain()
    for line in service.child.lines("stderr"):
        entry = json_object(line)
        assert entry is not None, line
        assert entry["message"]
        assert datetime.datetime.fromisoformat(entry["time"]).tzinfo is not None
        assert entry["level"] in {"trace", "debug", "info", "notice", "warning", "error", "critical"}
