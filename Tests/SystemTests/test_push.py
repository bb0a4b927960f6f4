"""`heliograph push` sends one notification and shows the full exchange."""

import signal
import subprocess
import threading

import pytest
import yaml
from h2.errors import ErrorCodes

from harness.commands import running_command
from harness.events import APP, encoded, new_event, payload_bytes, sha256
from harness.processes import built_binary, clean_environment
from harness.strict_peer import running_peer

TOKEN = "a11ce000" + "5e" * 28
DEAD = "dead0000" + "5e" * 28
NO_JSON = "not JSON: an unexpected token or end at byte"
SCENARIO = {"rules": [{"prefix": "dead", "is": "unregistered", "since": 1767225600000}]}


@pytest.fixture
def simulator(simulators):
    return simulators(SCENARIO, ["--control-port", 0])


@pytest.fixture
def push(broker, benches, simulator, tmp_path):
    """Runs the command with a configuration for the simulator, or for another peer."""
    path = tmp_path / "heliograph.yaml"
    bench = benches(broker, 1)

    def run(*arguments, stdin=b"", peer=simulator):
        path.write_text(yaml.safe_dump(bench.configuration(peer)))
        command = [built_binary("heliograph"), "push", "--config", path, *arguments]
        return subprocess.run(
            [word if isinstance(word, bytes) else str(word) for word in command],
            input=stdin,
            capture_output=True,
            timeout=60,
            env=clean_environment(),
        )

    return run


@pytest.mark.core
def test_push_shows_request_and_answer(push, simulator):
    done = push("--token", TOKEN, "--bundle-id", APP, "--alert", "Hello, “you”")
    said = done.stdout.decode()
    assert done.returncode == 0, (said, done.stderr)
    for line in [f"> apns-topic: {APP}", "> apns-push-type: alert", "< :status: 200", "accepted"]:
        assert line in said
    assert TOKEN not in said and "bearer (hidden)" in said
    [request] = simulator.requests()
    assert request["token"] == TOKEN


def test_a_refusal_is_explained(push):
    done = push("--token", DEAD, "--bundle-id", APP, "--alert", "Hello")
    said = done.stdout.decode()
    assert done.returncode == 1, said
    assert "< :status: 410" in said and "Unregistered (APNs, status 410)" in said
    assert "Token action: remove" in said


def test_a_reason_sent_before_any_request_is_shown(push, simulator):
    """As for a certificate of the other environment."""
    farewell = {"connections": [{"is": "goaway nothing BadCertificateEnvironment"}]}
    assert simulator.control("POST", "/scenario", farewell)[0] == 204
    done = push("--token", TOKEN, "--bundle-id", APP, "--alert", "Hello")
    assert (done.returncode, done.stdout, simulator.requests()) == (1, b"", [])
    assert "BadCertificateEnvironment" in done.stderr.decode()


def test_a_long_or_misleading_answer_is_cut_and_marked(push, tmp_path):
    """As of a proxy in APNs' place: no line of it looks like one of the report."""
    told, fake = "v" * 3000, b"accepted: APNs has it."
    body = b"gateway\r\n" + fake + b"\n" + b"b" * 9000

    def answer(connection, request):
        connection.answer(request, 502, body, told=told)

    with running_peer(tmp_path / "peer", answer) as peer:
        done = push("--token", TOKEN, "--bundle-id", APP, "--alert", "Hello", peer=peer)
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert b"| " + fake in lines and fake not in lines
    [header] = [line for line in lines if line.startswith(b"< told: ")]
    bodies = [line for line in lines if line.startswith(b"| ")]
    assert len(header) < 1100 and len(b"".join(bodies)) < 4200
    assert header.endswith("…".encode()) and bodies[-1].endswith("…".encode())


def test_without_an_answer_push_says_whether_it_was_sent(push, tmp_path):
    def answer(connection, request):
        refused = request[":path"].endswith(DEAD)
        connection.reset(request, ErrorCodes.REFUSED_STREAM if refused else ErrorCodes.INTERNAL_ERROR)

    with running_peer(tmp_path / "peer", answer) as peer:
        words = ["--bundle-id", APP, "--alert", "Hello"]
        one = push("--token", TOKEN, *words, peer=peer)
        refused = push("--token", DEAD, *words, peer=peer)
        both = push("--recipients", "-", *words, stdin=f"{TOKEN}\n{DEAD}".encode(), peer=peer)
    assert (one.returncode, refused.returncode, both.returncode) == (1, 1, 1)
    reset = "APNs reset the stream: INTERNAL_ERROR"
    assert f"no answer; it may have been delivered: {reset}" in one.stderr.decode()
    assert "no answer; not sent: APNs refused the stream" in refused.stderr.decode()
    assert "(64 digits): no answer; it may have been delivered\n1 dead" in both.stdout.decode()
    assert "(64 digits): no answer; not sent\n" in both.stdout.decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_push_says_who_got_it(broker, benches, tmp_path, number):
    asked = threading.Event()

    def answer(connection, request):
        if request[":path"].endswith(DEAD):
            asked.set()
        else:
            connection.answer(request)

    tokens = tmp_path / "tokens.txt"
    tokens.write_text("\n".join([TOKEN, DEAD, "beef" * 16]))
    words = ["--recipients", tokens, "--bundle-id", APP, "--alert", "Hello"]
    with running_peer(tmp_path / "peer", answer) as peer:
        settings = benches(broker, 1).configuration(peer)
        with running_command(tmp_path, settings, "push", *words) as child:
            assert asked.wait(60), child.output()
            child.send(number)
            assert child.wait_for_exit(60) == 1, child.output()
    lines = child.lines("stdout")
    first, *others = [line.split(" (64 digits): ")[1] for line in lines if " (64 digits): " in line]
    assert first.startswith("200 accepted, "), lines
    assert others == ["no answer; it may have been delivered", "not sent"], lines
    assert "accepted 1 of 3, without an answer 1" in lines


def test_an_event_is_sent_unchanged(push, simulator):
    event = encoded(new_event(push_type="voip")).replace(b'"Number', b'  "Number')
    done = push("--event", "-", stdin=event)
    assert done.returncode == 0, done.stderr
    [request] = simulator.requests()
    assert request["topic"] == f"{APP}.voip"
    assert request["payload_sha256"] == sha256(payload_bytes(event))


def test_each_recipient_gets_a_line(push, simulator):
    tokens = f"{TOKEN}\n\n {DEAD}\nnot-hex\n{TOKEN.upper()}\n".encode()
    done = push("--recipients", "-", "--bundle-id", APP, "--alert", "Hello", stdin=tokens)
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 1, (lines, done.stderr)
    assert [request["token"] for request in simulator.requests()] == [TOKEN, DEAD]
    found = [line for line in lines if line[:1].isdigit() and ":" in line][:4]
    assert found[0].startswith("0 a11c…5e5e (64 digits): 200 accepted, ")
    assert found[1].startswith("1 dead…5e5e (64 digits): 410 Unregistered, ")
    assert found[2].startswith("2 (invalid): not sent: SchemaViolation; /recipients/2: ")
    assert found[3] == "3 A11C…5E5E (64 digits): not sent: DuplicateRecipient"
    assert "accepted 1 of 4, not sent 2, refused 1" in lines
    assert "Token action: remove" in done.stdout.decode()
    assert TOKEN not in done.stdout.decode()


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        (["--bundle-id", APP, "--alert", "x"], 64, "--bundle-id: needs one of --token, --recipients and"),
        (["--token", TOKEN, "--bundle-id", APP], 64, "--alert, --payload: pass exactly one"),
        (["--token", "xyz", "--bundle-id", APP, "--alert", "x"], 1, "/device_token"),
        (["--token", TOKEN, "--bundle-id", APP, "--payload", "{"], 1, f"--payload: {NO_JSON} 1\n"),
        (
            ["--token", TOKEN, "--bundle-id", APP, "--payload", '{},"priority":5'],
            1,
            "--payload: content after the document's end",
        ),
        (["--channel", "a", "--bundle-id", APP, "--payload", "{bad"], 1, f"--payload: {NO_JSON}"),
        (["--token", TOKEN, "--bundle-id", "org.other", "--alert", "x"], 1, "NoCredential"),
        (
            ["--token", TOKEN, "--bundle-id", APP, "--alert", "x", "--expiration", "1000000000"],
            1,
            "expiration: has passed (Expired); not sent",
        ),
        (["--event", "/nowhere"], 1, "/nowhere: cannot be read: No such file or directory"),
    ],
)
def test_input_that_cannot_be_sent_names_the_problem(push, simulator, arguments, code, words):
    done = push(*arguments)
    assert (done.returncode, simulator.requests()) == (code, [])
    assert words in done.stderr.decode()
    assert done.stdout == b""


ODD = b'{"aps":{"alert":"\xff"}}'
ODD_EVENT = b'{"id":"1","device_token":"\xff"}'


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        (["--payload", ODD], 64, "heliograph: --payload: not UTF-8; encode it as UTF-8\n"),
        ([b"--payload=" + ODD], 64, "heliograph: --payload: not UTF-8; encode it as UTF-8\n"),
        (["--alert", b"caf\xe9"], 64, "heliograph: --alert: not UTF-8; encode it as UTF-8\n"),
        (["--payload", "{}", b"caf\xe9"], 64, "heliograph: argument 10: not UTF-8; encode it as UTF-8\n"),
    ],
)
def test_arguments_that_are_not_utf_8_are_rejected(push, simulator, arguments, code, words):
    done = push("--token", TOKEN, "--bundle-id", APP, *arguments)
    assert (done.returncode, done.stdout, simulator.requests()) == (code, b"", [])
    assert words in done.stderr.decode()


@pytest.mark.parametrize("place", ["-", "event.json"])
def test_an_event_that_is_not_utf_8_names_the_byte(push, simulator, tmp_path, place):
    (tmp_path / "event.json").write_bytes(ODD_EVENT)
    done = push("--event", place if place == "-" else tmp_path / place, stdin=ODD_EVENT)
    assert (done.returncode, done.stdout, simulator.requests()) == (1, b"", [])
    said = f"the event: bytes that are not UTF-8 at byte {ODD_EVENT.index(0xFF)}\n"
    assert said in done.stderr.decode()


def test_an_event_that_is_not_json_names_the_byte(push, simulator):
    done = push("--event", "-", stdin=b'{"id":')
    assert (done.returncode, done.stdout, simulator.requests()) == (1, b"", [])
    assert f"MalformedEvent: not sent\nheliograph: the event: {NO_JSON} 6\n" in done.stderr.decode()
