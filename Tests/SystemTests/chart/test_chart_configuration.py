"""The service accepts the rendered heliograph.yaml with the files that a pod sees."""

import json
import subprocess

import pytest
import yaml
from harness import chart
from harness.certificates import openssl, write_certificate
from harness.processes import built_binary, clean_environment

STATEFUL = chart.CHART / "ci" / "statefulset-values.yaml"
STRIMZI = chart.CHART / "ci" / "strimzi-values.yaml"
SCHEMA = {"type": "object", "required": ["aps"]}


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    """A key as Apple provides it, and a certificate for the app in the values."""
    folder = tmp_path_factory.mktemp("material")
    curve = ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
    openssl("genpkey", *curve, "-out", folder / "key.p8")
    write_certificate(folder / "certificate", app="com.example.Old")
    return folder


class Pod:
    """The files and variables that a container of the release sees."""

    def __init__(self, manifests, folder, material):
        self.folder, self.material = folder, material
        self.made = {
            (m["kind"], chart.name_of(m)): m["data"]
            for m in chart.of_kind(manifests, "ConfigMap", "Secret")
        }
        self.container = chart.container_of(manifests)
        self.volumes = {v["name"]: v for v in chart.pod_of(manifests)["spec"]["volumes"]}
        for mount in self.container["volumeMounts"]:
            self.mount(mount)
        self.text = chart.configuration_of(manifests)
        for mount in self.container["volumeMounts"]:
            self.text = self.text.replace(f"{mount['mountPath']}/", f"{self.path_of(mount)}/")
        # Unchanged, without the extension of a file name.
        self.text = self.text.replace("/etc/heliograph/schemas", f"{folder}/etc/heliograph/schemas")
        self.configuration = folder / "heliograph.yaml"
        self.configuration.write_text(self.text)

    def path_of(self, mount):
        return self.folder / mount["mountPath"].lstrip("/")

    def mount(self, mount):
        """Writes the files of the release's own objects; others get the content that their names suggest."""
        path = self.path_of(mount)
        path.mkdir(parents=True)
        volume = self.volumes[mount["name"]]
        known = self.made.get(("ConfigMap", volume.get("configMap", {}).get("name")))
        if known:
            for name, text in known.items():
                (path / name).write_text(text)
            return
        certificate = self.material / "certificate"
        key = (self.material / "key.p8").read_text()
        files = {
            "AuthKey_ABC123DEFG.p8": key,
            "key.p8": key,
            "key_file": key,
            "key-id": "ABC123DEFG",
            "username": "pushes",
            "password": "secret",
            "passphrase": "from-the-secret",
            "token": "as-long-as-it-has-to-be",
            "user.crt": "",
            "user.key": "",
            "push.pem": (certificate / "certificate.pem").read_text(),
            "push.key": (certificate / "key.pem").read_text(),
            "ca.crt": (certificate / "certificate.pem").read_text(),
            "tls.crt": (certificate / "certificate.pem").read_text(),
            "tls.key": (certificate / "key.pem").read_text(),
            "own.schema.json": json.dumps(SCHEMA),
        }
        for name, text in files.items():
            (path / name).write_text(text)

    def variables(self):
        given = {}
        for variable in self.container.get("env", []):
            source = variable.get("valueFrom", {})
            if "fieldRef" in source:
                assert source["fieldRef"]["fieldPath"] == "metadata.name"
                given[variable["name"]] = "push-heliograph-0"
            else:
                given[variable["name"]] = variable.get("value", "from-the-secret")
        return given

    def check(self):
        """Runs the container's command as `check`, as the chart's own test does."""
        assert self.container["command"][:2] == ["heliograph", "run"]
        return subprocess.run(
            [built_binary("heliograph"), "check", "--config", self.configuration],
            env={**clean_environment(), **self.variables()},
            capture_output=True,
            text=True,
            timeout=60,
        )


@pytest.mark.core
@pytest.mark.parametrize("values_file", chart.VALUES_FILES, ids=chart.parameter_name)
def test_the_service_accepts_the_configuration(values_file, tmp_path, material):
    pod = Pod(chart.render(values_file), tmp_path, material)
    ended = pod.check()
    assert ended.returncode == 0, f"{ended.stdout}{ended.stderr}\n{pod.text}"
    test = chart.only(chart.render(values_file), "Pod")["spec"]["containers"][0]
    command = pod.container["command"]
    assert test["command"] == [command[0], "check", "--connect", *command[2:]]
    assert test.get("env") == pod.container.get("env")
    assert test["volumeMounts"] == pod.container["volumeMounts"]


def test_check_reports_a_bad_key(tmp_path, material):
    pod = Pod(chart.render(), tmp_path, material)
    (tmp_path / "etc/heliograph/credentials/example/AuthKey_ABC123DEFG.p8").write_text("no key")
    ended = pod.check()
    assert ended.returncode == 1
    assert "apns.credentials.0.key_file" in ended.stdout + ended.stderr


def settings(values=None, values_file=chart.LEAST):
    return yaml.safe_load(chart.configuration_of(chart.render(values_file, values)))


def test_config_is_passed_through_unchanged():
    given = {
        "retry": {"attempts": 7, "later": []},
        "tokens": {"max_suppressed": 100000000, "dedup_window": 10000000},
        "limits": {"rates": [{"bundle_id": "com.example.*", "requests_per_second": 1000000}]},
        "kafka": {"properties": {"session.timeout.ms": 60000, "client.rack": "{{ no template }}"}},
    }
    rendered = settings({"config": given, "resources": {"limits": {"memory": "4Gi"}}})
    for section, keys in given.items():
        for key, value in keys.items():
            assert rendered[section][key] == value
            assert type(rendered[section][key]) is type(value)


@pytest.mark.parametrize("off", [None, ""])
@pytest.mark.parametrize("key", ["token_status_topic", "dead_letter_topic"])
def test_null_turns_a_topic_off_although_helm_drops_the_key(key, off):
    rendered = settings({"config": {"results": {key: off}}})["results"]
    assert key in rendered and rendered[key] is None


def test_credentials_are_sorted_by_name():
    other = {"bundle_ids": ["org.example"], "certificate_file": "/x.p12"}
    named = settings({"credentials": {"zebra": other, "aardvark": other}})["apns"]["credentials"]
    assert [credential["name"] for credential in named] == ["aardvark", "example", "zebra"]


LOGIN_FILES = {
    "sasl.username_file": "/etc/heliograph/kafka-username/username",
    "sasl.password_file": "/etc/heliograph/kafka-password/password",
}


@pytest.mark.parametrize(
    "kafka, properties",
    [
        ({}, {}),
        ({"tls": {"enabled": True}}, {"security.protocol": "SSL"}),
        (
            {"sasl": {"mechanism": "PLAIN", "existingSecret": "a"}},
            {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", **LOGIN_FILES},
        ),
        (
            {
                "sasl": {"mechanism": "SCRAM-SHA-512", "existingSecret": "a"},
                "tls": {"enabled": True, "ca": {"secret": "b"}},
            },
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "SCRAM-SHA-512",
                "ssl.ca.location": "/etc/heliograph/kafka-ca/ca.crt",
                **LOGIN_FILES,
            },
        ),
        (
            {"tls": {"enabled": True, "client": {"secret": "b", "passphraseKey": "c"}}},
            {
                "security.protocol": "SSL",
                "ssl.certificate.location": "/etc/heliograph/kafka-client/tls.crt",
                "ssl.key.location": "/etc/heliograph/kafka-client/tls.key",
                "ssl.key.password_file": "/etc/heliograph/kafka-client/c",
            },
        ),
    ],
)
def test_tls_and_sasl_become_librdkafka_properties(kafka, properties):
    assert settings({"kafka": kafka})["kafka"]["properties"] == properties


@pytest.mark.parametrize("kind, secret", [("scram-sha-512", "password"), ("tls", "user.crt")])
def test_the_service_logs_in_as_the_strimzi_user(kind, secret):
    manifests = chart.render(STRIMZI, {"strimzi": {"user": {"type": kind}}})
    user = chart.name_of(chart.only(manifests, "KafkaUser"))
    properties = yaml.safe_load(chart.configuration_of(manifests))["kafka"]["properties"]
    assert properties["ssl.ca.location"] == "/etc/heliograph/kafka-ca/ca.crt"
    volumes = {
        v["name"]: v.get("secret", {}).get("secretName")
        for v in chart.pod_of(manifests)["spec"]["volumes"]
    }
    assert volumes["kafka-ca"] == "events-cluster-ca-cert"
    if kind == "tls":
        assert volumes["kafka-client"] == user
        assert properties["ssl.certificate.location"].endswith(f"/{secret}")
        return
    assert volumes["kafka-password"] == user
    assert properties["sasl.password_file"] == f"/etc/heliograph/kafka-password/{secret}"


def topics_by_rights(manifests):
    acls = chart.only(manifests, "KafkaUser")["spec"]["authorization"]["acls"]
    return {
        (acl["resource"]["type"], acl["resource"]["name"]): set(acl["operations"]) for acl in acls
    }


def test_topics_and_acls_match_what_the_service_needs():
    values = {
        "config": {
            "retry": {"later": ["60s", "90s", "3600s"]},
            "sources": [{"topic": "in"}],
            "campaigns": {"topic": "orders", "tally_topic": "tallies"},
        },
        "strimzi": {"user": {"operatorCommands": False}},
    }
    manifests = chart.render(STRIMZI, values)
    reads, writes = ({right, "Describe", "DescribeConfigs"} for right in ("Read", "Write"))
    assert topics_by_rights(manifests) == {
        ("group", "heliograph"): {"Read", "Describe"},
        ("topic", "in"): reads,
        # Named as the service names them: in the largest unit that divides the delay.
        ("topic", "in.retry.1m"): reads | writes,
        ("topic", "in.retry.90s"): reads | writes,
        ("topic", "in.retry.1h"): reads | writes,
        ("topic", "notifications.results"): writes,
        ("topic", "notifications.token-status"): reads | writes,
        ("topic", "notifications.dead-letters"): writes,
        ("topic", "orders"): reads,
        ("topic", "tallies"): writes,
        ("transactionalId", "heliograph-"): {"Write", "Describe"},
    }
    values["strimzi"]["user"]["operatorCommands"] = True
    assert topics_by_rights(chart.render(STRIMZI, values))["topic", "orders"] == reads | writes
    partitions = {
        topic["spec"]["topicName"]: topic["spec"]["partitions"]
        for topic in chart.of_kind(manifests, "KafkaTopic")
    }
    assert partitions["orders"] == 1 and partitions["in"] == 24
    configured = {
        topic["spec"]["topicName"]: topic["spec"]["config"]["cleanup.policy"]
        for topic in chart.of_kind(manifests, "KafkaTopic")
    }
    assert {name for name, policy in configured.items() if policy == "compact"} == {
        "notifications.token-status", "orders"
    }
    assert configured["tallies"] == "compact,delete"
    assert {("topic", name) for name in configured} | {
        ("group", "heliograph"),
        ("transactionalId", "heliograph-"),
    } == set(topics_by_rights(manifests))


def test_topics_survive_the_release_and_retry_topics_outlast_their_events():
    values = {"config": {"retry": {"give_up_after": "48h"}}}
    for topic in chart.of_kind(chart.render(STRIMZI, values), "KafkaTopic"):
        assert topic["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
        if ".retry." in topic["spec"]["topicName"]:
            assert topic["spec"]["config"]["retention.ms"] == (7 + 2) * 24 * 3600 * 1000


def test_single_topics_can_be_overridden():
    overrides = {
        "Bulk_Notifications": {
            "partitions": 48,
            "config": {"retention.ms": 86400000, "compression.type": "zstd"},
        },
        "broadcasts": {"partitions": 1, "replicas": 1},
        "notifications.dead-letters": {"enabled": False},
    }
    manifests = chart.render(STRIMZI, {"strimzi": {"topics": {"overrides": overrides}}})
    made = {
        topic["spec"].pop("topicName"): topic["spec"]
        for topic in chart.of_kind(manifests, "KafkaTopic")
    }
    assert "notifications.dead-letters" not in made
    bulk, other = made["Bulk_Notifications"], made["notifications"]
    assert (bulk["partitions"], other["partitions"]) == (48, 24)
    assert bulk["config"] == {
        **other["config"],
        "retention.ms": 86400000,
        "compression.type": "zstd",
    }
    assert made["broadcasts"] == {**other, "partitions": 1, "replicas": 1}


def test_the_commands_get_more_rights_only_on_request():
    less, more = (
        topics_by_rights(chart.render(STRIMZI, {"strimzi": {"user": {"operatorCommands": on}}}))
        for on in (False, True)
    )
    gained = {name: more[name] - less[name] for name in more if more[name] != less[name]}
    assert gained[("topic", "notifications.dead-letters")] == {"Read"}
    assert gained[("topic", "notifications")] == {"Write"}
