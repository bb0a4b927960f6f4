"""The service connects to APNs with a certificate, and through a proxy."""

import json

import pytest

from harness.certificates import openssl, write_certificate
from harness.commands import run_command
from harness.deadlines import eventually
from harness.events import APP, new_event, record
from harness.proxy import running_proxy
from harness.service import outcomes_of
from harness.simulator import keys_option

TOPICS = [APP, f"{APP}.voip"]


@pytest.fixture
def bench(broker, benches):
    return benches(broker, 1)


@pytest.fixture
def simulator(simulators):
    return simulators({})


@pytest.fixture
def certificate(tmp_path):
    """A folder with certificate.pem, key.pem, and both in identity.p12 with the passphrase opensesame."""
    folder = tmp_path / "certificate"
    write_certificate(folder)
    (folder / "passphrase").write_text("opensesame\n")
    openssl(
        *("pkcs12", "-export", "-passout", "pass:opensesame"),
        *("-inkey", folder / "key.pem", "-in", folder / "certificate.pem"),
        *("-out", folder / "identity.p12"),
    )
    return folder


def by_certificate(settings, **files):
    settings["apns"]["credentials"] = [
        {"name": "legacy", "bundle_ids": [APP], **{key: str(path) for key, path in files.items()}}
    ]
    return settings


def the_outcome(bench, service, **fields):
    before = len(outcomes_of(bench.kafka, bench.topics))
    bench.produce([record(new_event(**fields))])
    bench.wait_for_outcomes(before + 1, service=service)
    return outcomes_of(bench.kafka, bench.topics)[-1][1]


@pytest.mark.parametrize("form", ["pem", "pkcs12"])
def test_a_certificate_works_as_a_credential(bench, simulator, certificate, form):
    files = {
        "pem": {
            "certificate_file": certificate / "certificate.pem",
            "private_key_file": certificate / "key.pem",
        },
        "pkcs12": {
            "certificate_file": certificate / "identity.p12",
            "passphrase_file": certificate / "passphrase",
        },
    }
    settings = by_certificate(bench.configuration(simulator), **files[form])
    service = bench.start(settings).wait_until_ready()
    for push_type, topic in zip(["alert", "voip"], TOPICS):
        outcome = the_outcome(bench, service, push_type=push_type)
        assert (outcome["outcome"], outcome["topic"]) == ("accepted", topic)
        assert outcome["credential"] == "legacy"
    outcome = the_outcome(bench, service, push_type="complication")
    assert (outcome["outcome"], outcome["reason"]) == ("rejected", "TopicDisallowed")
    service.drain()


def test_a_certificate_cannot_send_live_activities(bench, simulator, certificate, tmp_path):
    files = {
        "certificate_file": certificate / "certificate.pem",
        "private_key_file": certificate / "key.pem",
    }
    settings = by_certificate(bench.configuration(simulator), **files)
    service = bench.start(settings).wait_until_ready()
    payload = {"aps": {"event": "update", "timestamp": 1790000000, "content-state": {}}}
    for push_type in ("liveactivity", "location"):
        outcome = the_outcome(bench, service, push_type=push_type, payload=payload)
        assert (outcome["outcome"], outcome["reason"], outcome["token_action"]) == (
            "undeliverable", "ProviderTokenRequired", "keep",
        )
        words = ["push", "--token", "00" * 32, "--bundle-id", APP, "--push-type", push_type]
        done = run_command(tmp_path, settings, *words, "--payload", json.dumps(payload))
        assert done.code == 1 and "ProviderTokenRequired" in done.output, done.output
    assert not simulator.requests()


def test_a_certificate_that_cannot_be_opened_names_its_key(bench, simulator, certificate):
    settings = by_certificate(
        bench.configuration(simulator), certificate_file=certificate / "identity.p12"
    )
    service = bench.start(settings)
    assert service.child.wait_for_exit(60) == 1
    assert any(
        "apns.credentials.0.certificate_file" in line and "passphrase" in line
        for line in service.child.lines("stderr")
    ), service.child.output()


def test_an_app_can_have_one_key_per_environment(bench, simulators, tmp_path):
    key = tmp_path / "sandbox.p8"
    only_sandbox = {"key_id": "SANDBOX123", "file": str(key), "environments": ["sandbox"]}
    simulator = simulators({}, keys_option(tmp_path / "keys.json", only_sandbox))
    settings = bench.configuration(simulator)
    [production] = settings["apns"]["credentials"]
    production.update(name="production", environments=["production"])
    sandbox = {**production, "name": "sandbox", "key_id": "SANDBOX123", "key_file": str(key)}
    del sandbox["environment"]
    settings["apns"]["credentials"].append({**sandbox, "environments": ["sandbox"]})
    service = bench.start(settings).wait_until_ready()
    for environment, credential in (
        ("sandbox", "sandbox"),
        ("production", "production"),
        (None, "production"),
    ):
        outcome = the_outcome(bench, service, environment=environment)
        assert (outcome["outcome"], outcome["credential"]) == ("accepted", credential)
        assert outcome["environment"] == credential
    service.drain()


def test_a_certificate_for_another_app_names_the_mismatch(bench, simulator, certificate):
    settings = by_certificate(
        bench.configuration(simulator),
        certificate_file=certificate / "certificate.pem",
        private_key_file=certificate / "key.pem",
    )
    settings["apns"]["credentials"][0]["bundle_ids"] = [APP, "com.example.Other"]
    service = bench.start(settings)
    assert service.child.wait_for_exit(60) == 1
    assert any(
        "apns.credentials.0.bundle_ids" in line and "com.example.Other" in line
        for line in service.child.lines("stderr")
    ), service.child.output()


def test_connections_go_through_the_proxy(bench, simulator, tmp_path):
    (tmp_path / "password").write_text("secret-of-the-proxy\n")
    with running_proxy("pushes", "secret-of-the-proxy") as proxy:
        settings = bench.configuration(simulator)
        settings["apns"]["proxy"] = f"http://pushes@{proxy.url}"
        settings["apns"]["proxy_password_file"] = str(tmp_path / "password")
        service = bench.start(settings).wait_until_ready()
        assert the_outcome(bench, service)["outcome"] == "accepted"
        production = simulator.ready["production"].removeprefix("https://")
        assert set(proxy.targets) == {production}
        assert "secret-of-the-proxy" not in "".join(service.child.lines("stderr"))
        service.drain()


def test_a_proxy_that_refuses_is_named(bench, simulator):
    with running_proxy("pushes", "secret") as proxy:
        settings = bench.configuration(simulator)
        settings["apns"]["proxy"] = f"http://{proxy.url}"
        service = bench.start(settings)
        message = "APNs connection failed"
        eventually(lambda: service.log_lines(message), 60, service.child.output)
        assert "status 407" in service.log_lines(message)[0]["error"]


def test_a_host_in_no_proxy_is_reached_directly(bench, simulator):
    with running_proxy() as proxy:
        settings = bench.configuration(simulator)
        settings["apns"]["proxy"] = f"http://{proxy.url}"
        settings["apns"]["no_proxy"] = "localhost,127.0.0.1"
        service = bench.start(settings).wait_until_ready()
        assert the_outcome(bench, service)["outcome"] == "accepted"
        assert proxy.targets == []
        service.drain()
