"""The APNs simulator against third-party HTTP/2 clients."""

import asyncio
import json
import re
import socket
import ssl
import subprocess
import time

import aioapns
import pytest
from aioapns.connection import APNsProductionClientProtocol

from harness.curl import APP, curl, provider_token, push
from harness.deadlines import eventually
from harness.processes import built_binary, clean_environment

TOKEN = "a11ce000" + "5e" * 28
DEAD = "dead0000" + "5e" * 28
PHONE = "0ff11e00" + "5e" * 28
# In bytes; see ControlServer.
LONGEST_SCENARIO = 16_777_215
SCENARIO = {
    "rules": [
        {"prefix": "dead", "is": "unregistered", "since": 1767225600123},
        {"prefix": "0ff1", "is": "alive", "offline": True},
        {"prefix": "5117", "is": "half-close"},
        {"prefix": "6a4b", "is": "garbage"},
    ]
}


@pytest.fixture
def simulator(simulators, tmp_path):
    certificate = tmp_path / "client.pem"
    options = ["--control-port", 0, "--remember-devices", 100, "--write-certificate", certificate]
    return simulators(SCENARIO, options)


@pytest.mark.core
def test_curl_gets_an_answer_over_http_2(simulator):
    status, fields, body = push(simulator, TOKEN, environment="sandbox")
    assert (status, body) == (200, "")
    assert fields["apns-id"] == fields["apns-id"].upper()
    assert fields["apns-unique-id"] and fields["date"].endswith(" GMT")
    status, fields, body = push(simulator, DEAD)
    assert (status, fields["content-type"]) == (410, "application/json")
    assert json.loads(body) == {"reason": "Unregistered", "timestamp": 1767225600123}


@pytest.mark.parametrize(
    "words, options, status, reason",
    [
        ([], {"jwt_token": None}, 403, "MissingProviderToken"),
        ([], {"jwt_token": "a.b.c"}, 403, "InvalidProviderToken"),
        ([], {"body": ""}, 400, "PayloadEmpty"),
        ([], {"body": "x" * 4097}, 413, "PayloadTooLarge"),
        (["-H", "apns-priority: 3"], {}, 400, "BadPriority"),
        (["-H", "apns-push-type: background"], {}, 200, None),
        (["-X", "PUT"], {}, 405, "MethodNotAllowed"),
        (["-H", "apns-id: 1", "-H", "apns-id: 2"], {}, 400, "DuplicateHeaders"),
    ],
)
def test_curl_gets_the_reason_of_a_refusal(simulator, words, options, status, reason):
    found, _, body = push(simulator, TOKEN, *words, **options)
    assert found == status, body
    assert (json.loads(body)["reason"] if body else None) == reason


@pytest.mark.parametrize("token", ["5117" + "00" * 30, "6a4b" + "00" * 30])
def test_curl_notices_a_broken_connection(simulator, token):
    status, _, complaint = push(simulator, token, "--max-time", "20")
    assert status is None and complaint.startswith("curl:")
    assert push(simulator, TOKEN)[0] == 200


def test_http_1_is_refused(simulator):
    status, _, complaint = push(simulator, TOKEN, "--http1.1")
    assert status is None and "curl:" in complaint


def test_nghttp_sees_the_settings_of_apple(simulator, tmp_path):
    body = tmp_path / "body.json"
    body.write_text("{}")
    done = subprocess.run(
        [
            "nghttp", "-nv", "-d", body, "-H", ":method: POST", "-H", f"apns-topic: {APP}",
            "-H", f"authorization: bearer {provider_token(simulator)}",
            f"{simulator.ready['production']}/3/device/{TOKEN}",
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )  # fmt: skip
    said = done.stdout
    first, second = said.index("MAX_CONCURRENT_STREAMS(0x03):1]"), said.index("0x03):1000]")
    assert first < second < said.index(":status: 200"), said
    for setting in ["HEADER_TABLE_SIZE(0x01):4096", "INITIAL_WINDOW_SIZE(0x04):65535",
                    "MAX_FRAME_SIZE(0x05):16384", "MAX_HEADER_LIST_SIZE(0x06):8000"]:  # fmt: skip
        assert setting in said


def test_h2load_gets_an_answer_to_every_request(simulator, tmp_path):
    body = tmp_path / "body.json"
    body.write_text("{}")
    done = subprocess.run(
        [
            "h2load", "-n", "2000", "-c", "2", "-m", "100", "-d", body, "-H", ":method: POST",
            "-H", f"authorization: bearer {provider_token(simulator)}",
            "-H", f"apns-topic: {APP}", f"{simulator.ready['production']}/3/device/{TOKEN}",
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )  # fmt: skip
    said = re.search(r"2000 done, (\d+) succeeded, (\d+) failed, .* 0 timeout", done.stdout)
    assert said, done.stdout
    succeeded, failed = map(int, said.groups())
    # It does not wait for SETTINGS, so 99 of each client's first 100 streams may be refused.
    assert succeeded + failed == 2000 and failed <= 2 * 99
    status, counted = simulator.control("GET", "/statistics")
    assert (status, counted["accepted"]) == (200, succeeded)


def send_with_aioapns(simulator, tokens, **credential):
    """The statuses and reasons that aioapns gets when it sends all at once."""
    port = int(simulator.ready["production"].rsplit(":", 1)[1])

    class Protocol(APNsProductionClientProtocol):
        APNS_SERVER, APNS_PORT = "localhost", port

    async def run():
        trust = ssl.create_default_context(cafile=simulator.ready["ca_file"])
        trust.set_alpn_protocols(["h2"])
        if "client_cert" in credential:
            trust.load_cert_chain(credential["client_cert"])
        client = aioapns.APNs(topic=APP, ssl_context=trust, max_connections=1, **credential)
        client.pool.protocol_class = Protocol
        try:
            # The first one alone, as Apple asks: it proves the token.
            results = []
            for group in (tokens[:1], tokens[1:]):
                requests = [
                    aioapns.NotificationRequest(token, {"aps": {"alert": "x"}})
                    for token in group
                ]
                results += await asyncio.gather(*map(client.send_notification, requests))
            return [(result.status, result.description) for result in results]
        finally:
            client.pool.close()

    return asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.parametrize("credential", ["token", "certificate"])
def test_aioapns_can_send(simulator, credential):
    ready = simulator.ready
    if credential == "token":
        with open(ready["key_file"]) as file:
            key = file.read()
        options = {"key": key, "key_id": ready["key_id"], "team_id": ready["team_id"]}
    else:
        options = {"client_cert": ready["certificate_file"]}
    tokens = [TOKEN] + [f"{number:064x}" for number in range(99)] + [DEAD]
    results = send_with_aioapns(simulator, tokens, **options)
    assert results[:-1] == [("200", None)] * 100
    assert results[-1] == ("410", "Unregistered")
    assert len(simulator.accepted()) == 100


def test_the_timing_log_has_the_duration_of_each_answer(simulators, tmp_path):
    log = tmp_path / "timing.ndjson"
    simulator = simulators(SCENARIO, ["--timing-log", log])
    broken = "5117" + "00" * 30
    for token in (TOKEN, broken, DEAD):
        push(simulator, token, "--max-time", "20")
    # A line is written after its answer.
    eventually(lambda: log.read_text().count("\n") == 2, 60, log.read_text)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["token"] for line in lines] == [TOKEN, DEAD]
    assert all(line["held_us"] >= 0 for line in lines)


# The control endpoint


def test_a_device_gets_stored_notifications_when_it_is_back(simulator):
    later = f"apns-expiration: {int(time.time()) + 600}"
    for words in [("-H", later), ("-H", later), ("-H", "apns-expiration: 0")]:
        assert push(simulator, PHONE, *words)[0] == 200
    _, device = simulator.control("GET", f"/devices/{PHONE.upper()}")
    assert (device["received"], len(device["stored"]), device["lost"]) == ([], 1, 2)
    assert simulator.control("POST", f"/devices/{PHONE}/online")[0] == 204
    _, device = simulator.control("GET", f"/devices/{PHONE}")
    assert (len(device["received"]), device["stored"], device["offline"]) == (1, [], False)
    assert json.loads(device["received"][0]["payload"]) == {"aps": {"alert": "x"}}
    assert simulator.control("DELETE", "/devices")[0] == 204
    assert simulator.control("GET", f"/devices/{PHONE}")[0] == 404


def test_of_one_collapse_id_the_newest_is_displayed(simulator):
    for text in ["one", "two"]:
        push(simulator, TOKEN, "-H", "apns-collapse-id: score", body=json.dumps({"t": text}))
    _, device = simulator.control("GET", f"/devices/{TOKEN}")
    assert len(device["received"]) == 2
    assert [json.loads(shown["payload"]) for shown in device["displayed"]] == [{"t": "two"}]


def test_a_scenario_can_be_replaced(simulator):
    assert push(simulator, TOKEN)[0] == 200
    faults = {"faults": [{"is": "503 html", "retry_after": 7}], "clock_offset_s": 86400}
    assert simulator.control("POST", "/scenario", faults)[0] == 204
    # Today's token is too old for a clock that is a day ahead.
    assert json.loads(push(simulator, TOKEN)[2])["reason"] == "ExpiredProviderToken"
    fresh = provider_token(simulator, iat=int(time.time()) + 86400)
    status, fields, body = push(simulator, TOKEN, jwt_token=fresh)
    assert (status, fields["retry-after"]) == (503, "7") and body.startswith("<html>")
    status, mistake = simulator.control("POST", "/scenario", {"rules": 1})
    assert (status, mistake) == (400, {"error": "rules: not an array"})


def test_a_fault_affects_every_connection(simulator):
    status, answer = simulator.control("POST", "/fault", {"is": "goaway Shutdown"})
    assert (status, answer) == (200, {"connections": 0})
    assert simulator.control("POST", "/fault", {"is": "sunshine"})[0] == 400
    assert simulator.control("GET", "/fault")[0] == 405
    assert simulator.control("GET", "/nowhere")[0] == 404


def upload(simulator, tmp_path, byte_count, *words):
    """The status of uploading a scenario of this length with curl."""
    names = [f"{number:064x}" for number in range(min(byte_count // 100, 20_000))]
    scenario = json.dumps({"rules": [{"token": name, "is": "expired"} for name in names]})
    assert len(scenario) <= byte_count
    file = tmp_path / "scenario.json"
    file.write_text(scenario.ljust(byte_count))
    command = ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", *words]
    command += ["--data-binary", f"@{file}", f"{simulator.ready['control']}/scenario"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return int(done.stdout), done.stderr


@pytest.mark.parametrize(
    "byte_count, words, status",
    [
        (1_000, [], 204),
        # curl waits for 100 Continue from 1 MiB on, or on request.
        (2_000_000, [], 204),
        (2_000_000, ["-H", "Expect:"], 204),
        (1_000, ["-H", "Expect: 100-continue"], 204),
        (LONGEST_SCENARIO, [], 204),
        (LONGEST_SCENARIO + 1, [], 413),
        (LONGEST_SCENARIO + 1, ["-H", "Expect:"], 413),
        (1_000, ["-H", "Transfer-Encoding: chunked"], 411),
    ],
)
def test_a_scenario_can_be_large_up_to_a_reported_limit(
    simulator, tmp_path, byte_count, words, status
):
    assert upload(simulator, tmp_path, byte_count, *words) == (status, "")
    # The next request is served, whatever happened to the rest of this one.
    assert simulator.control("GET", "/statistics")[0] == 200


# Broadcasts


def test_a_channel_can_be_created_and_broadcast_to(simulator):
    token = provider_token(simulator)
    base = f"{simulator.ready['sandbox_channels']}/1/apps/{APP}"

    def ask(path, *words, **options):
        return curl(simulator, base + path, *words, jwt_token=token, **options)

    wish = '{"message-storage-policy":1,"push-type":"LiveActivity"}'
    status, fields, body = ask("/channels", body=wish)
    assert (status, body) == (201, "")
    channel = ["-H", f"apns-channel-id: {fields['apns-channel-id']}"]
    status, _, body = ask("/channels", *channel)
    assert (status, json.loads(body)) == (200, json.loads(wish))
    _, _, body = ask("/all-channels")
    assert json.loads(body) == {"channels": [fields["apns-channel-id"]]}

    url = f"{simulator.ready['sandbox']}/4/broadcasts/apps/{APP}"
    words = [*channel, "-H", "apns-push-type: liveactivity", "-H", "apns-priority: 5"]
    words += ["-H", f"apns-expiration: {int(time.time()) + 60}"]
    status, fields, body = curl(simulator, url, *words, jwt_token=token, body='{"aps":{}}')
    assert (status, body) == (200, "") and fields["apns-request-id"] and fields["apns-unique-id"]
    [known] = simulator.control("GET", "/channels")[1]
    assert (known["broadcasts"], known["newest"]) == (1, '{"aps":{}}')

    assert ask("/channels", "-X", "DELETE", *channel)[0] == 204
    status, _, body = curl(simulator, url, *words, jwt_token=token, body="{}")
    assert (status, json.loads(body)["reason"]) == (400, "ChannelNotRegistered")


# Errors at startup


@pytest.mark.parametrize(
    "option, words",
    [
        ("--write-ca", "--write-ca '{lost}' cannot be written: No such file or directory"),
        ("--write-key", "--write-key '{lost}' cannot be written: No such file or directory"),
        ("--write-certificate", "--write-certificate '{lost}' cannot be written: No such file"),
        ("--keys", "key file '{lost}' cannot be read"),
        ("--scenario", "scenario file '{lost}' cannot be read"),
        ("--request-log", "request log '{lost}' cannot be opened"),
        ("--sandbox-port", "cannot listen on 127.0.0.1:{port}: Address already in use"),
        ("--production-channels-port", "cannot listen on 127.0.0.1:{port}: Address already in use"),
        ("--control-port", "control port {port}: Address already in use"),
    ],
)
def test_a_mistake_takes_one_line(tmp_path, option, words):
    lost = str(tmp_path / "lost" / "file")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        options = {"--write-ca": tmp_path / "ca.pem", "--write-key": tmp_path / "key.p8"}
        options |= {option: port if "port" in option else lost}
        command = [built_binary("heliograph-lab"), "simulate-apns"]
        for name, value in options.items():
            command += [name, str(value)]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=60, env=clean_environment()
        )
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    [line] = done.stderr.splitlines()
    assert line.startswith("heliograph-lab: " + words.format(lost=lost, port=port))


def test_a_key_that_cannot_be_created_takes_one_line(tmp_path):
    lost = str(tmp_path / "lost" / "key.p8")
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps([{"key_id": "A" * 10, "team_id": "B" * 10, "file": lost}]))
    command = [built_binary("heliograph-lab"), "simulate-apns", "--keys", str(keys)]
    command += ["--write-ca", str(tmp_path / "ca.pem"), "--write-key", str(tmp_path / "key.p8")]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=clean_environment()
    )
    assert done.returncode == 1
    assert f"key file '{lost}' cannot be written" in done.stderr and "NSError" not in done.stderr
