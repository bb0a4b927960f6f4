"""examples/producers: the example in each language writes the expected, valid event."""

import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

import pytest

from harness import contracts
from harness.apache_kafka import kafka_home
from harness.processes import ROOT, built_binary

PRODUCERS = ROOT / "examples" / "producers"
DEVICE = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
OTHER_DEVICE = "740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad"
IDENTIFIER = "123e4567-e89b-12d3-a456-426614174000"
COMMON = {
    "environment": "production",
    "priority": 10,
    "occurred_at": "now",
    "metadata": {"tenant": "a"},
}
# The expected record of every example: topic, key, event.
EXPECTED = [
    ("notifications", DEVICE, {
        "id": "order-4711-shipped",
        "device_token": DEVICE,
        "bundle_id": "com.example.MyApp",
        "push_type": "alert",
        "payload": {
            "aps": {
                "alert": {"title": "Shipped", "body": "Your parcel is on its way."},
                "sound": "default",
            },
            "order": 4711,
        },
        "expiration": "a day from now",
        "collapse_id": "order-4711",
        "apns_id": IDENTIFIER,
        "token_registered_at": 1760000000000,
        **COMMON,
    }),
    ("notifications", DEVICE, {
        "id": "order-4711-refresh",
        "device_token": DEVICE,
        "bundle_id": "com.example.MyApp",
        "push_type": "background",
        "payload": {"aps": {"content-available": 1}},
    }),
    ("notifications", DEVICE, {
        "id": "call-17",
        "device_token": DEVICE.upper(),
        "topic": "com.example.MyApp.voip",
        "push_type": "voip",
        "payload": {"call": {"from": "Zoë", "has_video": False}},
        "expiration": 0,
    }),
    ("notifications", "news-88", {
        "id": "news-88",
        "recipients": [
            {"device_token": DEVICE},
            {"device_token": OTHER_DEVICE, "collapse_id": "news"},
        ],
        "bundle_id": "com.example.MyApp",
        "push_type": "alert",
        "payload": {"aps": {"alert": {"title": "News", "body": "The bridge is open."}}},
        "campaign": "bridge-opening",
        "not_before": 1760000000,
    }),
    ("broadcasts", "dHN0LXNyY2gtY2hubA==", {
        "id": "match-4711-goal-3",
        "channel_id": "dHN0LXNyY2gtY2hubA==",
        "bundle_id": "com.example.MyApp",
        "payload": {
            "aps": {
                "event": "update",
                "timestamp": 1790000000,
                "content-state": {"score": "2:1"},
            }
        },
        "expiration": 0,
        "apns_request_id": IDENTIFIER,
        "campaign": "match-4711",
        **COMMON,
    }),
]
SCHEMAS = {"notifications": "notification-event.v1", "broadcasts": "broadcast-event.v1"}


def tool(name):
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed, so this example is NOT checked")
    return path


def run(*command, folder=None, **environment):
    ended = subprocess.run(
        [str(word) for word in command],
        cwd=folder, env={**os.environ, **environment}, capture_output=True, timeout=300,
    )
    assert ended.returncode == 0, (ended.stdout + ended.stderr).decode()
    return ended.stdout.decode()


# The command of each language's example, and its preparation.


def python(folder):
    return [sys.executable, "-W", "error", PRODUCERS / "python" / "producer.py"]


def java_libraries():
    """The jars that pom.xml names, taken from Apache Kafka's."""
    if kafka_home() is None:
        pytest.skip("KAFKA_HOME names no Apache Kafka, so the example in Java is NOT checked")
    pom = xml.etree.ElementTree.parse(PRODUCERS / "java" / "pom.xml")
    space = {"m": "http://maven.apache.org/POM/4.0.0"}
    jars = []
    for dependency in pom.iterfind(".//m:dependency", space):
        name, version = (dependency.findtext(f"m:{k}", "", space) for k in ("artifactId", "version"))
        jars.append(kafka_home() / "libs" / f"{name}-{version}.jar")
        # Maven would add these itself.
        if name == "jackson-databind":
            jars += [kafka_home() / "libs" / f"jackson-{n}-{version}.jar" for n in ("core", "annotations")]
    if not all(jar.exists() for jar in jars):
        pytest.skip(f"{kafka_home()} has other versions than pom.xml: {jars}")
    logging = [kafka_home().glob(f"libs/{name}-*.jar") for name in ("slf4j-api", "lz4-java", "snappy-java", "zstd-jni")]
    return jars + [jar for found in logging for jar in found]


def java(folder):
    compiler, machine = tool("javac"), tool("java")
    path = ":".join(map(str, [folder, *java_libraries()]))
    sources = sorted((PRODUCERS / "java" / "src").rglob("*.java"))
    run(compiler, "--release", "17", "-encoding", "UTF-8", "-Xlint:all", "-Werror", "-cp", path,
        "-d", folder, *sources)
    return [machine, "-cp", path, "com.example.producer.Main"]


def swift(folder):
    program = folder / "producer"
    sources = sorted((PRODUCERS / "swift" / "Sources").rglob("*.swift"))
    run(tool("swiftc"), "-swift-version", "6", "-warnings-as-errors", "-module-name", "producer",
        "-module-cache-path", folder / "cache", *sources, "-o", program)
    return [program]


def go(folder):
    program = folder / "producer"
    caches = {"GOCACHE": str(folder / "cache"), "GOPATH": str(folder / "path")}
    # Nothing is downloaded: the example needs only the standard library.
    alone = {**caches, "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local"}
    source = PRODUCERS / "go"
    assert run(tool("gofmt"), "-l", source) == "", "gofmt would change these"
    run(tool("go"), "vet", "./...", folder=source, **alone)
    run(tool("go"), "build", "-o", program, ".", folder=source, **alone)
    return [program]


def typescript(folder):
    compiler, machine = tool("tsc"), tool("node")
    run(compiler, "--project", PRODUCERS / "typescript", "--outDir", folder)
    return [machine, folder / "main.js"]


LANGUAGES = {f.__name__: f for f in (python, java, swift, go, typescript)}


@pytest.mark.takes(20)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_example_writes_the_expected_event(language, tmp_path):
    printed = run(*LANGUAGES[language](tmp_path))
    rows = [line.split("\t") for line in printed.splitlines()]
    assert [(topic, key, understood(value)) for topic, key, value in rows] == EXPECTED
    for topic, name in SCHEMAS.items():
        values = [value for there, _, value in rows if there == topic]
        for value in values:
            errors = contracts.validator(name).iter_errors(json.loads(value))
            assert [error.message for error in errors] == []
        assert_heliograph_takes(topic, values)


def understood(value):
    event = json.loads(value)
    now = datetime.datetime.now(datetime.timezone.utc)
    if "occurred_at" in event:
        # Go writes nanoseconds; Python parses six digits.
        text = re.sub(r"(\.\d{6})\d+", r"\1", event["occurred_at"]).replace("Z", "+00:00")
        age = now - datetime.datetime.fromisoformat(text)
        if abs(age) < datetime.timedelta(hours=1):
            event["occurred_at"] = "now"
    # An example event that has expired would fail for a newcomer.
    hours = (event.get("expiration", 0) - now.timestamp()) / 3600
    if 23 < hours < 25:
        event["expiration"] = "a day from now"
    # The case of a UUID does not matter.
    return {name: value.lower() if value == IDENTIFIER.upper() else value
            for name, value in event.items()}


def assert_heliograph_takes(topic, values):
    kind = ["--broadcast"] if topic == "broadcasts" else ["--payload", "strict"]
    ended = subprocess.run(
        [built_binary("heliograph"), "validate", *kind, "-"],
        input="\n".join(values), capture_output=True, text=True, timeout=60,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert len(ended.stdout.splitlines()) == len(values)


def test_the_examples_show_every_field():
    """So a new field of the schemas must be added to each language's types."""
    for topic, name in SCHEMAS.items():
        shown = {field for there, _, event in EXPECTED for field in event if there == topic}
        schema = json.loads((contracts.SCHEMAS / f"{name}.schema.json").read_text())
        assert shown == set(schema["properties"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_types_know_every_value(language):
    """For fields with a closed list of values."""
    schema = json.loads((contracts.SCHEMAS / "notification-event.v1.schema.json").read_text())
    sources = [path for path in (PRODUCERS / language).rglob("*") if path.suffix in
               (".py", ".java", ".swift", ".go", ".ts")]
    text = "\n".join(path.read_text() for path in sources)
    for field in ("push_type", "environment", "priority"):
        for value in schema["properties"][field]["enum"]:
            assert re.search(rf"(?<![\w-]){value}(?![\w-])", text), f"{field} {value}"


@pytest.mark.takes(20)
@pytest.mark.parametrize("language", ["python", "java"])
def test_the_example_writes_to_kafka(language, empty_broker, tmp_path):
    command = LANGUAGES[language](tmp_path)
    for topic in SCHEMAS:
        empty_broker.create(topic, 4)
    run(*command, empty_broker.bootstrap_servers)
    for topic in SCHEMAS:
        found = empty_broker.read_all(topic)
        written = {m.key().decode() + understood(m.value())["id"]: understood(m.value()) for m in found}
        expected = {key + event["id"]: event for there, key, event in EXPECTED if there == topic}
        assert written == expected and len(found) == len(expected)
        # By default, the partitioners of Java and librdkafka differ.
        assert {m.partition() for m in found} == {murmur2(m.key()) % 4 for m in found}


def murmur2(data):
    """Kafka's `Utils.murmur2`, made positive."""
    mask, seed, m = 0xFFFFFFFF, 0x9747B28C, 0x5BD1E995
    h = (seed ^ len(data)) & mask
    whole = len(data) // 4 * 4
    for start in range(0, whole, 4):
        k = int.from_bytes(data[start:start + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = (h * m & mask) ^ k
    rest = data[whole:]
    if rest:
        h = (h ^ int.from_bytes(rest, "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return (h ^ h >> 15) & 0x7FFFFFFF
