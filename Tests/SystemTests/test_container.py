"""Checks Dockerfile, docker-compose.yml and the files under deploy/ without Docker."""

import functools
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest
import yaml
from harness.processes import ROOT, built_binary, clean_environment

# Programs that pip installs next to the tests' Python.
TOOLS = pathlib.Path(sys.executable).parent
DEPLOY = ROOT / "deploy"
PROFILES = ("demo", "real")
# The variables that Compose requires in the profile "real".
CREDENTIAL = {
    "APNS_TEAM_ID": "DEF123GHIJ",
    "APNS_KEY_ID": "ABC123DEFG",
    "APNS_BUNDLE_ID": "com.example.News",
}


@functools.cache
def compose(profile):
    """The services of a profile, as Compose itself parses the file."""
    ended = subprocess.run(
        [TOOLS / "docker-compose", "--profile", profile, "config", "--no-path-resolution"],
        cwd=ROOT,
        env={**os.environ, **CREDENTIAL},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    assert not ended.stderr, ended.stderr
    return yaml.safe_load(ended.stdout)


def all_services():
    return {name: s for profile in PROFILES for name, s in compose(profile)["services"].items()}


def port_of_admin(service):
    return service["ports"][0]["target"]


def bound_files(service):
    """{path inside: path in the repository} of a service's bind mounts."""
    return {
        mount["target"]: mount["source"]
        for mount in service.get("volumes", ())
        if mount["type"] == "bind"
    }


def test_the_dockerfile_has_no_lint_findings():
    ended = subprocess.run([TOOLS / "hadolint", ROOT / "Dockerfile"], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_dockerfile_copies_nothing_that_is_ignored():
    """.dockerignore excludes everything except the paths that are copied."""
    text = (ROOT / "Dockerfile").read_text()
    copied = {line.split()[1] for line in text.splitlines() if re.match(r"COPY [^-]", line)}
    named = re.findall(r"(?m)^!(.+)$", (ROOT / ".dockerignore").read_text())
    assert copied == set(named)
    assert all((ROOT / name).exists() for name in named)


@pytest.mark.parametrize("profile", PROFILES)
def test_each_profile_has_its_services(profile):
    names = set(compose(profile)["services"])
    everywhere = {"kafka", "topics", "prometheus", "grafana"}
    own = {"demo": {"heliograph-demo", "apns-simulator", "load"}, "real": {"heliograph-real"}}
    assert names == everywhere | own[profile]


def test_services_are_hardened():
    for name, service in all_services().items():
        assert_hardened(name, service)


def assert_hardened(name, service):
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.get("privileged")
    # Kafka writes its configuration at startup.
    assert service.get("read_only") or name in ("kafka", "topics")
    image, _, tag = service["image"].rpartition(":")
    assert image and re.fullmatch(r"local|v?\d+\.\d+\.\d+", tag), service["image"]
    # Images that no registry has are built, by this service or another one.
    assert (tag == "local") == ("build" in service or service.get("pull_policy") == "never")
    for port in service.get("ports", ()):
        assert port["host_ip"] == "127.0.0.1", "open to the network"
    # Jobs end, and producers listen on no port.
    assert "healthcheck" in service or name in ("topics", "load")


def test_builds_name_stages_of_the_dockerfile():
    stages = re.findall(r"(?m)^FROM \S+ AS (\S+)$", (ROOT / "Dockerfile").read_text())
    targets = {s["build"]["target"] for s in all_services().values() if "build" in s}
    assert targets == {"service", "lab"} and targets <= set(stages)


@pytest.mark.parametrize("profile", PROFILES)
def test_each_image_is_built_by_one_service(profile):
    """With containerd's image store, a second build of the same tag fails because it exists."""
    services = compose(profile)["services"].values()
    local = {s["image"] for s in services if s["image"].endswith(":local")}
    assert sorted(s["image"] for s in services if "build" in s) == sorted(local)


def test_mounted_files_exist():
    for name, service in all_services().items():
        for inside, source in bound_files(service).items():
            assert source == "/dev/null" or (ROOT / source).exists(), f"{name}: {inside}"


@pytest.mark.parametrize("profile", PROFILES)
def test_the_image_names_the_configuration_that_compose_mounts(profile):
    """So commands in the container need no option, and the service neither."""
    text = (ROOT / "Dockerfile").read_text()
    [path] = re.findall(r"(?m)^ENV HELIOGRAPH_CONFIG=(\S+)$", text)
    assert path in bound_files(compose(profile)["services"][f"heliograph-{profile}"])
    assert text.rstrip().endswith('CMD ["run"]')


@pytest.mark.parametrize("profile", PROFILES)
def test_the_configuration_passes_heliograph_check(profile, tmp_path, simulators):
    """With a key in place; the variables are those that Compose sets."""
    service = compose(profile)["services"][f"heliograph-{profile}"]
    path = ROOT / bound_files(service)["/etc/heliograph/heliograph.yaml"]
    apns = simulators().ready
    text = path.read_text()
    text = text.replace("/etc/heliograph/apns/key.p8", apns["key_file"])
    text = text.replace("/etc/heliograph/apns/ca.pem", apns["ca_file"])
    file = tmp_path / "heliograph.yaml"
    file.write_text(text)
    ended = subprocess.run(
        [built_binary("heliograph"), "check", "--config", file],
        env={**clean_environment(), **service.get("environment", {})},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    assert port_of_admin(service) == 9464 and "port: 9464" in ended.stdout


def test_the_demo_matches_the_settings_of_the_simulator():
    """Names, ports, key and team equal those of the simulator's command line."""
    services = compose("demo")["services"]
    command = services["apns-simulator"]["command"]
    options = dict(word.removeprefix("--").split("=", 1) for word in command if "=" in word)
    settings = yaml.safe_load((DEPLOY / "heliograph" / "demo.yaml").read_text())["apns"]
    host = options["host-name"]
    assert host == "apns-simulator"
    assert settings["endpoints"] == {
        "production": f"https://{host}:{options['production-port']}",
        "sandbox": f"https://{host}:{options['sandbox-port']}",
    }
    shared = {name: pathlib.Path(options[f"write-{name}"]).name for name in ("ca", "key")}
    assert pathlib.Path(settings["ca_file"]).name == shared["ca"]
    assert pathlib.Path(settings["credentials"][0]["key_file"]).name == shared["key"]
    keys = (ROOT / "Sources" / "heliograph-lab" / "SimulatedKeys.swift").read_text()
    assert f'ownKeyID = "{settings["credentials"][0]["key_id"]}"' in keys
    assert f'ownTeamID = "{settings["credentials"][0]["team_id"]}"' in keys


@pytest.mark.parametrize("name", ["apns-simulator", "load"])
def test_the_lab_accepts_its_command_line(name):
    """The program itself parses it: an unknown option exits with 64."""
    command = compose("demo")["services"][name]["command"]
    ended = subprocess.run(
        [built_binary("heliograph-lab"), *command, "--help"], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    known = set(re.findall(r"--[a-z-]+", ended.stdout))
    assert {word.split("=")[0] for word in command[1:]} <= known


def test_the_load_generator_reaches_kafka(broker):
    topic = broker.create("load", 2)
    command = ["load", "--bootstrap-servers", broker.bootstrap_servers, "--topic", topic]
    ended = subprocess.run(
        [built_binary("heliograph-lab"), *command, "--rate", "1000", "--count", "250"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == '{"produced":250,"acknowledged":250,"refused":0}'
    broker.wait_for_count(topic, 250)


@pytest.mark.parametrize("profile", PROFILES)
def test_created_topics_are_those_of_the_configuration(profile, tmp_path):
    """Runs the script with a stand-in for Kafka's tool that records its arguments."""
    noted = tmp_path / "noted"
    kafka = tmp_path / "kafka-topics.sh"
    kafka.write_text(f'#!/bin/sh\necho "$@" >> {shlex.quote(str(noted))}\n')
    kafka.chmod(0o755)
    script = (DEPLOY / "kafka" / "create-topics.sh").read_text()
    script = script.replace("/opt/kafka/bin/kafka-topics.sh", str(kafka))
    subprocess.run(
        ["sh", "-c", script], env={**os.environ, "BOOTSTRAP_SERVERS": "kafka:9092"}, check=True
    )
    created = {}
    for line in noted.read_text().splitlines():
        words = line.split()
        created[words[words.index("--topic") + 1]] = set(words)
    settings = yaml.safe_load((DEPLOY / "heliograph" / f"{profile}.yaml").read_text())
    source = settings["sources"][0]["topic"]
    ends = ("", ".results", ".token-status", ".dead-letters", ".retry.1m", ".retry.15m")
    assert set(created) == {source + end for end in ends}
    for name, words in created.items():
        assert ("cleanup.policy=compact" in words) == name.endswith(".token-status")


def test_the_prometheus_configuration_is_valid():
    """As mounted, with the rules next to it."""
    mounts = bound_files(compose("demo")["services"]["prometheus"])
    file = ROOT / mounts["/etc/prometheus/prometheus.yml"]
    settings = yaml.safe_load(file.read_text())
    for rules in settings["rule_files"]:
        assert f"/etc/prometheus/{rules}" in mounts
    ended = subprocess.run(
        ["promtool", "check", "config", "--syntax-only", file], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (target,) = settings["scrape_configs"][0]["dns_sd_configs"]
    services = all_services()
    for profile in PROFILES:
        service = services[f"heliograph-{profile}"]
        assert target["names"] == service["networks"]["default"]["aliases"]
        assert target["port"] == port_of_admin(service)


def test_grafana_finds_dashboard_and_prometheus():
    services = compose("demo")["services"]
    mounts = bound_files(services["grafana"])
    provisioning = ROOT / mounts["/etc/grafana/provisioning"]
    (provider,) = yaml.safe_load((provisioning / "dashboards" / "heliograph.yml").read_text())[
        "providers"
    ]
    home = services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home in mounts and os.path.dirname(home) == provider["options"]["path"]
    (source,) = yaml.safe_load((provisioning / "datasources" / "prometheus.yml").read_text())[
        "datasources"
    ]
    assert source["type"] == "prometheus" and source["isDefault"]
    port = services["prometheus"]["ports"][0]["target"]
    assert source["url"] == f"http://prometheus:{port}"


def test_the_health_command_reports_by_exit_code(broker, simulators, benches):
    """0 for a live service, 1 for anything else, 64 for an invalid URL."""

    def health(url):
        command = [built_binary("heliograph"), "health", "--url", url, "--timeout", "20"]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    service = benches(broker).run(simulators())
    assert health(f"http://127.0.0.1:{service.port}/live").returncode == 0
    assert health(f"http://localhost:{service.port}/ready").returncode == 0
    missing = health(f"http://127.0.0.1:{service.port}/nothing")
    assert missing.returncode == 1 and "status 404" in missing.stderr
    service.drain()
    assert health(f"http://127.0.0.1:{service.port}/live").returncode == 1
    for url in ("https://127.0.0.1:1/live", "http://[::1/live", "http://:80/", "http://a:0/"):
        wrong = health(url)
        assert wrong.returncode == 64 and "--url: invalid value" in wrong.stderr, url
