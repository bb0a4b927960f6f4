"""Logins at Apache Kafka: of each kind, by each command, and such as change while the service runs."""

import json
import os

import pytest
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from harness.apache_kafka import PASSWORD, SCRAM, USER, kafka_version
from harness.commands import librdkafka_version, run_command
from harness.deadlines import eventually
from harness.events import new_event, record, records
from harness.kafka import Written
from harness.rights import Rights
from harness.service import position_of
from harness.tokens import CLIENT, SECRET, running_token_server

pytestmark = [pytest.mark.takes(20), pytest.mark.kafka]
# librdkafka before it repeats a nonce, which Kafka 4 refuses.
FIRST_GOOD = (2, 6, 1)
TIMES = 20


def settings_for(bench, simulator, apache, listener, properties):
    kafka = {"bootstrap_servers": apache.server(listener), "properties": properties}
    return bench.configuration(simulator, kafka=kafka)


def can_use_scram(folder, settings):
    """Whether the programs' librdkafka and the broker go together."""
    return kafka_version() < (4,) or librdkafka_version(folder, settings) >= FIRST_GOOD


@pytest.mark.parametrize("mechanism", SCRAM)
def test_scram(apache, benches, simulators, tmp_path, mechanism):
    bench, simulator = benches(apache.kafka, 1), simulators()
    login = {**apache.tls(), **apache.login()}
    login |= {"security.protocol": "sasl_ssl", "sasl.mechanisms": mechanism}
    settings = settings_for(bench, simulator, apache, "SCRAM", login)
    if not can_use_scram(tmp_path, settings):
        ended = run_command(tmp_path, settings, "tail", "--no-follow")
        assert ended.code == 1
        assert "cannot log in by SCRAM: use librdkafka 2.6.1 or newer" in ended.output
        return
    service = bench.start(settings).wait_until_ready(60)
    bench.produce([record(new_event())])
    bench.wait_for_outcomes(1, service=service)
    service.drain()
    bad = settings_for(bench, simulator, apache, "SCRAM", {**login, "sasl.password": "wrong"})
    ended = run_command(tmp_path, bad, "tail", "--no-follow")
    assert ended.code == 1
    assert "refuses the login: check kafka.properties.sasl.username" in ended.output


@pytest.mark.parametrize("is_transactional", [False, True], ids=["plain", "transactional"])
def test_connections_that_the_broker_closes_every_two_seconds_lose_nothing(
    apache, benches, simulators, is_transactional
):
    """If it does not log in again before (KIP-368): librdkafka does from 2.2 on."""
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
        met = sum("Disconnected" in line or "Received REAUTH op" in line for line in lines)
        return met >= TIMES

    eventually(has_met_it_often, 60, service.child.output)
    service.drain()
    told = bench.kafka.read_committed(bench.topics.results)
    outcomes = [json.loads(message.value()) for message in told]
    assert sorted(map(position_of, outcomes)) == sorted(place.position for place in written)
    assert {outcome["outcome"] for outcome in outcomes} == {"accepted"}
    assert len(simulator.requests()) == len(written)


# --- Each kind, each command ----------------------------------------------------------------------


def own_certificate(apache, name):
    path = str(apache.certificates.sign(name))
    return {"ssl.certificate.location": path, "ssl.key.location": path}


def from_file(apache, path, principal=USER, seconds=600):
    replace(path, apache.issuer.token(principal, seconds))
    return {
        "security.protocol": "sasl_plaintext",
        "sasl.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.token_file": str(path),
    }


LOGINS = {
    "PLAIN over TLS": lambda apache, folder: (
        "TLSLOGIN",
        {**apache.tls(), **apache.login(), "security.protocol": "sasl_ssl"},
    ),
    "certificate": lambda apache, folder: (
        "MUTUAL",
        apache.tls(**own_certificate(apache, f"client-{os.getpid()}")),
    ),
    "token file": lambda apache, folder: ("TOKEN", from_file(apache, folder / "token")),
}


def replace(path, text):
    """At once, as a Kubernetes volume does."""
    fresh = path.with_suffix(".fresh")
    fresh.write_text(text)
    os.replace(fresh, path)


@pytest.mark.parametrize("login", LOGINS)
def test_every_command_logs_in(apache, benches, simulators, tmp_path, login):
    bench, simulator = benches(apache.kafka, 1), simulators()
    listener, properties = LOGINS[login](apache, tmp_path)
    settings = settings_for(bench, simulator, apache, listener, properties)
    assert run_command(tmp_path, settings, "check").code == 0
    ended = run_command(tmp_path, settings, "check", "--connect")
    assert ended.code == 0, ended.output
    service = bench.start(settings).wait_until_ready(60)
    bench.produce([record(new_event()), Written(b"{", key=b"bad")])
    bench.wait_for_outcomes(2, service=service)
    service.drain()
    for words in (("tail", "--no-follow"), ("dead-letters", "list"), ("dead-letters", "replay")):
        ended = run_command(tmp_path, settings, *words)
        assert ended.code == 0 and ended.output, words


# --- Logins that change while the service runs ----------------------------------------------------


def reasons(service):
    return service.fetch("/ready")[1]


def go_on(bench, service, written):
    written += bench.produce(records(20))
    bench.wait_until_settled(60, service=service)


def assert_each_once(bench, simulator, written):
    told = bench.kafka.read_committed(bench.topics.results)
    places = sorted(position_of(json.loads(message.value())) for message in told)
    assert places == sorted(place.position for place in written)
    assert len(simulator.requests()) == len(written)


@pytest.mark.takes(95)
def test_a_token_that_expires_is_told_and_its_successor_taken(
    apache, benches, simulators, tmp_path
):
    bench, simulator = benches(apache.kafka, 1), simulators({})
    token = tmp_path / "token"
    properties = from_file(apache, token, seconds=60)
    settings = settings_for(bench, simulator, apache, "TOKEN", properties)
    service = bench.start(settings).wait_until_ready(60)
    written = []
    go_on(bench, service, written)

    def is_told():
        told = reasons(service)
        return "refuses the login" in told and "sasl.oauthbearer.token_file" in told

    # The broker closes connections whose token has expired.
    eventually(is_told, 180, service.child.output)
    written += bench.produce(records(20))
    replace(token, apache.issuer.token(USER))
    service.wait_until_ready(60)
    go_on(bench, service, written)
    said = service.child.output()
    service.drain()
    assert_each_once(bench, simulator, written)
    assert token.read_text() not in said


def test_a_token_file_that_is_gone_is_told(apache, benches, simulators, tmp_path):
    bench, simulator = benches(apache.kafka, 1), simulators({})
    token = tmp_path / "token"
    settings = settings_for(bench, simulator, apache, "TOKEN", from_file(apache, token))
    for bad in (None, "", "two\nlines\n", "a b"):
        token.unlink(missing_ok=True)
        if bad is not None:
            token.write_text(bad)
        ended = run_command(tmp_path, settings, "tail", "--no-follow")
        assert ended.code == 1
        assert f"sasl.oauthbearer.token_file: {token} " in ended.output, ended.output


def test_tokens_of_a_server(apache, benches, simulators, tmp_path):
    """OIDC; Debian 12's librdkafka is built without."""
    bench, simulator = benches(apache.kafka, 1), simulators({})
    with running_token_server(apache.issuer, USER) as (url, asked):
        properties = {
            "security.protocol": "sasl_plaintext",
            "sasl.mechanisms": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": CLIENT,
            "sasl.oauthbearer.client.secret": SECRET,
            "sasl.oauthbearer.token.endpoint.url": url,
        }
        settings = settings_for(bench, simulator, apache, "TOKEN", properties)
        ended = run_command(tmp_path, settings, "check")
        if "is built without OIDC" in ended.output:
            assert ended.code == 1 and not asked
            return
        assert ended.code == 0, ended.output
        service = bench.start(settings).wait_until_ready(60)
        written = []
        go_on(bench, service, written)
        assert asked and SECRET not in service.child.output()
        service.drain()
    assert_each_once(bench, simulator, written)


def test_another_password_at_the_broker_is_told_until_it_is_the_right_one_again(
    apache, benches, simulators, tmp_path
):
    mechanism = SCRAM[1]
    bench, simulator = benches(apache.kafka, 1), simulators({})
    if not can_use_scram(tmp_path, bench.configuration(simulator)):
        pytest.skip("this librdkafka cannot log in to Kafka 4 by SCRAM")
    user = f"user-{bench.group}"
    admin = AdminClient({"bootstrap.servers": apache.server("PLAIN"), "log_level": 0})

    def have_password(password):
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        change = UserScramCredentialUpsertion(user, info, password.encode())
        for future in admin.alter_user_scram_credentials([change]).values():
            future.result(60)

    have_password(PASSWORD)
    acls = Rights(apache, user)
    acls.set(
        {("TOPIC", f"{bench.topics.source}*", right) for right in ("READ", "WRITE")}
        | {("GROUP", bench.group, "READ")}
    )
    login = {"sasl.username": user, "sasl.mechanisms": mechanism}
    settings = settings_for(bench, simulator, apache, "CHANGING", apache.login(**login))
    service = bench.start(settings).wait_until_ready(60)
    written = []
    go_on(bench, service, written)
    have_password("another")
    eventually(lambda: "refuses the login: check" in reasons(service), 60, service.child.output)
    written += bench.produce(records(20))
    have_password(PASSWORD)
    service.wait_until_ready(60)
    go_on(bench, service, written)
    service.drain()
    assert_each_once(bench, simulator, written)
