"""The client's bytes on the wire, checked by HTTP/2 servers that share no code with it."""

import collections
import contextlib
import socket
import ssl
import subprocess
import urllib.parse
import warnings

import hyperframe.frame
import pytest
import yaml

from harness.addresses import black_hole, broken_server, environment, move, silent_server
from harness.deadlines import eventually
from harness.events import APP, new_event, record
from harness.processes import built_binary, clean_environment
from harness.service import outcomes_of
from harness.strict_peer import P256, RSA

# apns-spec.md 4.2, Rule A. "Never indexed" is "without indexing" that proxies must preserve.
UNINDEXED = {":path", "authorization"}
ONCE = {"apns-id", "apns-expiration", "apns-collapse-id"}
TOKEN = "a11ce000" + "5e" * 28


@pytest.fixture
def bench(broker, benches):
    return benches(broker, 1)


def push(bench, peer, folder, *arguments, variables=None):
    path = folder / "push.yaml"
    path.write_text(yaml.safe_dump(bench.configuration(peer)))
    command = [built_binary("heliograph"), "push", "--config", path]
    command += ["--token", TOKEN, "--bundle-id", APP, "--alert", "Hello", *arguments]
    return subprocess.run(
        list(map(str, command)),
        capture_output=True,
        timeout=60,
        env={**clean_environment(), **(variables or {})},
    )


def frames_named(connection, name):
    return [frame for frame in connection.frames if type(frame).__name__ == f"{name}Frame"]


def events_with_all_headers(count):
    return [
        record(new_event(collapse_id=f"line-{number}", expiration=4102444800 + number))
        for number in range(count)
    ]


def accepted_count(bench):
    outcomes = [outcome for _, outcome in outcomes_of(bench.kafka, bench.topics)]
    assert {outcome["outcome"] for outcome in outcomes} <= {"accepted"}, outcomes
    return len(outcomes)


@pytest.mark.core
def test_header_fields_are_encoded_as_apple_asks(bench, peer):
    """Also: only one stream until the first answer, whatever the SETTINGS allow."""
    server = peer(max_concurrent_streams=1000)
    bench.produce(events_with_all_headers(200))
    bench.run(server)
    bench.wait_for_outcomes(200)
    assert accepted_count(bench) == 200
    # A slow peer gets a second connection.
    used = [connection for connection in server.connections if connection.requests]
    assert used
    for connection in used:
        first = [request for request in connection.requests if not request.answers_before]
        assert [request.open_streams for request in first] == [1]
        check_representations(connection)


def check_representations(connection):
    seen = set()
    for request in connection.requests:
        for field in request.fields:
            if field.name in UNINDEXED:
                expected = {"never"}
            elif field.name in ONCE:
                expected = {"never"} if field.name in seen else {"incremental"}
            else:
                expected = {"indexed"} if (field.name, field.value) in seen else {"incremental"}
                if field.name in (":method", ":scheme"):
                    expected = {"indexed"}
            assert field.how in expected, (request.stream, field)
            seen |= {field.name, (field.name, field.value)}
    assert seen >= UNINDEXED | ONCE | {"apns-topic", "apns-push-type", ":authority"}


def test_device_tokens_of_any_length_arrive(bench, peer):
    server = peer(max_concurrent_streams=10)
    tokens = ["5e" * count for count in (1, 31, 32, 33, 80, 255, 256, 513, 3300)]
    bench.produce([record(new_event(device_token=token)) for token in tokens])
    bench.run(server)
    bench.wait_for_outcomes(len(tokens))
    assert accepted_count(bench) == len(tokens)
    assert sorted(request[":path"] for request in server.requests) == sorted(
        f"/3/device/{token}" for token in tokens
    )


@pytest.mark.parametrize("size", [0, 128, 256, 400, 4096])
def test_names_are_indexed_once_whatever_the_table_holds(bench, peer, size):
    """The entries of 150 topics evict those of names, at once or later."""
    server = peer(max_concurrent_streams=100, header_table_size=size)
    topics = [f"com.apple.mgmt.{number % 150}" for number in range(400)]
    bench.produce(
        [
            record(new_event(bundle_id=topic, collapse_id=f"line-{n}", expiration=4102444800 + n))
            for n, topic in enumerate(topics)
        ]
    )
    bench.run(server)
    bench.wait_for_outcomes(400)
    assert accepted_count(bench) == 400
    assert sorted(request["apns-topic"] for request in server.requests) == sorted(topics)
    used = [connection for connection in server.connections if connection.requests]
    for connection in used:
        fields = [field for request in connection.requests for field in request.fields]
        for name in ONCE:
            how = [field.how for field in fields if field.name == name]
            others = ["never"] * (len(connection.requests) - 1)
            assert how == ["incremental" if size else "never", *others], name


def test_frames_are_those_that_apple_expects(bench, peer):
    server = peer(max_concurrent_streams=1000)
    bench.produce(events_with_all_headers(50))
    bench.run(server)
    bench.wait_for_outcomes(50)
    [connection] = server.connections
    assert type(connection.frames[0]).__name__ == "SettingsFrame"
    settings = connection.frames[0].settings
    assert settings[2] == 0, "ENABLE_PUSH"
    assert settings[6] == 16384, "MAX_HEADER_LIST_SIZE"
    assert not frames_named(connection, "Priority")
    headers = frames_named(connection, "Headers")
    assert len(headers) == 50
    assert not [frame for frame in headers if "PRIORITY" in frame.flags]
    assert not frames_named(connection, "RstStream")


class Waves:
    """Answers once no more requests arrive, which a PING's round trip shows."""

    def __init__(self):
        self.limits = [1, 40, 3, 1, 25]
        self.counts = []
        self._is_asking = False

    def request(self, connection, request):
        if not self._is_asking:
            self._is_asking = True
            connection.ping(b"waiting!")

    def ping_answered(self, connection, octets):
        self._is_asking = False
        waiting = [request for request in connection.unanswered if request.is_whole]
        self.counts.append(len(waiting))
        if self.limits:
            connection.settings(max_concurrent_streams=self.limits.pop(0))
        for request in waiting:
            connection.answer(request)
        if connection.unanswered:
            self.request(connection, None)


def test_the_stream_limit_is_obeyed_down_to_one_and_up_again(bench, peer):
    """h2 raises an error if a client opens more streams than its acknowledged SETTINGS allow."""
    waves = Waves()
    server = peer(waves.request, max_concurrent_streams=1)
    server.ping_answered = waves.ping_answered
    bench.produce([record(new_event()) for _ in range(150)])
    bench.run(server, apns={"connections": {"max": 1}})
    bench.wait_for_outcomes(150)
    assert accepted_count(bench) == 150
    [connection] = server.connections
    assert waves.counts[0] == 1
    assert max(request.open_streams for request in connection.requests) in range(25, 41)


def test_small_windows_are_respected(bench, peer):
    """h2 raises an error if DATA exceeds a window."""
    server = peer(max_concurrent_streams=100, initial_window_size=37)
    text = "x" * 3000
    sent = [new_event(payload={"aps": {"alert": text}}) for _ in range(60)]
    bench.produce([record(event) for event in sent])
    bench.run(server)
    bench.wait_for_outcomes(60)
    assert accepted_count(bench) == 60
    for request in server.requests:
        assert text.encode() in request.body


def test_an_idle_connection_gets_pings(bench, peer):
    server = peer(max_concurrent_streams=100)
    bench.produce([record(new_event())])
    bench.run(server, apns={"ping_after_idle": "100ms"})

    def pings():
        found = [frame for each in server.connections for frame in frames_named(each, "Ping")]
        return len([frame for frame in found if "ACK" not in frame.flags]) >= 3

    eventually(pings, 60, "three PINGs of the client")
    assert len(server.connections) == 1


@pytest.mark.parametrize("reason", [b"", b'{"reason":"Shutdown"}', b"no JSON at all"])
def test_unprocessed_requests_move_after_goaway_without_an_attempt(bench, peer, reason):
    """The first connection answers one request, and returns the others with GOAWAY."""

    def script(connection, request):
        if connection.number == 0 and connection.answers == 1:
            connection.send_goaway(connection.requests[0].stream, reason)
            # As APNs does: a second, empty GOAWAY, then the close.
            connection.send_goaway(connection.requests[0].stream)
            connection.close()
        else:
            connection.answer(request)

    server = peer(script, max_concurrent_streams=1000)
    bench.produce([record(new_event()) for _ in range(30)])
    bench.run(server)
    bench.wait_for_outcomes(30)
    outcomes = [outcome for _, outcome in outcomes_of(bench.kafka, bench.topics)]
    assert {outcome["outcome"] for outcome in outcomes} == {"accepted"}
    assert {outcome["attempts"] for outcome in outcomes} == {1}
    assert len({connection.number for connection in server.connections if connection.answers}) >= 2


def test_goaway_with_last_stream_zero_returns_every_request(bench, peer):
    def script(connection, request):
        if connection.number == 0:
            connection.send_goaway(0, b'{"reason":"Shutdown"}')
            connection.send_goaway(0)
            connection.close()
        else:
            connection.answer(request)

    server = peer(script, max_concurrent_streams=1000)
    bench.produce([record(new_event()) for _ in range(5)])
    service = bench.run(server)
    bench.wait_for_outcomes(5)
    outcomes = [outcome for _, outcome in outcomes_of(bench.kafka, bench.topics)]
    assert {(outcome["outcome"], outcome["attempts"]) for outcome in outcomes} == {("accepted", 1)}
    told = service.log_lines("APNs closed a connection")
    assert told[0]["reason"] == "Shutdown"


def test_open_requests_are_answered_before_the_client_sends_goaway(bench, peer):
    """Like many peers, this one answers nothing after it receives GOAWAY."""
    goodbyes = []

    def script(connection, request):
        first = server.connections[0]
        if connection is not first:
            connection.answer(request)
            # Its first answers are held until the client has moved to another connection.
            for held in first.unanswered:
                first.answer(held)
            first.send()
        elif connection.answers == 0:
            connection.answer(request)
        elif len(connection.unanswered) == 5:
            connection.answer(request, 503, b'{"reason":"Shutdown"}')

    def goaway_came(connection):
        goodbyes.append(len(connection.unanswered))
        connection.close()

    server = peer(script, max_concurrent_streams=5)
    server.goaway_came = goaway_came
    bench.produce([record(new_event()) for _ in range(6)])
    service = bench.run(server)
    bench.wait_for_outcomes(6)
    assert accepted_count(bench) == 6
    sent = collections.Counter(request["apns-id"] for request in server.requests)
    assert sorted(sent.values()) == [1, 1, 1, 1, 1, 2], "only the request that got Shutdown is sent again"
    eventually(lambda: goodbyes, 60, service.child.output)
    assert goodbyes == [0]


def test_the_push_command_follows_the_same_rules(bench, peer, tmp_path):
    server = peer(max_concurrent_streams=1)
    done = push(bench, server, tmp_path, "--collapse-id", "line")
    assert done.returncode == 0, (done.stdout, done.stderr)
    [request] = server.requests
    how = {field.name: field.how for field in request.fields}
    assert how[":path"] == how["authorization"] == "never"
    assert how["apns-collapse-id"] == how["apns-topic"] == "incremental"
    assert not frames_named(server.connections[0], "Priority")
    # The peer may read it after the command has ended.
    eventually(
        lambda: type(server.connections[0].frames[-1]).__name__ == "GoAwayFrame", 60, "a goodbye"
    )


def test_addresses_that_swallow_packets_do_not_fail_the_connection(
    bench, peer, tmp_path, monkeypatch
):
    """Four of five addresses are black holes; the connect timeout covers all of them together."""
    server = peer(max_concurrent_streams=100)
    port = urllib.parse.urlsplit(server.ready["production"]).port
    holes = [f"127.0.0.{number}" for number in range(2, 6)]
    bench.produce([record(new_event()) for _ in range(5)])
    with contextlib.ExitStack() as stack:
        for hole in holes:
            stack.enter_context(black_hole(hole, port))
        with monkeypatch.context() as patch:
            for name, value in environment(tmp_path, [*holes, "127.0.0.1"]).items():
                patch.setenv(name, value)
            service = bench.run(server)
        bench.wait_for_outcomes(5)
    assert accepted_count(bench) == 5
    assert not service.log_lines("APNs connection failed")
    assert len(server.connections) == 1


def test_after_a_failed_handshake_the_next_address_is_tried(bench, peer, tmp_path, monkeypatch):
    """Two of three addresses do not speak TLS; each connection first tries an address without one."""
    server = peer(max_concurrent_streams=100)
    port = urllib.parse.urlsplit(server.ready["production"]).port
    broken = ["127.0.0.2", "127.0.0.3"]
    with contextlib.ExitStack() as stack:
        visitors = [stack.enter_context(broken_server(address, port)) for address in broken]
        with monkeypatch.context() as patch:
            for name, value in environment(tmp_path, [*broken, "127.0.0.1"]).items():
                patch.setenv(name, value)
            service = bench.run(server, apns={"connections": {"min": 3}})
        bench.produce([record(new_event()) for _ in range(5)])
        bench.wait_for_outcomes(5)
        eventually(lambda: len(server.connections) == 3, 60, service.child.output)
    assert accepted_count(bench) == 5
    assert all(visitors)
    assert not service.log_lines("APNs connection failed")


@pytest.mark.takes(12)
def test_an_address_that_hangs_in_tls_is_avoided(bench, peer, tmp_path, monkeypatch):
    """It never has a connection, so it would be the first choice for each new one."""
    server = peer(max_concurrent_streams=100)
    port = urllib.parse.urlsplit(server.ready["production"]).port
    with silent_server("127.0.0.2", port):
        with monkeypatch.context() as patch:
            for name, value in environment(tmp_path, ["127.0.0.2", "127.0.0.1"]).items():
                patch.setenv(name, value)
            service = bench.run(server, apns={"connections": {"min": 3}})
        eventually(lambda: len(server.connections) == 3, 60, service.child.output)
    failures = service.log_lines("APNs connection failed")
    assert 1 <= len(failures) <= 3, failures


FLOODS = {
    "PING": lambda stream: hyperframe.frame.PingFrame(0, b"and now?"),
    "SETTINGS": lambda stream: hyperframe.frame.SettingsFrame(0),
    "WINDOW_UPDATE": lambda stream: hyperframe.frame.WindowUpdateFrame(0, 1),
    "unknown": lambda stream: hyperframe.frame.ExtensionFrame(0xBE, 0, 0, b""),
    "103": lambda stream: hyperframe.frame.HeadersFrame(
        stream, b"\x08\x03103", flags=["END_HEADERS"]
    ),
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_peer_that_floods_without_answering_is_left(bench, peer, name):
    """The first connection repeats one frame forever; the second one answers."""

    def script(connection, request):
        if connection.number > 0:
            connection.answer(request)
        else:
            connection.flood(FLOODS[name](request.stream).serialize() * 100, 4000)
            connection.close()

    server = peer(script, max_concurrent_streams=1)
    bench.produce([record(new_event())])
    service = bench.run(server)
    bench.wait_for_outcomes(1, service=service)
    assert accepted_count(bench) == 1
    [told] = service.log_lines("APNs connection failed")
    assert told["error"] == "the peer sent a flood of frames and no answers (ENHANCE_YOUR_CALM)"
    # The peer may read it after the other connection has answered.
    [goodbye] = eventually(
        lambda: frames_named(server.connections[0], "GoAway"), 60, "a goodbye"
    )
    assert goodbye.error_code == 11


@pytest.mark.parametrize(
    ("version", "is_taken"),
    [
        (ssl.TLSVersion.TLSv1_1, False),
        (ssl.TLSVersion.TLSv1_2, True),
        (ssl.TLSVersion.TLSv1_3, True),
    ],
)
def test_tls_before_1_2_is_not_used(bench, peer, tmp_path, version, is_taken):
    server = peer(max_concurrent_streams=1)
    server.speak(version)
    # A client that allows any version does connect.
    assert lax_handshake(server) == version.name.replace("_", ".")
    eventually(lambda: server.connections, 60, "the peer to record its first connection")
    connections = len(server.connections)
    done = push(bench, server, tmp_path)
    assert (done.returncode == 0) == is_taken, (done.stdout, done.stderr)
    assert (len(server.connections) > connections) == is_taken
    assert len(server.requests) == is_taken


@pytest.mark.parametrize(
    ("cipher", "key", "is_taken"),
    [
        ("ECDHE-ECDSA-AES128-GCM-SHA256", P256, True),
        ("ECDHE-RSA-AES256-GCM-SHA384", RSA, True),
        ("ECDHE-ECDSA-CHACHA20-POLY1305", P256, True),
        ("ECDHE-ECDSA-AES128-SHA", P256, False),
        ("ECDHE-RSA-AES256-SHA384", RSA, False),
        # AEAD without forward secrecy: the server's key decrypts recorded traffic.
        ("AES128-GCM-SHA256", RSA, False),
    ],
)
def test_no_cipher_that_http2_prohibits_is_used(bench, peer, tmp_path, cipher, key, is_taken):
    """RFC 9113, appendix A; the server is OpenSSL in Python and offers only this suite."""
    server = peer(max_concurrent_streams=1)
    server.present(key=key)
    server.speak(ssl.TLSVersion.TLSv1_2, cipher)
    # A client that allows any cipher does connect.
    assert lax_handshake(server) == "TLSv1.2"
    done = push(bench, server, tmp_path)
    assert (done.returncode == 0) == is_taken, (done.stdout, done.stderr)
    assert len(server.requests) == is_taken
    assert is_taken or b"handshake failure" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("subject", "names", "host", "is_taken"),
    [
        ("elsewhere", "DNS:localhost", "localhost", True),
        ("elsewhere", "DNS:*.push.localhost", "api.push.localhost", True),
        ("elsewhere", "IP:127.0.0.1", "127.0.0.1", True),
        # The subject does not count as a name, whatever else the certificate has.
        ("localhost", "", "localhost", False),
        ("localhost", "IP:127.0.0.1", "localhost", False),
        ("127.0.0.1", "", "127.0.0.1", False),
        # A wildcard matches exactly one whole label.
        ("elsewhere", "DNS:a*.push.localhost", "api.push.localhost", False),
        ("elsewhere", "DNS:*i.push.localhost", "api.push.localhost", False),
        ("elsewhere", "DNS:*.localhost", "api.push.localhost", False),
    ],
)
def test_a_certificate_is_valid_only_for_the_names_it_lists(
    bench, peer, tmp_path, subject, names, host, is_taken
):
    """RFC 9525; the openssl command makes the certificates."""
    server = peer(max_concurrent_streams=1)
    server.present(subject=subject, names=names)
    for environment_name in ("production", "sandbox"):
        server.ready[environment_name] = server.ready[environment_name].replace("localhost", host)
    done = push(bench, server, tmp_path, variables=environment(tmp_path, ["127.0.0.1"]))
    assert (done.returncode == 0) == is_taken, (done.stdout, done.stderr)
    assert len(server.requests) == is_taken
    assert is_taken or b"mismatch" in done.stdout + done.stderr


def lax_handshake(server):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.load_verify_locations(server.ready["ca_file"])
    context.set_alpn_protocols(["h2"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1_1
    port = urllib.parse.urlsplit(server.ready["production"]).port
    with (
        socket.create_connection(("127.0.0.1", port)) as stream,
        context.wrap_socket(stream, server_hostname="localhost") as secured,
    ):
        return secured.version()


def test_each_connect_resolves_the_name_again(bench, peer, tmp_path, monkeypatch):
    """The name moves while the service runs; nobody listens at its first address."""
    server = peer(max_concurrent_streams=10)
    bench.produce([record(new_event())])
    with monkeypatch.context() as patch:
        for name, value in environment(tmp_path, ["127.0.0.9"]).items():
            patch.setenv(name, value)
        service = bench.start(bench.configuration(server))
    eventually(
        lambda: service.log_lines("APNs connection failed"), 60, service.child.output
    )
    assert not server.connections
    move(tmp_path, ["127.0.0.1"])
    bench.wait_for_outcomes(1)
    assert accepted_count(bench) == 1
