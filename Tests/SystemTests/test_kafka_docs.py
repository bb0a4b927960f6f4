"""docs/kafka.md: the service accepts its examples, and its table has every topic."""

import re

import pytest
import yaml

from harness.certificates import openssl
from harness.commands import run_command
from harness.processes import ROOT

TEXT = (ROOT / "docs" / "kafka.md").read_text()
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```", TEXT, re.M | re.S)
FOLDER = "/etc/heliograph/kafka"


def test_there_is_an_example_of_each_kind():
    protocols = [yaml.safe_load(text)["kafka"]["properties"] for text in EXAMPLES]
    assert [p["security.protocol"] for p in protocols] == ["ssl", "ssl", *["sasl_ssl"] * 3]
    mechanisms = {None, "SCRAM-SHA-512", "PLAIN", "OAUTHBEARER"}
    assert {p.get("sasl.mechanism") for p in protocols} == mechanisms


@pytest.fixture
def settings(simulators, tmp_path):
    apns = simulators().ready
    openssl(
        *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=heliograph"),
        *("-keyout", tmp_path / "client.key", "-out", tmp_path / "client.pem", "-days", "2"),
    )
    (tmp_path / "ca.pem").write_bytes((tmp_path / "client.pem").read_bytes())
    (tmp_path / "password").write_text("s3cret\n")
    (tmp_path / "token").write_text("s3cret\n")
    names = ("team_id", "key_id", "key_file")
    credential = {"name": "example", "bundle_ids": ["com.example.App"]}
    return {"apns": {"credentials": [credential | {name: apns[name] for name in names}]}}


@pytest.mark.parametrize("text", EXAMPLES)
def test_check_accepts_the_example(settings, tmp_path, text):
    example = yaml.safe_load(text.replace(FOLDER, str(tmp_path)))
    password = {}
    properties = example["kafka"]["properties"]
    if "sasl.username" in properties and "sasl.password_file" not in properties:
        # The page takes it from a secret; `check` requires it as `run` does.
        missing = run_command(tmp_path, settings | example, "check")
        assert missing.code == 1, missing.output
        assert "which needs sasl.username and sasl.password" in missing.output
        password = {"HELIOGRAPH_KAFKA_PROPERTIES_SASL_PASSWORD": "s3cret"}
    ended = run_command(tmp_path, settings | example, "check", environment=password)
    assert ended.code == 0, ended.output
    assert "s3cret" not in ended.output
    for name, value in properties.items():
        is_secret = name == "sasl.username"
        shown = "(hidden)" if is_secret else value
        assert f"kafka.properties.{name}: {shown}" in ended.out


def test_check_refuses_a_broken_example(settings, tmp_path):
    """Shows that the test above can fail: with an invalid value, and with a misspelled key."""
    example = yaml.safe_load(EXAMPLES[0].replace(FOLDER, str(tmp_path)))
    for name, value in [("security.protocol", "tls"), ("ssl.ca.loc", "x")]:
        spoilt = {"kafka": {"properties": example["kafka"]["properties"] | {name: value}}}
        ended = run_command(tmp_path, settings | spoilt, "check")
        assert ended.code == 1, ended.output


CANARY = ("canary", "--token", "a" * 64, "--bundle-id", "com.example.App")


@pytest.mark.parametrize(
    "words",
    [
        ("check",), ("run",), ("tail",), ("dead-letters", "list"), ("dead-letters", "replay"),
        ("campaigns", "list"), ("campaigns", "show", "spring"), ("campaigns", "pause", "spring"),
        CANARY,
    ],
    ids=lambda words: "-".join(words[:2]),
)  # fmt: skip
def test_every_command_refuses_tls_without_a_protocol(settings, tmp_path, words):
    """It would connect in plain text."""
    kafka = {"properties": {"ssl.ca.location": str(tmp_path / "ca.pem")}}
    topics = {"campaigns": {"topic": "orders"}}
    ended = run_command(tmp_path, settings | {"kafka": kafka} | topics, *words)
    assert ended.code == 1, ended.output
    assert "kafka.properties.ssl.ca.location: has no effect without" in ended.output


def test_the_table_has_every_topic_of_the_service(settings, tmp_path, empty_broker):
    kafka = {
        "bootstrap_servers": empty_broker.bootstrap_servers,
        "properties": {"topic.metadata.propagation.max.ms": 0},
    }
    ended = run_command(tmp_path, settings | {"kafka": kafka}, "run")
    assert ended.code == 1, ended.output
    commands = re.findall(r"--create --topic (\S+) .*?--partitions \d+(.*)", ended.output)
    assert len(commands) == 6, ended.output
    rows = [line for line in TEXT.splitlines() if line.startswith("| `notifications")]
    for topic, options in commands:
        [row] = [row for row in rows if f"`{topic}`" in row]
        policy = re.search(r"cleanup.policy=(\w+)", options)
        if policy:
            assert f"`cleanup.policy={policy[1]}`" in row, row
