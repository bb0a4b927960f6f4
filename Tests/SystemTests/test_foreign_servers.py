"""The client against third-party HTTP/2 servers: nghttpd, nginx, and Go's in Caddy."""

import collections
import contextlib
import subprocess

import pytest
import yaml

from harness import foreign_servers
from harness.deadlines import eventually
from harness.events import APP, new_event, record
from harness.foreign_servers import ANSWERS
from harness.processes import built_binary, clean_environment
from harness.service import outcomes_of

TOKEN = "a11ce000" + "5e" * 28
MEANINGS = {
    "a11c": "accepted",
    "dead": "Unregistered (APNs, status 410)",
    "bad0": "BadDeviceToken (APNs, status 400)",
    "5b10": "TooManyRequests (APNs, status 429)",
    "5e7e": "status 503",
}


@pytest.fixture
def bench(broker, benches):
    return benches(broker, 1)


@pytest.fixture
def server(tmp_path):
    """Starts servers: `server("nginx", …)`; skips the test if the server is not installed."""
    with contextlib.ExitStack() as stack:

        def start(name, *arguments):
            if foreign_servers.program(name) is None:
                pytest.skip(f"{name} is not installed; run scripts/setup")
            make = getattr(foreign_servers, name)
            return stack.enter_context(make(tmp_path / name, *arguments))

        yield start


def push(bench, server, folder, token, *arguments):
    path = folder / "push.yaml"
    path.write_text(yaml.safe_dump(bench.configuration(server)))
    command = [built_binary("heliograph"), "push", "--config", path]
    command += ["--token", token, "--bundle-id", APP, "--alert", "Hello", *arguments]
    return subprocess.run(
        list(map(str, command)), capture_output=True, timeout=60, env=clean_environment()
    )


def device_token(prefix, number):
    return f"{prefix}{number:060x}"


@pytest.mark.parametrize("token, status", [(TOKEN, 200), ("00" * 32, 404)])
def test_push_reaches_nghttpd(bench, server, tmp_path, token, status):
    nghttpd = server("nghttpd", TOKEN, "-m", "1", "-c", "0", "-w", "5")
    done = push(bench, nghttpd, tmp_path, token)
    said = done.stdout.decode()
    assert f"< :status: {status}" in said, (said, done.stderr)
    assert done.returncode == (0 if status == 200 else 1)


@pytest.mark.parametrize("name", ["nginx", "caddy"])
def test_push_understands_the_answers_of_nginx_and_go(bench, server, tmp_path, name):
    """Also an answer before the end of the request, as nginx sends it."""
    foreign = server(name)
    for prefix, meaning in MEANINGS.items():
        status, body = ANSWERS.get(prefix, (200, ""))
        done = push(bench, foreign, tmp_path, device_token(prefix, 1), "--collapse-id", "line")
        said = done.stdout.decode()
        assert f"< :status: {status}" in said, (said, done.stderr)
        assert body in said and meaning in said, said
        assert done.returncode == (0 if status == 200 else 1)


@pytest.mark.core
@pytest.mark.parametrize("name", ["nginx", "caddy"])
def test_outcomes_match_the_answers_of_nginx_and_go(bench, server, name):
    expected = {"a11c": "accepted", "dead": "unregistered", "bad0": "rejected"}
    expected |= {"5b10": "undeliverable", "5e7e": "undeliverable"}
    foreign = server(name)
    count = {"a11c": 200, "dead": 30, "bad0": 3, "5b10": 1, "5e7e": 1}
    bench.produce(
        [
            record(new_event(device_token=device_token(prefix, number)))
            for prefix, times in count.items()
            for number in range(times)
        ]
    )
    service = bench.run(foreign, retry={"attempts": 2})
    bench.wait_for_outcomes(sum(count.values()), service=service)
    outcomes = [outcome for _, outcome in outcomes_of(bench.kafka, bench.topics)]
    found = collections.Counter(
        (outcome["device_token"][:4], outcome["outcome"]) for outcome in outcomes
    )
    assert found == {(prefix, expected[prefix]): times for prefix, times in count.items()}
    assert {outcome["http_status"] for outcome in outcomes} == {200, 410, 400, 429, 503}
    unregistered = [outcome for outcome in outcomes if outcome["outcome"] == "unregistered"]
    assert {outcome["unregistered_at"] for outcome in unregistered} == {1767225600000}


def test_bodies_reach_nginx_unchanged_through_small_windows(bench, server):
    nginx = server("nginx", "http2_body_preread_size 100;", "http2_max_concurrent_streams 3;")
    texts = [f"{number} " + "x" * 3000 for number in range(40)]
    sent = [new_event(payload={"aps": {"alert": text}}) for text in texts]
    bench.produce([record(event) for event in sent])
    service = bench.run(nginx)
    bench.wait_for_outcomes(len(sent), service=service)
    bench.wait_until_settled(service=service)
    # nginx logs a request after it has answered it.
    eventually(lambda: len(nginx.requests()) >= len(sent), 60, "nginx to log each request")
    bodies = {request["token"]: request["body"] for request in nginx.requests()}
    for event in sent:
        text = event["payload"]["aps"]["alert"]
        expected = f'{{"aps":{{"alert":"{text}"}}}}'
        assert bodies[f"/3/device/{event['device_token']}"] == expected


def test_goaway_from_nginx_loses_and_repeats_nothing(bench, server):
    """nginx sends GOAWAY after every twelfth request, and ignores later streams."""
    nginx = server("nginx", "keepalive_requests 12;")
    count = 60
    bench.produce([record(new_event()) for _ in range(count)])
    service = bench.run(nginx)
    bench.wait_for_outcomes(count, service=service)
    outcomes = [outcome for _, outcome in outcomes_of(bench.kafka, bench.topics)]
    told = {(outcome["outcome"], outcome["attempts"]) for outcome in outcomes}
    assert told == {("accepted", 1)}
    eventually(lambda: len(nginx.requests()) >= count, 60, "nginx to log each request")
    requests = nginx.requests()
    assert len({request["id"] for request in requests}) == len(requests) == count
    used = collections.Counter(request["connection"] for request in requests)
    assert len(used) >= count / 12 and max(used.values()) <= 12
    assert service.log_lines("APNs closed a connection")
