"""A peer on Python's h2 that answers as APNs should not, or goes away: how it is reported and handled."""

import datetime
import email.utils
import functools
import json
import subprocess
import unicodedata

import pytest
import yaml

from harness.deadlines import eventually
from harness.events import APP, new_event, record
from harness.processes import built_binary, clean_environment
from harness.service import outcomes_of

LOST = "APNs connection failed"
GOING = "APNs closed a connection"
REFUSED = "APNs rejected the credential"
MALFORMED = "malformed APNs response, treated as no answer"
CLOCK = "which rejects provider tokens that are an hour off; correct the clock first"
ANSWERS = [
    (200, None), (201, None), (202, None), (204, None),
    (400, None), (400, "Unregistered"), (400, "badDeviceToken"), (400, "BadDeviceToken"),
    (400, "PayloadTooLarge"), (403, None), (403, "Unregistered"), (404, "BadDeviceToken"),
    (410, None), (410, "BadDeviceToken"), (410, "ExpiredToken"), (410, "Shutdown"),
    (410, "Unregistered"), (413, None), (418, "Unregistered"),
    (500, "Unregistered"), (503, "BadDeviceToken"),
]  # fmt: skip
DAY = 24 * 60 * 60 * 1000
SINCE = 1_754_006_400_000


@pytest.fixture
def bench(broker, benches):
    return benches(broker, 1)


@pytest.fixture
def peer(peer):
    return functools.partial(peer, max_concurrent_streams=100)


@pytest.fixture
def command(bench, tmp_path):
    """Runs a command: (exit code, standard output, standard error)."""

    def run(server, name, *arguments):
        settings = bench.configuration(server)
        address = server.ready["production"]
        settings["apns"]["endpoints"]["management_production"] = address
        path = tmp_path / "command.yaml"
        path.write_text(yaml.safe_dump(settings))
        words = [built_binary("heliograph"), *name.split(), "--config", path, *arguments]
        done = subprocess.run(
            list(map(str, words)), capture_output=True, timeout=60, env=clean_environment()
        )
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return run


@pytest.fixture
def push(command):
    def run(server, token="a11ce000" + "5e" * 28):
        return command(
            server, "push", "--token", token, "--bundle-id", APP, "--alert", "Hello"
        )

    return run


def numbered(number):
    """A device token that tells the peer which answer to give."""
    return f"{number:04x}" + "5e" * 30


def number_of(request):
    return int(request[":path"].removeprefix("/3/device/")[:4], 16)


def error_body(reason, **members):
    return json.dumps({"reason": reason, **members}).encode()


def always(status, body=b"", **headers):
    return lambda connection, request: connection.answer(request, status, body, **headers)


def outcomes_by_number(bench):
    outcomes = [outcome for _, outcome in outcomes_of(bench.kafka, bench.topics)]
    return {int(outcome["device_token"][:4], 16): outcome for outcome in outcomes}


def metric(service, series):
    lines = dict(line.rsplit(" ", 1) for line in service.fetch("/metrics")[1].splitlines())
    return int(lines[series])


@pytest.mark.core
def test_push_agrees_with_the_service(bench, peer, push):
    def script(connection, request):
        status, reason = ANSWERS[number_of(request)]
        connection.answer(request, status, error_body(reason) if reason else b"")

    server = peer(script)
    numbers = range(len(ANSWERS))
    bench.produce([record(new_event(device_token=numbered(number))) for number in numbers])
    service = bench.run(server, retry={"attempts": 1})
    bench.wait_for_outcomes(len(ANSWERS), service=service)
    outcomes = outcomes_by_number(bench)
    for number in numbers:
        outcome, answer = outcomes[number], ANSWERS[number]
        code, out, _ = push(server, numbered(number))
        assert code == (0 if outcome["outcome"] == "accepted" else 1), (answer, out)
        assert ("accepted: APNs has it." in out) == (code == 0), (answer, out)
        if answer[0] != 200:
            said = [line for line in out.splitlines() if "Token action:" in line]
            assert said == [f"  Token action: {outcome['token_action']}"], (answer, out)
        if outcome["outcome"] in ("rejected", "unregistered"):
            assert f"Final: outcome `{outcome['outcome']}`." in out, (answer, out)
    removed = [number for number in numbers if outcomes[number]["token_action"] == "remove"]
    assert [ANSWERS[number][0] for number in removed] == [410] * 4


@pytest.mark.parametrize("seconds, words", [(3660, "behind"), (-3660, "ahead of"), (0, None)])
def test_a_wrong_clock_is_reported_before_key_and_team(bench, peer, command, push, seconds, words):
    def script(connection, request):
        now = datetime.datetime.now(datetime.timezone.utc)
        date = email.utils.format_datetime(now + datetime.timedelta(seconds=seconds), usegmt=True)
        connection.answer(request, 403, error_body("InvalidProviderToken"), date=date)

    server = peer(script)
    _, out, _ = push(server)
    _, _, err = command(server, "channels list", "--bundle-id", APP)
    bench.produce([record(new_event())])
    service = bench.run(server)
    eventually(lambda: service.log_lines(REFUSED), 60, service.child.output)
    [line] = service.log_lines(REFUSED)
    for said in (out, err):
        assert "`team_id`" in said, said
        assert (CLOCK in said.split("`team_id`")[0]) == bool(words), said
    if words:
        assert all(f" s {words} APNs'" in said for said in (out, err, line["problem"]))
    else:
        assert "problem" not in line


STEERING = 'a\x1b]0;x\x07\x1b[2J\x9b2J\u202e\x7f"'
LISTED = json.dumps({"channels": [STEERING, "b\nheliograph: done"]}).encode()
POLICY = json.dumps({"message-storage-policy": 0, "push-type": STEERING}).encode()
CHANNEL = ("--channel", "dHN0", "--bundle-id", APP)


def steering_in(text):
    return {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}


@pytest.mark.parametrize(
    "words, answer",
    [
        ("push", (400, STEERING.encode())),
        ("push", (400, error_body(STEERING))),
        ("push", (200, b"<html>\r\naccepted\x1b[2J")),
        ("push", (400, b"\xff\x9b\x1bc\x00")),
        ("push", (400, b"\x1b" * 16_000)),
        ("channels read", (200, POLICY)),
        ("channels read --json", (200, POLICY)),
        ("channels list", (200, LISTED)),
        ("channels list --json", (200, LISTED)),
        ("channels delete", (400, error_body(STEERING))),
        ("channels delete --json", (400, error_body(STEERING))),
        ("push", STEERING.encode()),
        ("push", error_body(STEERING)),
        ("channels read", error_body(STEERING)),
    ],
)
def test_no_peer_can_control_the_terminal(peer, command, push, words, answer):
    """With a body, a header field, or the text of a GOAWAY."""

    def script(connection, request):
        fields = {"x-odd": "a\x9b2J\u202e", "x-long": "x" * 8_000}
        connection.answer(request, *answer, **fields)

    server = peer(script)
    if isinstance(answer, bytes):
        server.farewell = answer
    if words == "push":
        _, out, err = push(server)
    else:
        arguments = CHANNEL if " list" not in words else CHANNEL[2:]
        _, out, err = command(server, words, *arguments)
    assert steering_in(out) <= {"\n"} and steering_in(err) <= {"\n"}, (out, err)
    assert out or err
    assert len(out) < 8_000 and len(err) < 8_000
    assert "\nheliograph: done" not in out
    if "--json" in words and answer[1] == LISTED:
        assert json.loads(out)["channels"] == json.loads(LISTED)["channels"]


def test_no_reason_puts_control_characters_into_readiness(bench, peer):
    server = peer(always(403, error_body(STEERING)))
    bench.produce([record(new_event())])
    service = bench.start(bench.configuration(server))
    bench.wait_for_outcomes(1, service=service)
    eventually(lambda: "a?]0;x??[2J" in service.fetch("/ready")[1], 60, service.child.output)
    assert steering_in(service.fetch("/ready")[1]) <= {"\n"}
    assert not any(map(steering_in, service.child.lines("stderr")))


@pytest.mark.core
def test_the_reason_of_a_goaway_before_settings_parks_the_credential(bench, peer, push):
    server = peer()
    server.farewell = error_body("BadCertificateEnvironment")
    code, out, err = push(server)
    assert (code, out) == (1, "")
    assert "GOAWAY NO_ERROR: BadCertificateEnvironment\n" in err
    assert "Correct the credential's certificate or its `environment`." in err

    service = bench.start(bench.configuration(server))
    bench.produce([record(new_event())])
    eventually(lambda: service.log_lines(REFUSED), 60, service.child.output)
    eventually(
        lambda: "parked: BadCertificateEnvironment" in service.fetch("/ready")[1],
        60,
        service.child.output,
    )
    [line] = service.log_lines(REFUSED)
    assert (line["level"], line["reason"]) == ("error", "BadCertificateEnvironment")
    assert (line["credential"], line["environment"]) == ("example", "production")
    assert not service.log_lines(LOST) and not service.log_lines(GOING)
    reason = 'heliograph_apns_goaway_total{reason="BadCertificateEnvironment"}'
    assert metric(service, reason) == 1


def test_a_goaway_takes_one_log_line_with_its_reason(bench, peer):
    """One that rejects the credential, and one with a proxy's text."""

    def script(connection, request):
        debug = server.debug.pop(0) if server.debug else None
        if debug is None:
            connection.answer(request)
            return
        connection.send_goaway(0, debug[0], debug[1])
        # As APNs does: a second, empty GOAWAY, then the close.
        connection.send_goaway(0)
        connection.close()

    server = peer(script)
    server.debug = [(b"too_many_pings", 11), (b'{"reason":"InvalidProviderToken"}', 0)]
    bench.produce([record(new_event())])
    service = bench.run(server)
    eventually(lambda: service.log_lines(REFUSED), 60, service.child.output)
    [line] = service.log_lines(REFUSED)
    assert line["reason"] == "InvalidProviderToken"
    first = service.log_lines(GOING)[0]
    assert (first["level"], first["reason"]) == ("warning", "none")
    assert first["error"] == "GOAWAY ENHANCE_YOUR_CALM: too_many_pings"
    assert not service.log_lines(LOST)


def test_a_malformed_answer_is_not_reported_as_a_reset(bench, peer, push):
    count = 0

    def script(connection, request):
        nonlocal count
        count += 1
        if count <= 2:
            connection.answer(request, 200, b"{}", **{"content-length": "7"})
        else:
            connection.answer(request)

    server = peer(script)
    code, out, err = push(server)
    flaw = "a body whose length differs from content-length"
    assert (code, out) == (1, "")
    assert f"the answer is malformed: {flaw}" in err and "reset" not in err
    bench.produce([record(new_event())])
    service = bench.run(server)
    bench.wait_for_outcomes(1, service=service)
    [line] = service.log_lines(MALFORMED)
    assert (line["level"], line["error"]) == ("warning", flaw)
    assert (line["credential"], line["environment"]) == ("example", "production")


def test_an_invalid_time_is_left_out_and_counted(bench, peer):
    now = int(datetime.datetime.now().timestamp() * 1000)
    times = [
        SINCE, now, now + DAY // 2, 1_230_768_000_000,
        0, -5, SINCE // 1000, SINCE * 1000, now + 2 * DAY, 1_230_767_999_999, "soon", 1.5, None,
    ]  # fmt: skip

    def script(connection, request):
        body = error_body("Unregistered", timestamp=times[number_of(request)])
        connection.answer(request, 410, body)

    server = peer(script)
    bench.produce([record(new_event(device_token=numbered(n))) for n in range(len(times))])
    service = bench.run(server)
    bench.wait_for_outcomes(len(times), service=service)
    outcomes = outcomes_by_number(bench)
    told = [outcomes[number].get("unregistered_at") for number in range(len(times))]
    # A time in the future is invalid, so the current time counts.
    assert now <= told[2] < now + DAY // 2
    told[2] = times[2]
    assert told == times[:4] + [None] * (len(times) - 4)
    assert {outcome["outcome"] for outcome in outcomes.values()} == {"unregistered"}
    # Null means no time, and is not an error.
    counted = len(times) - 5
    series = "heliograph_apns_implausible_times_total"
    eventually(lambda: metric(service, series) == counted, 60, service.child.output)
