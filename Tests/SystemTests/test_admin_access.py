"""Who can read the admin port: by host name and by token. Clients are curl and http.client."""

import http.client
import os
import signal
import socket
import ssl
import subprocess

import pytest

from harness.certificates import openssl
from harness.deadlines import eventually

PROBES = ("/startup", "/live", "/ready")
PAGES = ("/", "/metrics", "/status.json", "/nowhere")
TOKEN, NEXT = "the-first-token-0123456789", "the-next-token-9876543210"
# The Host values of a kubelet, `kubectl port-forward`, a Prometheus that scrapes a Service, and
# Compose.
KNOWN = ("127.0.0.1", "localhost", "[::1]", "10.1.2.3", "heliograph", "heliograph.push.svc")


@pytest.fixture
def bench(broker, benches):
    return benches(broker)


@pytest.fixture
def simulator(simulators):
    return simulators({})


def ask(service, path, method="GET", **fields):
    """(status, fields, body) as http.client reports them; `host` replaces its own Host."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    try:
        names = {name.replace("_", "-"): value for name, value in fields.items()}
        connection.putrequest(method, path, skip_host="host" in names)
        for name, value in names.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def curl(service, path, *words, scheme="http"):
    """(status, body) as curl reports them; status 0 means no answer."""
    command = ["curl", "-sS", "-w", "\n%{http_code}", *words]
    run = subprocess.run(
        [*command, f"{scheme}://127.0.0.1:{service.port}{path}"],
        capture_output=True, text=True, timeout=60,
    )
    body, _, status = run.stdout.rpartition("\n")
    return int(status), body


def sent(service, text):
    """Sends these bytes; returns everything until the server closes."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as peer:
        peer.sendall(text.encode())
        answer = b""
        while piece := peer.recv(65_536):
            answer += piece
    return answer.decode()


def test_every_answer_has_headers_against_other_sites(bench, simulator):
    service = bench.run(simulator, admin={"hosts": ["push.example.com"]})
    for path in (*PROBES, *PAGES):
        for method in ("GET", "HEAD", "POST"):
            _, fields, _ = ask(service, path, method)
            policy = fields["Content-Security-Policy"]
            assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
            assert fields.get_all("Content-Security-Policy") == [policy]
            assert fields["Cross-Origin-Resource-Policy"] == "same-origin"
            assert fields["X-Content-Type-Options"] == "nosniff"
            assert fields["Cache-Control"] == "no-store"
    # So do answers to bytes that are not a request.
    refused = sent(service, "GET / HTTP/1.1\r\nContent-Length : 5\r\n\r\nhello")
    assert refused.startswith("HTTP/1.1 400 ") and "frame-ancestors 'none'" in refused

    wanted = [200, 200, 200, 404]
    for host in (*KNOWN, socket.gethostname(), "push.example.com"):
        for name in (host, f"{host}:{service.port}"):
            assert [ask(service, path, host=name)[0] for path in PAGES] == wanted, name
            assert curl(service, "/metrics", "-H", f"Host: {name}")[0] == 200
    # curl's syntax for leaving a header out, and HTTP/1.0.
    assert curl(service, "/status.json", "-H", "Host:")[0] == 200
    assert sent(service, "GET /status.json HTTP/1.0\r\n\r\n").startswith("HTTP/1.1 200 ")

    foreign = "rebound.example"
    resolved = ("--resolve", f"{foreign}:{service.port}:127.0.0.1")
    run = subprocess.run(
        ["curl", "-sS", *resolved, f"http://{foreign}:{service.port}/status.json"],
        capture_output=True, text=True, timeout=60,
    )
    assert "admin.hosts" in run.stdout and "configuration" not in run.stdout
    for path in PAGES:
        assert ask(service, path, host=f"{foreign}:{service.port}")[0] == 421
        # The request target overrides the Host field.
        asked = f"GET http://{foreign}{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        assert sent(service, asked).startswith("HTTP/1.1 421 ")
    for path in PROBES:
        status, _, body = ask(service, path, host=foreign)
        assert status == 200 and "reasons" not in body
    service.drain()


def test_a_token_opens_all_but_probes_and_can_be_replaced(bench, simulator, tmp_path):
    token_file = tmp_path / "token"
    token_file.write_text(f"{TOKEN}\n")
    service = bench.run(simulator, admin={"bearer_token_file": str(token_file)})
    for path in PROBES:
        assert ask(service, path)[0] == 200 and curl(service, path)[0] == 200
    for path in PAGES:
        status, fields, body = ask(service, path)
        assert status == 401 and "heliograph_" not in body
        schemes = [value.split()[0] for value in fields.get_all("WWW-Authenticate")]
        assert schemes == ["Bearer", "Basic"]
        assert curl(service, path, "-H", f"Authorization: Bearer {TOKEN}x")[0] == 401
        assert curl(service, path, "-u", f"{TOKEN}:")[0] == 401
    wanted = [200, 200, 200, 404]
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert [ask(service, path, **bearer)[0] for path in PAGES] == wanted
    assert [curl(service, path, "--oauth2-bearer", TOKEN)[0] for path in PAGES] == wanted
    assert [curl(service, path, "-u", f"me:{TOKEN}")[0] for path in PAGES] == wanted

    def replaced(text):
        fresh = token_file.with_suffix(".fresh")
        fresh.write_text(text)
        os.replace(fresh, token_file)
        service.child.send(signal.SIGHUP)

    def opens(token):
        return curl(service, "/metrics", "--oauth2-bearer", token)[0] == 200

    replaced(f"{NEXT}\n{TOKEN}\n")
    eventually(lambda: opens(NEXT), 60, service.child.output)
    assert opens(TOKEN), "both tokens are valid during the replacement"
    replaced("tiny\n")
    refused = "admin.bearer_token_file not reloaded; the old one stays in use"
    eventually(lambda: service.log_lines(refused), 60, service.child.output)
    assert opens(NEXT)
    [warning] = service.warnings()
    assert warning.startswith("admin: admin.bearer_token_file: ") and "tiny" not in warning
    unusable = 'heliograph_unusable_files{use="admin"}'
    assert f"{unusable} 1\n" in curl(service, "/metrics", "--oauth2-bearer", NEXT)[1]
    replaced(f"{NEXT}\n")
    eventually(lambda: not opens(TOKEN), 60, service.child.output)
    # The new tokens are in use before the old problem is gone.
    eventually(lambda: not service.warnings(), 60, service.child.output)
    assert opens(NEXT)
    shown = curl(service, "/metrics", "--oauth2-bearer", NEXT)[1]
    assert f"{unusable} 0\n" in shown
    for result, count in (("ok", 2), ("failed", 1)):
        assert f'heliograph_files_reloads_total{{use="admin",result="{result}"}} {count}\n' in shown
    text = "\n".join(service.child.lines("stderr"))
    assert TOKEN not in text and NEXT not in text
    service.drain()


def write_identity(folder):
    """Writes cert.pem and key.pem for 127.0.0.1, each by an atomic replacement."""
    words = ("-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 2)
    names = ("-subj", "/CN=heliograph", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost")
    fresh = {name: folder / f"{name}.fresh" for name in ("cert.pem", "key.pem")}
    openssl("req", *words, *names, "-out", fresh["cert.pem"], "-keyout", fresh["key.pem"])
    for name, path in fresh.items():
        os.replace(path, folder / name)


def served_certificate(service):
    return ssl.get_server_certificate(("127.0.0.1", service.port), timeout=60)


def test_with_a_certificate_pages_are_tls_only_and_the_certificate_can_be_replaced(
    bench, simulator, tmp_path
):
    write_identity(tmp_path)
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    admin = {"certificate_file": str(certificate), "private_key_file": str(key)}
    service = bench.run(simulator, admin=admin)
    first = certificate.read_text()
    assert served_certificate(service) == first
    for path in PROBES:
        assert curl(service, path)[0] == 200
        assert curl(service, path, "--cacert", certificate, scheme="https")[0] == 200
    for path in PAGES:
        status, body = curl(service, path)
        assert status == 403 and "heliograph_" not in body
    wanted = [200, 200, 200, 404]
    for words in ((), ("--http1.1",), ("--no-alpn",), ("--tls-max", "1.2")):
        trusted = (*words, "--cacert", certificate)
        answers = [curl(service, path, *trusted, scheme="https") for path in PAGES]
        assert [status for status, _ in answers] == wanted, words
        assert "heliograph_events_unaccounted" in answers[1][1]
    assert curl(service, "/metrics", "--tls-max", "1.1", "-k", scheme="https")[0] == 0
    assert curl(service, "/metrics", scheme="https")[0] == 0, "curl trusts the certificate without --cacert"

    # Several requests on one connection, and an answer that spans many TLS records.
    context = ssl.create_default_context(cafile=certificate)
    connection = http.client.HTTPSConnection(
        "127.0.0.1", service.port, timeout=60, context=context
    )
    for path in ("/", "/metrics", "/status.json", "/live") * 3:
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.status == 200 and len(answer.read()) == int(answer.headers["Content-Length"])
    # Pipelined requests in one TLS record; the server ends with close_notify.
    with context.wrap_socket(
        socket.create_connection(("127.0.0.1", service.port), timeout=60),
        server_hostname="localhost",
        suppress_ragged_eofs=False,
    ) as peer:
        last = b"GET /live HTTP/1.1\r\nConnection: close\r\n\r\n"
        peer.sendall(b"HEAD / HTTP/1.1\r\n\r\n" * 100 + last)
        answer = b""
        while piece := peer.recv(65_536):
            answer += piece
    assert answer.count(b"HTTP/1.1 200 OK") == 101 and answer.endswith(b"alive\n")

    write_identity(tmp_path)
    service.child.send(signal.SIGHUP)
    eventually(lambda: served_certificate(service) != first, 60, service.child.output)
    assert served_certificate(service) == certificate.read_text()
    # Open connections continue.
    connection.request("GET", "/live")
    assert connection.getresponse().read() == b"alive\n"
    second = certificate.read_text()
    certificate.write_text("nothing")
    refused = (
        "admin.certificate_file or admin.private_key_file not reloaded; "
        "the old one stays in use"
    )
    service.child.send(signal.SIGHUP)
    eventually(lambda: service.log_lines(refused), 60, service.child.output)
    assert served_certificate(service) == second
    service.drain()
