"""Nothing that the service or a command writes contains a secret that it has."""

import base64
import json
import os
import pathlib
import resource
import signal
import subprocess

import pytest

from harness import apache_kafka
from harness.commands import run_command
from harness.deadlines import eventually
from harness.events import APP, encoded, new_event, record
from harness.kafka import Written
from harness.processes import LEASH, built_binary, clean_environment
from harness.proxy import running_proxy
from harness.registry import running_registry

SCENARIO = {
    "rules": [
        {"prefix": "dead", "is": "unregistered", "since": 1767225600000},
        {"prefix": "bad0", "is": "BadDeviceToken"},
        {"prefix": "b05e", "is": "InternalServerError"},
    ]
}
PAYLOAD = "the-text-that-only-the-device-may-see"
PASSWORDS = {
    "sasl.password": apache_kafka.PASSWORD,
    "ssl.key.password": "secret-of-kafka-keys",
}
PROXY_PASSWORD = "secret-of-the-proxy"
REGISTRY_PASSWORD = "secret-of-the-registry"
FINGERPRINT_KEY = "secret-of-the-fingerprints-0123456789"
PAGES = ("/metrics", "/status.json", "/", "/ready", "/live", "/nothing-here")


def token(prefix, number):
    return f"{prefix}{number:04x}" + "5ec2e7" * 9 + "5e"


def secret_event(prefix, number, **fields):
    payload = {"aps": {"alert": PAYLOAD, "badge": number}, "own": {PAYLOAD: number}}
    return new_event(device_token=token(prefix, number), **{"payload": payload, **fields})


def events():
    """One event for each outcome, all with the payload's text."""
    good = [secret_event("a11c", number) for number in range(3)]
    refused = [secret_event(prefix, 9) for prefix in ("dead", "bad0", "b05e")]
    again = dict(good[0])
    return {
        "good": good,
        "others": refused
        + [
            again,
            secret_event("a11c", 10, bundle_id="com.example.Nobody"),
            secret_event("a11c", 11, expiration=1_000_000_000),
            secret_event("a11c", 12, payload={"aps": {"alert": PAYLOAD * 200}}),
            secret_event("a11c", 13, priority=PAYLOAD),
            secret_event("a11c", 14, **{PAYLOAD: PAYLOAD}),
            secret_event("a11c", 15, payload={"aps": {"badge": PAYLOAD}}),
        ],
    }


def malformed():
    whole = encoded(secret_event("a11c", 20))
    value = whole[: whole.index(b"badge")]
    odd = whole.replace(token("a11c", 20).encode(), token("a11c", 21).encode() + b"0")
    headers = (("ce_specversion", PAYLOAD.encode()), ("traceparent", PAYLOAD.encode()))
    return [
        Written(value, key=token("a11c", 20).encode()),
        Written(odd, key=token("a11c", 21).encode()),
        Written(whole.replace(b'"id"', b'"id":"x","id"')),
        Written(whole, headers=headers),
        Written(b"\0\0\0\0\x63" + whole),
    ]


def secrets(key_file):
    """The secrets to search for, by description."""
    lines = [line for line in pathlib.Path(key_file).read_text().splitlines() if "--" not in line]
    found = {f"line {index} of the key": line for index, line in enumerate(lines)}
    found |= {name: text for name, text in PASSWORDS.items()}
    for name, text in [("proxy", PROXY_PASSWORD), ("registry", REGISTRY_PASSWORD)]:
        found[name] = text
        pair = base64.b64encode(f"pushes:{text}".encode()).decode()
        found[f"{name}, as its header has it"] = pair
    return found | {
        "fingerprint key": FINGERPRINT_KEY,
        "payload": PAYLOAD,
        # The middle part of every device token; half of it can be in a UUID by chance.
        "device token": "5ec2e7" * 2,
        # The Base64 of {"alg": and so on, with which a JWT begins. That of {" alone can be in the
        # random ID of a topic.
        **{
            f"JWT that begins with {name}": base64.b64encode(f'{{"{name}":"'.encode()).decode()[:10]
            for name in ("alg", "kid", "typ")
        },
    }


def assert_holds_none(said, found, where):
    for name, text in found.items():
        place = said.lower().find(text.lower())
        assert place < 0, f"{name} in {where}: …{said[max(0, place - 200) : place + 100]}…"


class Bed:
    """A bench whose service logs in to Kafka with a password, over TLS."""

    def __init__(self, apache, simulators, benches, folder):
        self.folder = folder
        self.apache = apache
        self.bench = benches(apache.kafka)
        self.simulator = simulators(SCENARIO)
        self.key_file = self.simulator.ready["key_file"]
        self.secrets = secrets(self.key_file)
        for name, text in [
            ("proxy", PROXY_PASSWORD),
            ("registry", REGISTRY_PASSWORD),
            ("fingerprint", FINGERPRINT_KEY),
        ]:
            (folder / name).write_text(f"{text}\n")

    def settings(self, proxy, registry, **log):
        settings = self.bench.configuration(
            self.simulator,
            retry={"later": [], "attempts": 2, "here_for": "1s"},
            schema_registry={
                "url": registry.url,
                "username": "pushes",
                "password_file": str(self.folder / "registry"),
            },
            log={"fingerprint_key_file": str(self.folder / "fingerprint"), **log},
        )
        settings["apns"]["proxy"] = f"http://pushes@{proxy.url}"
        settings["apns"]["proxy_password_file"] = str(self.folder / "proxy")
        settings["results"]["timing_headers"] = True
        settings["kafka"]["bootstrap_servers"] = self.apache.server("TLSLOGIN")
        settings["kafka"]["properties"] |= {
            **self.apache.tls(),
            **self.apache.login(),
            "security.protocol": "sasl_ssl",
            **PASSWORDS,
        }
        return settings


@pytest.fixture
def bed(apache, simulators, benches, tmp_path):
    return Bed(apache, simulators, benches, tmp_path)


@pytest.fixture
def proxy():
    with running_proxy("pushes", PROXY_PASSWORD) as running:
        yield running


@pytest.fixture
def registry():
    pair = base64.b64encode(f"pushes:{REGISTRY_PASSWORD}".encode()).decode()
    with running_registry(authorization=f"Basic {pair}") as running:
        yield running


@pytest.mark.takes(10)
@pytest.mark.parametrize(
    ("level", "form", "debug"),
    [
        pytest.param("trace", "json", "all", marks=pytest.mark.core),
        ("debug", "text", "conf,security,broker"),
        ("info", "json", None),
    ],
)
def test_the_service_writes_no_secret(bed, proxy, registry, level, form, debug):
    settings = bed.settings(proxy, registry, level=level, format=form)
    if debug:
        settings["kafka"]["properties"]["debug"] = debug
    all_events = events()
    written = [record(event) for event in all_events["good"]]
    bed.bench.produce(written)
    service = bed.bench.start(settings, {"SWIFT_BACKTRACE": "enable=yes,color=no,registers=none"})
    service.wait_until_ready()
    bed.bench.wait_for_outcomes(len(written), service=service)
    rest = [record(event) for event in all_events["others"]] + malformed()
    bed.bench.produce(rest)
    bed.bench.wait_for_outcomes(len(written) + len(rest), service=service)
    accepted = {request["token"] for request in bed.simulator.accepted()}
    assert {event["device_token"] for event in all_events["good"]} <= accepted
    assert registry.requests, "the registry was not asked"
    assert proxy.targets, "the proxy was not asked"
    for path in PAGES:
        _, body = service.fetch(path)
        assert body, path
        assert_holds_none(body, bed.secrets, path)
    # The output of a crash, as far as this machine can print it.
    service.is_to_crash = True
    service.child.send(signal.SIGSEGV)
    eventually(
        lambda: service.child.is_silent
        or any("Backtrace took" in line for line in service.child.lines("stderr")),
        60,
        service.child.output,
    )
    # SIGSEGV from outside is not an instruction's fault: the runtime continues after its report.
    service.child.end()
    said = "\n".join(service.child.lines("stdout") + service.child.lines("stderr"))
    assert "event not delivered" in said
    assert ("event concluded" in said) == (level != "info")
    assert_holds_none(said, bed.secrets, "the log")


def killed_with_cores_allowed(arguments, folder, octets=b""):
    """Whether the kernel reports a core dump of a process killed by SIGSEGV.

    The process has read all of `octets`, except what a pipe holds, before the signal.
    """
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    child = subprocess.Popen(
        [*LEASH, *map(str, arguments)],
        stdin=subprocess.PIPE,
        cwd=folder,
        env={**clean_environment(), "SWIFT_BACKTRACE": "enable=no"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (hard, hard)),
    )
    child.stdin.write(octets)
    child.stdin.flush()
    # Not `send_signal`: it would reap a child that has ended, and its status tells of the dump.
    os.kill(child.pid, signal.SIGSEGV)
    _, status = os.waitpid(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    child.stdin.close()
    assert child.returncode == -signal.SIGSEGV
    return os.WCOREDUMP(status)


def test_a_crash_leaves_no_core_dump(tmp_path):
    """In a process that holds a key; any other process here would leave one."""
    if not killed_with_cores_allowed(["sh", "-c", "kill -SEGV $$"], tmp_path):
        pytest.skip("this machine makes no core dumps")
    (tmp_path / "key").write_text(FINGERPRINT_KEY)
    command = [built_binary("heliograph"), "fingerprint", "--key-file", tmp_path / "key", "-"]
    assert not killed_with_cores_allowed(command, tmp_path, b"\n" * 1_000_000)


def test_the_limit_on_core_dumps_is_one_byte(tmp_path):
    """With 0, the kernel would still run a `core_pattern` program, and show it the memory."""
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    if hard == 0:
        pytest.skip("the limit on core dumps cannot be raised here")
    (tmp_path / "key").write_text(FINGERPRINT_KEY)
    command = [built_binary("heliograph"), "fingerprint", "--key-file", tmp_path / "key", "-"]
    child = subprocess.Popen(
        [*LEASH, *map(str, command)],
        stdin=subprocess.PIPE,
        env=clean_environment(),
    )
    with child:
        # More than a pipe holds: it reads only after it has set the limit.
        child.stdin.write(b"\n" * 1_000_000)
        child.stdin.flush()
        limits = resource.prlimit(child.pid, resource.RLIMIT_CORE)
        child.communicate()
    assert limits == (1, 1)


def test_commands_write_no_secret(bed, proxy, registry):
    settings = bed.settings(proxy, registry, level="info", format="json")
    good, bad = secret_event("a11c", 1), secret_event("bad0", 2, bundle_id="com.example.Nobody")
    bed.bench.produce([record(good), record(bad), *malformed()])
    service = bed.bench.start(settings).wait_until_ready()
    bed.bench.wait_for_outcomes(7, service=service)
    service.drain()
    for arguments in [
        ("check",),
        ("tail", "--no-follow"),
        ("tail", "--no-follow", "--json"),
        ("dead-letters", "list"),
        ("dead-letters", "list", "--json"),
        ("dead-letters", "replay", "--dry-run"),
        ("fingerprint", token("a11c", 1)),
        (
            "push",
            "--token",
            token("a11c", 3),
            "--bundle-id",
            APP,
            "--payload",
            json.dumps({"aps": {"alert": PAYLOAD}}),
        ),
    ]:
        ended = run_command(bed.folder, settings, *arguments)
        assert ended.code == 0, (arguments, ended.output)
        assert ended.output
        assert_holds_none(ended.output, bed.secrets, arguments)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda s: s["kafka"]["properties"].update({"sasl.password": [PASSWORDS["sasl.password"]]}),
        lambda s: s["apns"].update({"proxy": f"http://pushes:{PROXY_PASSWORD}@127.0.0.1:1"}),
        lambda s: s["schema_registry"].update(
            {"url": f"http://pushes:{REGISTRY_PASSWORD}@127.0.0.1:1"}
        ),
        lambda s: s["apns"]["credentials"][0].update({"key_file": s["apns"]["proxy_password_file"]}),
        lambda s: s["log"].update({"fingerprint_key": FINGERPRINT_KEY}),
    ],
)
def test_a_failed_start_writes_no_secret(bed, proxy, registry, spoil):
    settings = bed.settings(proxy, registry, level="trace")
    spoil(settings)
    ended = run_command(bed.folder, settings, "run", seconds=90)
    assert ended.code != 0, ended.output
    assert_holds_none(ended.output, bed.secrets, "the complaint")


@pytest.mark.takes(10)
@pytest.mark.parametrize(
    "spoil",
    [
        lambda s: s["kafka"]["properties"].update({"sasl.mechanisms": "SCRAM-SHA-256"}),
        lambda s: s["kafka"]["properties"].pop("ssl.ca.location"),
    ],
)
def test_a_start_that_waits_for_kafka_writes_no_secret(bed, proxy, registry, spoil):
    settings = bed.settings(proxy, registry, level="trace")
    spoil(settings)
    service = bed.bench.start(settings)
    waiting = "waiting for Kafka"
    eventually(lambda: service.log_lines(waiting), 60, service.child.output)
    assert service.child.terminate(40) == 0, service.child.output()
    said = "\n".join(service.child.lines("stdout") + service.child.lines("stderr"))
    assert_holds_none(said, bed.secrets, "the log")
