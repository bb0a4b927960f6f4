"""The rendered objects fit together: selectors, mounts, variables, probes, scaling."""

import re

import pytest
import yaml
from harness import chart

EVERY_FILE = pytest.mark.parametrize("values_file", chart.VALUES_FILES, ids=chart.parameter_name)
STATEFUL = chart.CHART / "ci" / "statefulset-values.yaml"
EVERYTHING = chart.CHART / "ci" / "everything-values.yaml"
KEDA = chart.CHART / "ci" / "keda-values.yaml"
HPA = chart.CHART / "ci" / "hpa-values.yaml"
# The ports of CoreDNS, and of OpenShift's DNS in its pods.
DNS = {53, 5353}
# Notifications, and channel management of the sandbox and of production.
APNS = {443, 2195, 2196}
BOTH_ON = {
    "networkPolicy": {"enabled": True},
    "podMonitor": {"enabled": True},
    "serviceMonitor": {"enabled": False},
}


def selectors_of(manifests):
    """Every pod selector, by the object that has it, without the canary's."""
    for manifest in manifests:
        if chart.is_canary(manifest):
            continue
        spec = manifest.get("spec", {})
        for key in ("selector", "podSelector"):
            if key in spec:
                yield manifest["kind"], selection(spec[key])
    for constraint in chart.pod_of(manifests)["spec"].get("topologySpreadConstraints", []):
        yield "topologySpreadConstraint", selection(constraint["labelSelector"])


def selection(selector):
    """{label: the allowed values}."""
    plain = selector.get("matchLabels", {} if "matchExpressions" in selector else selector)
    values = {label: {value} for label, value in plain.items()}
    for expression in selector.get("matchExpressions", []):
        assert expression["operator"] == "In"
        values[expression["key"]] = set(expression["values"])
    return values


@EVERY_FILE
def test_selectors_match_the_pods_and_the_network_policy_also_the_test_pod(values_file):
    manifests = chart.render(values_file, BOTH_ON)
    labels = chart.pod_of(manifests)["metadata"]["labels"]
    test = chart.only(manifests, "Pod")["metadata"]["labels"]
    found = list(selectors_of(manifests))
    kinds = {kind for kind, _ in found}
    assert kinds >= {
        "PodDisruptionBudget",
        "NetworkPolicy",
        "PodMonitor",
        "topologySpreadConstraint",
    }
    for kind, selector in found:
        # These names never change: a selector is immutable.
        assert set(selector) == {"app.kubernetes.io/name", "app.kubernetes.io/instance"}, kind
        assert all(labels[label] in values for label, values in selector.items()), kind
        finds_test = all(test[label] in values for label, values in selector.items())
        assert finds_test == (kind == "NetworkPolicy"), kind


@EVERY_FILE
def test_pods_run_with_restricted_security(values_file):
    manifests = chart.render(values_file)
    test = chart.only(manifests, "Pod")
    for pod in (chart.pod_of(manifests)["spec"], test["spec"]):
        assert pod["automountServiceAccountToken"] is False
        # Kubernetes would otherwise add HELIOGRAPH_PORT and the like, which are unknown
        # configuration keys.
        assert pod["enableServiceLinks"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["containers"][0]["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
    for account in chart.of_kind(manifests, "ServiceAccount"):
        assert account["automountServiceAccountToken"] is False


@EVERY_FILE
def test_mounts_and_volumes_agree_and_are_directories(values_file):
    manifests = chart.render(values_file)
    for pod in (chart.pod_of(manifests)["spec"], chart.only(manifests, "Pod")["spec"]):
        mounts = pod["containers"][0]["volumeMounts"]
        assert {mount["name"] for mount in mounts} == {volume["name"] for volume in pod["volumes"]}
        for mount in mounts:
            # The kubelet does not update subPath mounts.
            assert "subPath" not in mount and mount["readOnly"] is True
        for volume in pod["volumes"]:
            assert not {"emptyDir", "hostPath"} & set(volume)
            if "secret" in volume:
                # Readable by the group only, which fsGroup makes the process's own.
                assert volume["secret"]["defaultMode"] == 0o440
                assert pod["securityContext"]["fsGroup"]


@EVERY_FILE
def test_pods_mount_every_object_that_the_release_creates(values_file):
    manifests = chart.render(values_file)
    made = {(m["kind"], chart.name_of(m)) for m in chart.of_kind(manifests, "Secret", "ConfigMap")}
    used = set()
    for volume in chart.pod_of(manifests)["spec"]["volumes"]:
        if "configMap" in volume:
            used.add(("ConfigMap", volume["configMap"]["name"]))
        if "secret" in volume:
            used.add(("Secret", volume["secret"]["secretName"]))
    for variable in chart.container_of(manifests).get("env", []):
        if "secretKeyRef" in variable.get("valueFrom", {}):
            used.add(("Secret", variable["valueFrom"]["secretKeyRef"]["name"]))
    dashboards = {("ConfigMap", name) for _, name in made if name.endswith("-dashboard")}
    assert made - dashboards <= used


@EVERY_FILE
def test_replicas_are_set_only_without_an_autoscaler(values_file):
    manifests = chart.render(values_file)
    workload = chart.only(manifests, *chart.WORKLOADS)
    scalers = chart.of_kind(manifests, "HorizontalPodAutoscaler", "ScaledObject")
    assert len(scalers) + ("replicas" in workload["spec"]) == 1
    for scaler in scalers:
        target = scaler["spec"]["scaleTargetRef"]
        assert (target["kind"], target["name"]) == (workload["kind"], chart.name_of(workload))


def test_static_members_are_named_after_their_pods():
    manifests = chart.render(STATEFUL)
    workload = chart.only(manifests, *chart.WORKLOADS)
    service = chart.only(manifests, "Service")
    assert workload["kind"] == "StatefulSet"
    assert workload["spec"]["serviceName"] == chart.name_of(service)
    assert service["spec"]["clusterIP"] == "None"
    assert workload["spec"]["updateStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"partition": 1},
    }
    (variable,) = (
        variable
        for variable in chart.container_of(manifests)["env"]
        if variable["name"] == "HELIOGRAPH_KAFKA_GROUP_INSTANCE_ID"
    )
    assert variable["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"


# For the service, and for commands that run in the pod.
CONFIGURATION = {"name": "HELIOGRAPH_CONFIG", "value": "/etc/heliograph/config/heliograph.yaml"}


def test_a_deployment_has_no_static_members():
    manifests = chart.render()
    assert chart.only(manifests, *chart.WORKLOADS)["kind"] == "Deployment"
    assert chart.container_of(manifests)["env"] == [CONFIGURATION]
    assert not chart.of_kind(manifests, "Service")


@pytest.mark.parametrize("values_file, port", [(chart.LEAST, 9464), (HPA, 8080)])
def test_probes_scrapes_and_network_policy_use_the_admin_port(values_file, port):
    manifests = chart.render(values_file, BOTH_ON)
    container = chart.container_of(manifests)
    assert [(p["name"], p["containerPort"]) for p in container["ports"]] == [("admin", port)]
    paths = {"startupProbe": "/startup", "livenessProbe": "/live", "readinessProbe": "/ready"}
    for probe, path in paths.items():
        assert container[probe]["httpGet"] == {"path": path, "port": "admin"}
    (endpoint,) = chart.only(manifests, "PodMonitor")["spec"]["podMetricsEndpoints"]
    assert (endpoint["port"], endpoint["path"]) == ("admin", "/metrics")
    (rule,) = chart.only(manifests, "NetworkPolicy")["spec"]["ingress"]
    assert rule["ports"] == [{"port": port, "protocol": "TCP"}]


def checksum(values, values_file=chart.LEAST, **options):
    annotations = chart.pod_of(chart.render(values_file, values, **options))["metadata"][
        "annotations"
    ]
    return annotations["heliograph/checksum"]


@pytest.mark.parametrize(
    "values_file, values",
    [
        (chart.LEAST, {"config": {"retry": {"attempts": 4}}}),
        (
            chart.LEAST,
            {"credentials": {"other": {"bundle_ids": ["org.example"], "key_file": "/x"}}},
        ),
        (HPA, {"kafka": {"sasl": {"password": "another"}}}),
    ],
)
def test_a_change_that_is_read_only_at_startup_replaces_the_pods(values_file, values):
    assert checksum(values, values_file) != checksum({}, values_file)


@pytest.mark.parametrize(
    "values_file, values",
    [
        (HPA, {"credentials": {"trial": {"inlineFiles": {"key_file": "another"}}}}),
        (STATEFUL, {"ownSchemas": {"inline": {"order.schema.json": "{}"}}}),
        (chart.LEAST, {"podMonitor": {"enabled": True}}),
    ],
)
def test_a_change_that_is_reloaded_at_runtime_replaces_no_pods(values_file, values):
    changed, unchanged = (chart.render(values_file, v) for v in (values, {}))
    assert changed != unchanged
    assert chart.pod_of(changed) == chart.pod_of(unchanged)


def configurations(manifests):
    """{name: text} of the ConfigMaps with a heliograph.yaml, all immutable."""
    found = {}
    for manifest in chart.of_kind(manifests, "ConfigMap"):
        if "heliograph.yaml" in manifest["data"]:
            assert manifest["immutable"] is True
            found[chart.name_of(manifest)] = manifest["data"]["heliograph.yaml"]
    return found


def test_a_pod_never_reads_the_configuration_of_another_revision():
    """A change creates a new object, and existing pods keep the old one."""
    before = chart.render()
    after = chart.render(values={"config": {"retry": {"attempts": 4}}})
    for manifests in (before, after):
        [name] = configurations(manifests)
        for pod in (chart.pod_of(manifests), chart.only(manifests, "Pod")):
            volumes = {v["name"]: v for v in pod["spec"]["volumes"]}
            assert volumes["config"]["configMap"]["name"] == name
    assert not set(configurations(before)) & set(configurations(after))
    same = chart.render(values={"podMonitor": {"enabled": True}})
    assert configurations(same) == configurations(before)


def test_the_configurations_of_earlier_revisions_stay():
    """The newest, as many as ReplicaSets; not other objects, nor what Helm is about to create."""

    def config_map(name, day, release="push-heliograph"):
        return {
            "metadata": {
                "name": name,
                "namespace": "apps",
                "creationTimestamp": f"2026-11-{day:02}T00:00:00Z",
                "labels": {"heliograph/configuration": release},
            },
            "data": {"heliograph.yaml": f"day: {day}\n"},
        }

    [(present, text)] = configurations(chart.render()).items()
    there = [config_map(f"push-heliograph-{day}", day) for day in (3, 11, 9, 7)]
    there += [config_map("other", 20, "other"), config_map(present, 1)]
    there += [{"metadata": {"name": "no-labels", "namespace": "apps"}}]
    with chart.cluster(there) as options:
        few = {"revisionHistoryLimit": 3}
        # Helm 4 would ask for every kind in the API.
        made = configurations(chart.render(values=few, options=options, binary="helm3"))
    assert made == {
        present: text,
        **{f"push-heliograph-{day}": f"day: {day}\n" for day in (11, 9, 7)},
    }


def pods_of(manifests):
    """The service's pod and the canary's."""
    pods = [each["spec"]["template"] for each in manifests if each["kind"] in chart.WORKLOADS]
    assert len(pods) == 2
    return pods


def test_a_new_chart_version_alone_replaces_no_pods(tmp_path):
    newer = tmp_path / "heliograph"
    newer.mkdir()
    for entry in chart.CHART.iterdir():
        (newer / entry.name).symlink_to(entry)
    (newer / "Chart.yaml").unlink()
    old = (chart.CHART / "Chart.yaml").read_text()
    (newer / "Chart.yaml").write_text(re.sub(r"(?m)^(version|appVersion): (\"?)", r"\g<0>9", old))
    values = {"canary": CANARY, "image": {"tag": "1.0"}}
    before, after = chart.render(values=values), chart.render(values=values, chart=newer)
    assert before != after
    assert pods_of(before) == pods_of(after)


@pytest.mark.parametrize(
    "values, ports",
    [
        ({}, [DNS, {9092}, APNS]),
        ({"kafka": {"bootstrap_servers": "a:1,b:2"}}, [DNS, {1, 2}, APNS]),
        ({"kafka": {"bootstrap_servers": "[2001:db8::1]:9093"}}, [DNS, {9093}, APNS]),
        ({"apns": {"endpoints": {"sandbox": "https://a:2197"}}}, [DNS, {9092}, APNS | {2197}]),
        (
            {"apns": {"endpoints": {"management_sandbox": "https://a:1"}}},
            [DNS, {9092}, {443, 2196, 1}],
        ),
        ({"apns": {"proxy": "http://p:3128"}}, [DNS, {9092}, {3128}]),
        ({"apns": {"proxy": "http://p:3128", "no_proxy": "a"}}, [DNS, {9092}, APNS | {3128}]),
        ({"schema_registry": {"url": "https://r/path"}}, [DNS, {9092}, APNS, {443}]),
        ({"schema_registry": {"url": "http://r:8081/path"}}, [DNS, {9092}, APNS, {8081}]),
    ],
)
def test_the_network_policy_opens_the_ports_of_the_configuration(values, ports):
    manifests = chart.render(values={"config": values, "networkPolicy": {"enabled": True}})
    rules = chart.only(manifests, "NetworkPolicy")["spec"]["egress"]
    assert [{port["port"] for port in rule["ports"]} for rule in rules] == ports


def test_keda_reads_each_source_with_the_login_of_the_service():
    manifests = chart.render(KEDA)
    triggers = chart.only(manifests, "ScaledObject")["spec"]["triggers"]
    assert [trigger["metadata"]["topic"] for trigger in triggers] == [
        "notifications",
        "notifications.bulk",
    ]
    authentication = chart.only(manifests, "TriggerAuthentication")
    given = {
        entry["parameter"]: (entry["name"], entry["key"])
        for entry in authentication["spec"]["secretTargetRef"]
    }
    properties = yaml.safe_load(chart.configuration_of(manifests))["kafka"]["properties"]
    volumes = {
        volume["name"]: volume.get("secret", {}).get("secretName")
        for volume in chart.pod_of(manifests)["spec"]["volumes"]
    }
    for name in ("username", "password"):
        secret, key = given[name]
        assert volumes[f"kafka-{name}"] == secret
        assert properties[f"sasl.{name}_file"] == f"/etc/heliograph/kafka-{name}/{key}"
    assert given["ca"] == ("kafka-ca", "ca.crt")
    for trigger in triggers:
        assert trigger["authenticationRef"]["name"] == chart.name_of(authentication)
        assert (trigger["metadata"]["sasl"], trigger["metadata"]["tls"]) == (
            "scram_sha256",
            "enable",
        )


def test_keda_can_have_its_own_login():
    """For a pod login that the chart cannot read, or for another user."""
    reference = {"name": "kafka", "kind": "ClusterTriggerAuthentication"}
    own = {"authenticationRef": reference, "metadata": {"sasl": "oauthbearer", "tls": "enable"}}
    properties = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
    values = {
        "autoscaling": {"keda": {"enabled": True, **own}},
        "config": {"kafka": {"properties": properties}},
    }
    other = {"authenticationRef": reference, "metadata": {"sasl": "oauthbearer"}}
    another_user = {"autoscaling": {"keda": other}}
    for values_file, given in ((chart.LEAST, values), (KEDA, another_user)):
        manifests = chart.render(values_file, given)
        for trigger in chart.only(manifests, "ScaledObject")["spec"]["triggers"]:
            assert trigger["authenticationRef"] == reference
            assert trigger["metadata"]["tls"] == "enable"
            assert trigger["metadata"]["sasl"] == "oauthbearer"
        assert not chart.of_kind(manifests, "TriggerAuthentication")


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "plaintext"])
def test_keda_gets_no_login_if_the_service_has_none(protocol):
    properties = {"security.protocol": protocol}
    values = {
        "autoscaling": {"keda": {"enabled": True}},
        "config": {"kafka": {"properties": properties}},
    }
    for trigger in chart.only(chart.render(values=values), "ScaledObject")["spec"]["triggers"]:
        assert "authenticationRef" not in trigger


def test_extra_objects_can_be_maps_or_texts():
    text = """{
        apiVersion: v1, kind: ConfigMap,
        metadata: {name: "{{ .Release.Name }}-text", namespace: "{{ .Release.Namespace }}"},
        data: {replicas: "{{ .Values.replicaCount }}"}
    }"""
    name = '{{ include "heliograph.fullname" . }}-map'
    made = chart.render(
        values={
            "extraObjects": [
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}},
                text,
            ]
        }
    )
    data = {chart.name_of(m): m.get("data") for m in chart.of_kind(made, "ConfigMap")}
    assert data["push-heliograph-map"] is None
    assert data["push-text"] == {"replicas": "2"}


def test_extra_values_are_templates_but_pod_annotations_are_not():
    """Vault's injector puts its own templates into annotations."""
    injected = '{{ with secret "apns" }}{{ .Data.key }}{{ end }}'
    here = "{{ .Release.Namespace }}"
    manifests = chart.render(
        values={
            "podAnnotations": {"vault.hashicorp.com/agent-inject-template-key": injected},
            "serviceAccount": {"automount": True, "annotations": {"role": here}},
            "extraEnv": [{"name": "PLACE", "value": here}],
            "initContainers": [{"name": "wait", "image": here}],
        }
    )
    template = chart.pod_of(manifests)
    assert injected in template["metadata"]["annotations"].values()
    for pod in (template["spec"], chart.only(manifests, "Pod")["spec"]):
        assert pod["automountServiceAccountToken"] is True
        assert pod["containers"][0]["env"] == [CONFIGURATION, {"name": "PLACE", "value": "apps"}]
        assert pod["initContainers"] == [{"name": "wait", "image": "apps"}]
    account = chart.only(manifests, "ServiceAccount")
    assert account["automountServiceAccountToken"] is True
    assert account["metadata"]["annotations"] == {"role": "apps"}


DIGEST = f"sha256:{'0' * 64}"


@pytest.mark.parametrize(
    "image, registry, expected",
    [
        ({}, "", "heliograph:0.1.0"),
        ({"repository": "a.example/b"}, "", "a.example/b:0.1.0"),
        ({"registry": "a.example", "repository": "b"}, "", "a.example/b:0.1.0"),
        ({"registry": "a.example", "repository": "b"}, "c.example", "c.example/b:0.1.0"),
        ({"tag": "2"}, "c.example/", "c.example/heliograph:2"),
        ({"tag": "2", "digest": DIGEST}, "c.example", f"c.example/heliograph@{DIGEST}"),
    ],
)
def test_a_global_registry_applies_to_the_image(image, registry, expected):
    login = [{"name": "login"}]
    shared = {"imageRegistry": registry, "imagePullSecrets": login}
    manifests = chart.render(values={"image": image, "global": shared})
    for pod in (chart.pod_of(manifests)["spec"], chart.only(manifests, "Pod")["spec"]):
        assert pod["containers"][0]["image"] == expected
        assert pod["imagePullSecrets"] == login


@pytest.mark.parametrize(
    "values_file, secrets",
    [(chart.LEAST, None), (HPA, None), (KEDA, None), (EVERYTHING, "kafka-keystore,more")],
    ids=chart.parameter_name,
)
def test_reloader_watches_only_secrets_used_as_variables(values_file, secrets):
    """The process reloads APNs files itself, and restarts itself for Kafka files."""
    values = {"reloader": {"enabled": True}, "annotations": {"owner": "push"}}
    workload = chart.only(chart.render(values_file, values), *chart.WORKLOADS)
    annotations = workload["metadata"]["annotations"]
    assert annotations["owner"] == "push"
    assert annotations.get("secret.reloader.stakater.com/reload") == secrets


def test_reloader_also_watches_the_secret_with_the_canarys_token():
    canary = {"enabled": True, "bundleId": "com.example.App", "tokenSecret": {"name": "device"}}
    values = {"reloader": {"enabled": True}, "canary": canary}
    for values_file, secrets in ((chart.LEAST, "device"), (EVERYTHING, "device,kafka-keystore,more")):
        manifests = chart.render(values_file, values)
        [deployment] = [
            manifest
            for manifest in manifests
            if manifest["kind"] == "Deployment" and manifest["metadata"]["name"].endswith("-canary")
        ]
        annotations = deployment["metadata"]["annotations"]
        assert annotations == {"secret.reloader.stakater.com/reload": secrets}


def test_a_service_monitor_selects_the_service_of_the_pods():
    values = {"serviceMonitor": {"enabled": True, "targetLabels": ["team"], "interval": "15s"}}
    manifests = chart.render(values=values)
    monitor = chart.only(manifests, "ServiceMonitor")["spec"]
    service = chart.only(manifests, "Service")
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    [endpoint] = monitor["endpoints"]
    assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}
    assert (endpoint["path"], endpoint["interval"]) == ("/metrics", "15s")
    assert monitor["targetLabels"] == ["team"]


@EVERY_FILE
def test_secret_values_are_only_in_secrets(values_file):
    inline = {
        "credentials": {
            "inline": {
                "bundle_ids": ["org.example"],
                "inlineFiles": {"certificate_file": "not-to-be-seen"},
            }
        }
    }
    for manifest in chart.render(values_file, inline):
        if manifest["kind"] != "Secret":
            assert "not-to-be-seen" not in str(manifest)
            assert "not a {{ template }}" not in str(manifest)


def test_labels_of_the_chart_cannot_be_overridden():
    for key in ("commonLabels", "podLabels"):
        said = chart.refusal({key: {"app.kubernetes.io/name": "x"}})
        assert f"/{key}/app.kubernetes.io~1name" in said


CANARY = {"enabled": True, "bundleId": "com.example.App", "tokenSecret": {"name": "t"}}


@pytest.mark.parametrize("monitor", ["podMonitor", "serviceMonitor"])
def test_a_canary_is_a_pod_of_its_own_that_is_scraped(monitor):
    values = {
        "canary": {**CANARY, "topic": "notifications"},
        "networkPolicy": {"enabled": True},
        "podDisruptionBudget": {"enabled": True},
        "podAnnotations": {"vault.hashicorp.com/agent-inject": "true"},
        monitor: {"enabled": True, "interval": "15s"},
    }
    manifests = chart.render(values=values)
    deployment, scraper = [each for each in manifests if chart.is_canary(each)]
    pod = deployment["spec"]["template"]
    [container] = pod["spec"]["containers"]
    assert container["command"] == [
        *("heliograph", "canary", "--bundle-id", "com.example.App"),
        *("--interval", "60", "--topic", "notifications"),
    ]
    variables = {variable["name"]: variable for variable in container["env"]}
    secret = variables["CANARY_DEVICE_TOKEN"]["valueFrom"]["secretKeyRef"]
    assert secret == {"name": "t", "key": "token"}
    assert pod["metadata"]["annotations"].items() >= values["podAnnotations"].items()
    # No selector of the service's finds it, but the network policy's: it connects to Kafka, too.
    labels = pod["metadata"]["labels"]
    found = [
        kind
        for kind, selector in selectors_of(manifests)
        if all(labels[label] in values for label, values in selector.items())
    ]
    assert found == ["NetworkPolicy"]
    for kind, spec in [("Deployment", deployment["spec"]), ("PodMonitor", scraper["spec"])]:
        selector = spec["selector"]["matchLabels"]
        assert selector.items() <= labels.items(), kind
        assert not selector.items() <= chart.pod_of(manifests)["metadata"]["labels"].items(), kind
    assert scraper["kind"] == "PodMonitor"
    [endpoint] = scraper["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] == container["ports"][0]["name"] and endpoint["interval"] == "15s"


def test_there_is_no_canary_unless_it_is_wanted():
    assert not any(map(chart.is_canary, chart.render(values={"podMonitor": {"enabled": True}})))


def test_strimzis_user_has_the_canarys_rights_and_no_others():
    def rights(**values):
        values = {"strimzi": {"cluster": "c", "user": {"enabled": True}}, **values}
        user = chart.only(chart.render(values=values), "KafkaUser")
        acls = user["spec"]["authorization"]["acls"]
        return {acl["resource"]["name"]: set(acl["operations"]) for acl in acls}

    without, with_canary = rights(), rights(canary=CANARY)
    further = {name: operations - without[name] for name, operations in with_canary.items()}
    assert {name: each for name, each in further.items() if each} == {
        "notifications": {"Write"},
        "notifications.results": {"Read"},
    }
