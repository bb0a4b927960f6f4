"""Values that cannot work are refused with a message that names the value."""

import functools
import re
import subprocess
import sys

import pytest
import yaml
from harness import chart

CREDENTIAL = {"team_id": "DEF123GHIJ", "key_id": "ABC123DEFG", "bundle_ids": ["org.example"]}
SASL = {"mechanism": "PLAIN", "existingSecret": "login"}
LOOPBACK = ["127.0.0.1", "127.1.2.3", "localhost", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1"]
STRIMZI_USER = {"cluster": "events", "user": {"enabled": True}}


def credential(**fields):
    return {"credentials": {"other": {**CREDENTIAL, **fields}}}


def keda(**fields):
    return {"autoscaling": {"keda": {"enabled": True, **fields}}}


def hpa(**fields):
    return {"autoscaling": {"hpa": {"enabled": True, **fields}}}


REFUSED = [
    # Refused by templates.
    ({"canary": {"enabled": True, "tokenSecret": {"name": "t"}}}, "canary.bundleId: name an app"),
    ({"canary": {"enabled": True, "bundleId": "a.b"}}, "canary.tokenSecret.name: name a Secret"),
    ({"canary": {"intervalSeconds": 121}}, "canary"),
    (credential(), "credentials.other: has no key_file and no certificate_file"),
    (credential(existingSecret="s"), "credentials.other.files: map files to keys of the Secret s"),
    (credential(files={"key_file": "k"}), "credentials.other.existingSecret: name the Secret"),
    (
        credential(existingSecret="s", files={"key_file": "k"}, inlineFiles={"key_file": "text"}),
        "credentials.other: set either existingSecret or inlineFiles",
    ),
    ({"config": {"apns": {"credentials": [CREDENTIAL]}}}, "config.apns.credentials: put them into"),
    ({"config": {"sources": []}}, "config.sources: name at least one topic"),
    ({"config": {"admin": {"port": 0}}}, "config.admin.port: probes and scrapes need a fixed port"),
    *[
        (
            {"config": {"admin": {"host": host}}},
            "config.admin.host: probes and scrapes use the pod's address",
        )
        for host in LOOPBACK
    ],
    *[
        ({"config": {section: None}}, f"config.{section}: null removes keys")
        for section in ("kafka", "results", "admin")
    ],
    *[
        ({"config": {section: {key: None}}}, f"config.{section}.{key}: null removes the default")
        for section, key in [
            ("kafka", "bootstrap_servers"),
            ("kafka", "group_id"),
            ("results", "topic"),
        ]
    ],
    (
        {"config": {"kafka": {"group_instance_id": "a"}}},
        "config.kafka.group_instance_id: all pods would have the same",
    ),
    (
        {"config": {"results": {"transactional_id": "a"}}},
        "config.results.transactional_id: all pods would have the same",
    ),
    (
        {"config": {"schemas": {"directory": "/a"}}, "ownSchemas": {"existingConfigMap": "b"}},
        "config.schemas.directory: leave it out, because ownSchemas sets it",
    ),
    (
        {"ownSchemas": {"existingConfigMap": "a", "inline": {"b.json": "{}"}}},
        "ownSchemas: set either existingConfigMap or inline",
    ),
    ({"files": {"apns.ca_file": {"key": "a"}}}, "files.apns.ca_file: name either a secret or a"),
    (
        {"files": {"apns.ca_file": {"secret": "a", "configMap": "a", "key": "a"}}},
        "files.apns.ca_file: name either a secret or a",
    ),
    (
        {
            "files": {"apns.ca_file": {"secret": "a", "key": "a"}},
            "config": {"apns": {"ca_file": "/a"}},
        },
        "config.apns.ca_file: leave it out, because files sets it",
    ),
    (
        {"files": {"admin.bearer_token_file": {"configMap": "a", "key": "a"}}},
        "files.admin.bearer_token_file: this file is confidential",
    ),
    ({"terminationGracePeriodSeconds": 20}, "terminationGracePeriodSeconds: 20 s is too short"),
    (
        {"config": {"limits": {"drain_timeout": "1m"}}, "terminationGracePeriodSeconds": 70},
        "terminationGracePeriodSeconds: 70 s is too short",
    ),
    (
        {"autoscaling": {"keda": {"enabled": True}, "hpa": {"enabled": True}}},
        "autoscaling: enable either keda or hpa",
    ),
    (keda(minReplicas=7), "autoscaling.keda.minReplicas: is more than maxReplicas"),
    (hpa(minReplicas=7), "autoscaling.hpa.minReplicas: is more than maxReplicas"),
    (
        keda(limitToPartitionsWithLag=True, allowIdleConsumers=True),
        "autoscaling.keda.limitToPartitionsWithLag: cannot be combined with",
    ),
    (
        keda(ensureEvenDistributionOfPartitions=True),
        "autoscaling.keda.ensureEvenDistributionOfPartitions: KEDA counts a pod as one consumer",
    ),
    *[
        (
            {**keda(), **login},
            "autoscaling.keda: KEDA cannot read a login in librdkafka properties",
        )
        for login in (
            {"config": {"kafka": {"properties": {"security.protocol": "SASL_SSL"}}}},
            {"kafka": {"secretProperties": {"sasl.password": {"secret": "a", "key": "a"}}}},
            {"kafka": {"secretProperties": {"security.protocol": {"secret": "a", "key": "a"}}}},
            {"extraEnv": [{"name": "HELIOGRAPH_KAFKA_PROPERTIES_SASL_USERNAME", "value": "a"}]},
        )
    ],
    (hpa(targetCPUUtilizationPercentage=None), "autoscaling.hpa: nothing to scale on"),
    (
        {**hpa(), "resources": {"requests": {"cpu": None}}},
        "resources.requests.cpu: autoscaling.hpa scales on a percentage",
    ),
    (
        {"podMonitor": {"enabled": True}, "serviceMonitor": {"enabled": True}},
        "serviceMonitor: enable only one",
    ),
    (
        {"podDisruptionBudget": {"maxUnavailable": None}},
        "podDisruptionBudget: set maxUnavailable or minAvailable",
    ),
    (
        {"updateStrategy": {"maxSurge": 0}},
        "updateStrategy: maxSurge and maxUnavailable cannot both be 0",
    ),
    (
        {
            "staticMembership": {"enabled": True},
            "extraEnv": [{"name": "HELIOGRAPH_KAFKA_GROUP_INSTANCE_ID", "value": "a"}],
        },
        "extraEnv: the chart sets HELIOGRAPH_KAFKA_GROUP_INSTANCE_ID itself",
    ),
    *[
        (
            {"extraEnv": [{"name": name, "value": "a"}]},
            f"extraEnv: use {key} instead of {name}",
        )
        for name, key in [
            ("HELIOGRAPH_ADMIN_HOST", "config.admin.host"),
            ("HELIOGRAPH_ADMIN_PORT", "config.admin.port"),
            ("HELIOGRAPH_LIMITS_DRAIN_TIMEOUT", "config.limits.drain_timeout"),
        ]
    ],
    ({"kafka": {"sasl": {"mechanism": "PLAIN"}}}, "kafka.sasl.existingSecret: name the Secret"),
    ({"kafka": {"sasl": {"existingSecret": "a"}}}, "kafka.sasl.mechanism: set it"),
    (
        {"kafka": {"sasl": {**SASL, "password": "a"}}},
        "kafka.sasl: set either existingSecret or password",
    ),
    ({"kafka": {"tls": {"ca": {"secret": "a"}}}}, "kafka.tls.enabled: set it, or leave out"),
    (
        {"kafka": {"sasl": SASL}, "config": {"kafka": {"properties": {"security.protocol": "a"}}}},
        "config.kafka.properties.security.protocol: leave it out, because kafka.sasl",
    ),
    (
        {"config": {"kafka": {"properties": {"sasl.password": "a"}}}},
        "config.kafka.properties.sasl.password: it is confidential",
    ),
    (
        {"config": {"kafka": {"properties": {"sasl.oauthbearer.client.secret": "a"}}}},
        "config.kafka.properties.sasl.oauthbearer.client.secret: it is confidential",
    ),
    ({"strimzi": {"topics": {"enabled": True}}}, "strimzi.cluster: name the Kafka resource"),
    (
        {"strimzi": {"topics": {"overrides": {"notification": {"partitions": 1}}}}},
        "strimzi.topics.overrides.notification: the configuration has no such topic; its topics",
    ),
    ({"config": {"shards": None}}, "config.shards: null means one for each core"),
    *[
        ({"config": config, "resources": {"limits": {"memory": memory}}}, f": {memory} is less")
        for memory, config in [
            ("230Mi", {}),
            ("242M", {}),
            ("0.22Gi", {}),
            ("242000000", {}),
            ("512Mi", {"shards": 12}),
            ("1363Mi", {"limits": {"in_flight_events": 1000000}}),
            ("512Mi", {"limits": {"in_flight_bytes": "512MiB"}}),
            ("512Mi", {"limits": {"in_flight_bytes": 536870912}}),
            ("1G", {"tokens": {"max_suppressed": 30000000}}),
        ]
    ],
    (
        {
            "strimzi": {"cluster": "a", "topics": {"enabled": True}},
            "config": {"kafka": {"create_topics": True}},
        },
        "config.kafka.create_topics: leave it false, because strimzi.topics",
    ),
    ({"strimzi": STRIMZI_USER, "kafka": {"sasl": SASL}}, "kafka.sasl.mechanism: leave it empty"),
    (
        {"strimzi": {"cluster": "a", "user": {"enabled": True, "type": "tls"}}},
        "kafka.tls.enabled: set it, because strimzi.user.type tls needs it",
    ),
    ({"strimzi": {**STRIMZI_USER, "namespace": "b"}}, "strimzi.namespace: pods cannot read"),
    # Refused by the schema.
    ({"replicas": 3}, "additional properties 'replicas' not allowed"),
    ({"image": {"repo": "a"}}, "'/image': additional properties 'repo' not allowed"),
    ({"image": {"digest": "sha256:1"}}, "/image/digest"),
    ({"config": {"shard": 3}}, "'/config': additional properties 'shard' not allowed"),
    ({"config": {"shards": 0}}, "/config/shards"),
    ({"config": {"kafka": {"bootstrap_servers": "a:1,b"}}}, "/config/kafka/bootstrap_servers"),
    ({"config": {"retry": {"here_for": "30 s"}}}, "/config/retry/here_for"),
    ({"config": {"limits": {"in_flight_bytes": "64 MB"}}}, "/config/limits/in_flight_bytes"),
    ({"config": {"log": {"level": "verbose"}}}, "/config/log/level"),
    ({"config": {"sources": [{"weight": 1}]}}, "missing property 'topic'"),
    (
        {"config": {"limits": {"rates": [{"bundle_id": "a"}]}}},
        "missing property 'requests_per_second'",
    ),
    ({"credentials": {"Example": CREDENTIAL}}, "/credentials"),
    (credential(keyfile="/a"), "additional properties 'keyfile' not allowed"),
    (credential(inlineFiles={"p12": "a"}), "/credentials/other/inlineFiles"),
    ({"credentials": {"other": {"key_file": "/a"}}}, "missing property 'bundle_ids'"),
    ({"files": {"log.file": {"secret": "a", "key": "a"}}}, "/files"),
    ({"kafka": {"sasl": {"mechanism": "GSSAPI"}}}, "/kafka/sasl/mechanism"),
    (keda(minReplicas=0), "/autoscaling/keda/minReplicas"),
    ({"strimzi": {"user": {"type": "plain"}}}, "/strimzi/user/type"),
]


@functools.cache
def refusal(row):
    return chart.refusal(REFUSED[row][0])


@pytest.mark.parametrize("row", range(len(REFUSED)), ids=[text[:60] for _, text in REFUSED])
def test_values_that_cannot_work_are_refused(row):
    assert REFUSED[row][1] in refusal(row)


def test_a_chart_without_credentials_says_in_one_line_what_to_do():
    ended = chart.helm("template", "push", chart.CHART)
    assert ended.returncode != 0
    [line] = [line for line in ended.stderr.splitlines() if line and "--debug" not in line]
    assert "credentials: name at least one APNs credential" in line
    named = re.search(r"--values (helm/heliograph/\S+\.yaml)", line)[1]
    assert chart.template(chart.ROOT / named).returncode == 0


def test_every_refusal_in_the_templates_has_a_row():
    source = (chart.CHART / "templates" / "_validate.tpl").read_text()
    sentences = re.findall(r'fail (?:\(printf )?"([^"]+)"', source)
    assert len(sentences) == len(re.findall(r"\bfail\b", source))
    said = "\n".join(map(refusal, range(len(REFUSED))))
    said += chart.refusal({}, values_file=chart.CHART / "values.yaml")
    for sentence in sentences:
        assert re.search(re.sub("%[sd]", ".*", re.escape(sentence)), said), sentence


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.127.0.1", "fd00::1:1", None])
def test_an_address_that_probes_reach_is_accepted(host):
    rendered = chart.render(values={"config": {"admin": {"host": host}}})
    assert yaml.safe_load(chart.configuration_of(rendered))["admin"].get("host") == host


def test_other_variables_of_heliograph_are_accepted():
    variables = [{"name": "HELIOGRAPH_LOG_LEVEL", "value": "debug"}]
    container = chart.container_of(chart.render(values={"extraEnv": variables}))
    assert variables[0] in container["env"]


@pytest.mark.parametrize(
    "drain, grace", [("10s", 21), ("1m", 71), ("500ms", 11), ("0s", 11), ("10m", 611)]
)
def test_a_grace_period_one_second_longer_is_accepted(drain, grace):
    values = {
        "config": {"limits": {"drain_timeout": drain}},
        "terminationGracePeriodSeconds": grace,
    }
    chart.render(values=values)
    values["terminationGracePeriodSeconds"] = grace - 1
    if drain != "500ms":
        assert "terminationGracePeriodSeconds" in chart.refusal(values)


@pytest.mark.parametrize(
    "memory, config",
    [
        ("231Mi", {}),
        ("243M", {}),
        ("0.23Gi", {}),
        ("1Gi", {"shards": 12}),
        ("", {"shards": None}),
        ("1364Mi", {"limits": {"in_flight_events": 1000000}}),
        ("1Gi", {"limits": {"in_flight_bytes": "512MiB"}}),
        ("", {"limits": {"in_flight_bytes": "4GiB"}}),
    ],
)
def test_a_sufficient_memory_limit_is_accepted(memory, config):
    chart.render(values={"config": config, "resources": {"limits": {"memory": memory}}})


def test_the_schema_and_the_readme_match_the_docs_and_the_values():
    subprocess.run([sys.executable, chart.ROOT / "scripts" / "make-chart", "--check"], check=True)


def test_the_chart_has_the_defaults_of_the_service():
    documented = {}
    for line in (chart.ROOT / "docs" / "configuration.md").read_text().splitlines():
        if line.startswith("| `"):
            key, _, default = (cell.strip(" `") for cell in line.strip("|").split(" | ")[:3])
            documented[key] = default

    def leaves(section, prefix=""):
        for key, value in section.items():
            if isinstance(value, dict) and value:
                yield from leaves(value, f"{prefix}{key}.")
            else:
                yield f"{prefix}{key}", value

    differing = {
        key: value
        for key, value in leaves(
            yaml.safe_load((chart.CHART / "values.yaml").read_text())["config"]
        )
        if key != "sources" and yaml.safe_load(documented[key]) != value
    }
    # One thread per core of the node is wrong for a pod.
    assert differing == {"shards": 2}
