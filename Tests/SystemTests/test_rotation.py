"""Keys and certificates change at runtime, and nothing is lost."""

import datetime
import os
import shutil
import signal
import ssl

import pytest

from harness.certificates import openssl, write_certificate
from harness.deadlines import eventually
from harness.events import APP, new_event, record, records
from harness.service import outcomes_of
from harness.simulator import keys_option

TAKEN = "credential reloaded"
OPEN = "secret file is readable by others"
REFUSED = "credential not reloaded; the old one stays in use"
CONTINUOUS = 20


@pytest.fixture
def bench(broker, benches):
    return benches(broker)


@pytest.fixture
def simulator(simulators):
    return simulators({})


def swapped(path, write):
    """Replaces a file as Kubernetes does: the path's target changes atomically."""
    fresh = path.with_name(f"{path.name}.fresh")
    write(fresh)
    os.replace(fresh, path)


def new_key(path):
    curve = ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
    openssl("genpkey", *curve, "-out", path)


def metric(service, name):
    """{labels: value} of one metric, by its full name."""
    samples = (line.rpartition(" ") for line in service.fetch("/metrics")[1].splitlines())
    return {
        series.removeprefix(name): float(value)
        for series, _, value in samples
        if series.partition("{")[0] == name
    }


def open_connections(service):
    return sum(metric(service, "heliograph_apns_connections").values())


def wait_for_log(service, message, count=1, seconds=60):
    eventually(lambda: len(service.log_lines(message)) >= count, seconds, service.child.output)


def assert_all_accepted(bench, service, count):
    bench.wait_for_outcomes(count, service=service)
    outcomes = [outcome for _, outcome in outcomes_of(bench.kafka, bench.topics)]
    assert len(outcomes) == count
    told = {(outcome["outcome"], outcome["reason"]) for outcome in outcomes}
    assert {outcome for outcome, _ in told} == {"accepted"}, told


def send_until(bench, condition, service):
    """Produces events until `condition()`; returns how many."""
    count = 0

    def sent_and_met():
        nonlocal count
        bench.produce(records(CONTINUOUS))
        count += CONTINUOUS
        return condition()

    eventually(sent_and_met, 60, service.child.output, interval=0.25)
    return count


@pytest.fixture
def key_file(tmp_path, simulator):
    """A copy of the simulator's key that a test may overwrite."""
    path = tmp_path / "AuthKey.p8"
    shutil.copy(simulator.ready["key_file"], path)
    return path


def by_key(bench, simulator, key_file):
    settings = bench.configuration(simulator)
    settings["apns"]["credentials"][0]["key_file"] = str(key_file)
    return settings


def test_a_key_that_others_can_read_is_logged_when_loaded(bench, simulator, key_file):
    good = key_file.read_bytes()
    key_file.chmod(0o644)
    service = bench.start(by_key(bench, simulator, key_file)).wait_until_ready()
    said = "is readable by every user (mode 0644); set mode 0600, or 0640 if root owns it"
    problem = f"apns.credentials.0.key_file: '{key_file}' {said}"
    assert [line["problem"] for line in service.log_lines(OPEN)] == [problem]
    for count, mode in [(1, 0o644), (2, 0o600)]:
        swapped(key_file, lambda path: (path.write_bytes(good + b"\n" * count), path.chmod(mode)))
        wait_for_log(service, TAKEN, count)
    told = [(line["credential"], line["problem"]) for line in service.log_lines(OPEN)[1:]]
    assert told == [("example", problem)]


def test_a_bad_file_keeps_the_old_key_and_a_good_one_is_loaded(
    bench, simulator, key_file
):
    service = bench.start(by_key(bench, simulator, key_file)).wait_until_ready()
    good = key_file.read_bytes()
    swapped(key_file, lambda path: path.write_text("no key at all\n"))
    sent = send_until(bench, lambda: service.log_lines(REFUSED), service)
    [line] = service.log_lines(REFUSED)
    assert line["credential"] == "example"
    assert "apns.credentials.0.key_file" in line["problem"]
    [warning] = service.warnings()
    assert warning.startswith("credential example: ") and "key_file" in warning
    unusable = "heliograph_unusable_files"
    assert metric(service, unusable)['{use="credentials"}'] == 1
    assert "no key at all" not in "\n".join(service.child.lines("stderr"))
    key_file.unlink()
    wait_for_log(service, REFUSED, 2)
    swapped(key_file, lambda path: path.write_bytes(good))
    eventually(lambda: not service.warnings(), 60, service.child.output)
    sent += send_until(bench, lambda: service.log_lines(TAKEN), service)
    assert_all_accepted(bench, service, sent)
    assert not any(metric(service, unusable).values())
    # The same key again changes nothing: one connection, one provider token.
    assert metric(service, "heliograph_credentials_reloads_total") == {
        '{result="ok"}': 1,
        '{result="failed"}': 2,
    }
    assert metric(service, "heliograph_apns_connects_total") == {"": 1}
    assert set(metric(service, "heliograph_provider_token_age_seconds")) == {
        '{credential="example"}'
    }
    service.drain()


def test_each_of_many_changes_is_logged_at_once(bench, simulator, key_file):
    """Also the fourth failure within a minute, and its end."""
    good = key_file.read_bytes()
    service = bench.start(by_key(bench, simulator, key_file)).wait_until_ready()
    files = [b"", b"no key at all", good.replace(b"PRIVATE", b"PUBLIC"), good[: len(good) // 2]]

    def change(octets, message, count):
        swapped(key_file, lambda path: path.write_bytes(octets))
        service.child.send(signal.SIGHUP)
        wait_for_log(service, message, count)

    for count in range(1, len(files) * 2 + 1):
        change(files[count % len(files)] + b"\n" * count, REFUSED, count)
        change(good, TAKEN, count)
        assert not service.warnings()


def test_a_new_key_gets_its_own_token_and_the_old_token_is_kept(
    bench, simulators, tmp_path
):
    """Key and key ID change together, by swapping a link; and back again."""
    following = {"key_id": "NEXT123456", "file": str(tmp_path / "next.p8")}
    simulator = simulators({}, keys_option(tmp_path / "keys.json", following))
    for name, key_id, key_file in (
        ("old", simulator.ready["key_id"], simulator.ready["key_file"]),
        ("new", "NEXT123456", tmp_path / "next.p8"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "key_id").write_text(f"{key_id}\n")
        shutil.copy(key_file, tmp_path / name / "key.p8")
    current = tmp_path / "current"
    current.symlink_to("old")
    settings = bench.configuration(simulator)
    credential = settings["apns"]["credentials"][0]
    del credential["key_id"]
    credential.update(key_file=str(current / "key.p8"), key_id_file=str(current / "key_id"))
    service = bench.start(settings).wait_until_ready()
    sent = send_until(bench, lambda: simulator.accepted(), service)
    for times, name in enumerate(("new", "old"), start=1):
        connects = metric(service, "heliograph_apns_connects_total")[""]
        swapped(current, lambda path, name=name: path.symlink_to(name))
        sent += send_until(
            bench,
            lambda times=times, connects=connects: len(service.log_lines(TAKEN)) == times
            and metric(service, "heliograph_apns_connects_total")[""] > connects
            and open_connections(service) == 1,
            service,
        )
    assert_all_accepted(bench, service, sent)
    # The simulator refuses a second token of the first key, so the old token is in use again.
    age = metric(service, "heliograph_provider_token_age_seconds")['{credential="example"}']
    assert age >= 900
    service.drain()


def test_the_right_key_reactivates_the_credential_at_once(
    bench, simulator, key_file
):
    right = key_file.read_bytes()
    new_key(key_file)
    service = bench.start(by_key(bench, simulator, key_file)).wait_until_ready()
    bench.produce([record(new_event())])
    eventually(
        lambda: "InvalidProviderToken" in str(service.warnings()), 60, service.child.output
    )
    # A rejected key keeps no connection.
    eventually(
        lambda: open_connections(service) == 0,
        60,
        service.child.output,
    )
    swapped(key_file, lambda path: path.write_bytes(right))
    wait_for_log(service, TAKEN)
    before = bench.kafka.count(bench.topics.results)
    bench.produce(records(3))
    bench.wait_for_outcomes(before + 3, service=service)
    latest = [outcome for _, outcome in outcomes_of(bench.kafka, bench.topics)]
    assert sum(outcome["outcome"] == "accepted" for outcome in latest) >= 3, latest
    service.wait_until_ready()
    service.drain()


def test_a_new_certificate_is_used_on_new_connections(bench, simulator, tmp_path):
    folder = tmp_path / "certificate"
    # For two more days, of 90.
    start = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=88)
    write_certificate(folder, days=90, start=start)
    credential = {
        "name": "legacy",
        "bundle_ids": [APP],
        "certificate_file": str(folder / "certificate.pem"),
        "private_key_file": str(folder / "key.pem"),
    }
    settings = bench.configuration(simulator)
    settings["apns"]["credentials"] = [credential]
    service = bench.start(settings).wait_until_ready()
    wait_for_log(service, "certificate expires soon")
    expiry = metric(service, "heliograph_certificate_expiry_timestamp_seconds")
    sent = send_until(bench, lambda: simulator.accepted(), service)

    connects = metric(service, "heliograph_apns_connects_total")[""]
    # Two files cannot be swapped atomically: in between, they do not match.
    write_certificate(tmp_path / "next", days=90)
    for name in ("certificate.pem", "key.pem"):
        swapped(folder / name, lambda path, name=name: shutil.copy(tmp_path / "next" / name, path))
    sent += send_until(bench, lambda: service.log_lines(TAKEN), service)
    sent += send_until(
        bench,
        # A new connection exists, and the old one has ended.
        lambda: metric(service, "heliograph_apns_connects_total")[""] > connects
        and open_connections(service) == 1,
        service,
    )
    assert_all_accepted(bench, service, sent)
    later = metric(service, "heliograph_certificate_expiry_timestamp_seconds")
    assert later['{credential="legacy"}'] > expiry['{credential="legacy"}'] + 80 * 86_400
    assert not service.log_lines("APNs connection failed")

    # A certificate for another app is refused.
    write_certificate(tmp_path / "foreign", app="com.example.Foreign")
    for name in ("certificate.pem", "key.pem"):
        swapped(
            folder / name, lambda path, name=name: shutil.copy(tmp_path / "foreign" / name, path)
        )
    eventually(
        lambda: any("bundle_ids" in line["problem"] for line in service.log_lines(REFUSED)),
        60,
        service.child.output,
    )
    sent += CONTINUOUS
    bench.produce(records(CONTINUOUS))
    assert_all_accepted(bench, service, sent)
    service.drain()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_certificate_refused_in_the_handshake_parks_its_credential(
    bench, peer, tmp_path, version
):
    """The server is Python's: it refuses with an alert, in TLS 1.3 after the client has finished."""
    folder, successor = tmp_path / "certificate", tmp_path / "next"
    write_certificate(folder)
    write_certificate(successor)
    server = peer()
    server.trust(successor / "certificate.pem", version)
    settings = bench.configuration(server)
    settings["apns"]["credentials"] = [
        {
            "name": "legacy",
            "bundle_ids": [APP],
            "certificate_file": str(folder / "certificate.pem"),
            "private_key_file": str(folder / "key.pem"),
        }
    ]
    service = bench.start(settings)
    bench.produce(records(CONTINUOUS))
    wait_for_log(service, "APNs rejected the credential")
    (line,) = service.log_lines("APNs rejected the credential")
    assert line["reason"] == "CertificateRefused"
    assert line["credential"] == "legacy"
    assert "the peer refused the client certificate" in line["error"]
    eventually(
        lambda: metric(service, "heliograph_apns_credentials_parked")['{credential="legacy"}'] == 1,
        60,
        service.child.output,
    )
    assert not service.log_lines("APNs connection failed")
    assert not server.requests

    for name in ("certificate.pem", "key.pem"):
        swapped(folder / name, lambda path, name=name: shutil.copy(successor / name, path))
    assert_all_accepted(bench, service, CONTINUOUS)
    assert not service.log_lines("circuit breaker opened: APNs keeps failing")
    service.drain()


@pytest.mark.takes(60)
def test_a_certificate_that_is_not_yet_valid_is_loaded_when_it_becomes_valid(
    bench, simulator, tmp_path
):
    folder = tmp_path / "certificate"
    write_certificate(folder)
    settings = bench.configuration(simulator)
    settings["apns"]["credentials"] = [
        {
            "name": "legacy",
            "bundle_ids": [APP],
            "certificate_file": str(folder / "certificate.pem"),
            "private_key_file": str(folder / "key.pem"),
        }
    ]
    service = bench.start(settings).wait_until_ready()
    start = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=60)
    write_certificate(tmp_path / "next", days=90, start=start)
    for name in ("certificate.pem", "key.pem"):
        swapped(folder / name, lambda path, name=name: shutil.copy(tmp_path / "next" / name, path))
    eventually(
        lambda: any("is not valid before" in line["problem"] for line in service.log_lines(REFUSED)),
        60,
        service.child.output,
    )
    assert not service.log_lines(TAKEN)
    wait_for_log(service, TAKEN, seconds=180)
    assert datetime.datetime.now(datetime.UTC) >= start.replace(microsecond=0)
    service.wait_until_ready()
    bench.produce(records(CONTINUOUS))
    assert_all_accepted(bench, service, CONTINUOUS)
    service.drain()


def test_an_expired_certificate_is_named(bench, simulator, tmp_path):
    write_certificate(tmp_path / "old", expired=True)
    settings = bench.configuration(simulator)
    settings["apns"]["credentials"].append(
        {
            "name": "legacy",
            "bundle_ids": [f"{APP}.voip"],
            "certificate_file": str(tmp_path / "old" / "certificate.pem"),
            "private_key_file": str(tmp_path / "old" / "key.pem"),
        }
    )
    service = bench.start(settings).wait_until_ready()
    wait_for_log(service, "certificate is not valid")
    eventually(
        lambda: "the certificate has expired" in str(service.warnings()),
        60,
        service.child.output,
    )
    # The other credential still works.
    bench.produce(records(CONTINUOUS))
    assert_all_accepted(bench, service, CONTINUOUS)
    service.drain()


def test_a_new_ca_is_loaded(bench, simulator, tmp_path):
    ca = tmp_path / "ca.pem"
    shutil.copy(simulator.ready["ca_file"], ca)
    settings = bench.configuration(simulator)
    settings["apns"]["ca_file"] = str(ca)
    service = bench.start(settings).wait_until_ready()
    sent = send_until(bench, lambda: simulator.accepted(), service)
    message = "apns.ca_file and apns.proxy_password_file not reloaded; the old ones stay in use"
    good = ca.read_bytes()
    swapped(ca, lambda path: path.write_text("-----BEGIN NOTHING-----\n"))
    sent += send_until(bench, lambda: service.log_lines(message), service)
    write_certificate(tmp_path / "other")
    other = (tmp_path / "other" / "certificate.pem").read_bytes()
    swapped(ca, lambda path: path.write_bytes(good + other))
    taken = "apns.ca_file and apns.proxy_password_file reloaded"
    sent += send_until(bench, lambda: service.log_lines(taken), service)
    assert_all_accepted(bench, service, sent)
    service.wait_until_ready()
    service.drain()
