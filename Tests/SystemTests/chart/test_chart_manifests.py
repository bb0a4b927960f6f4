"""Kubernetes and the operators accept what the chart renders."""

import copy
import functools
import json
import pathlib
import re

import jsonschema
import kubernetes_validate
import pytest
import yaml
from harness import chart

SCHEMA_FILE = pathlib.Path(__file__).parent / "custom_resources.yaml"
SCHEMAS = yaml.load(SCHEMA_FILE.read_text(), yaml.CSafeLoader)
# The oldest version that Chart.yaml allows, and the newest that has a schema.
VERSIONS = ("1.27", kubernetes_validate.latest_version())
LABELS = {
    f"app.kubernetes.io/{name}"
    for name in ("name", "instance", "version", "component", "part-of", "managed-by")
} | {"helm.sh/chart"}
EVERY_FILE = pytest.mark.parametrize("values_file", chart.VALUES_FILES, ids=chart.parameter_name)


def check(manifest, version):
    """Raises an error unless the manifest matches its schema."""
    check_text(json.dumps(manifest), version)


# Values files have most manifests in common, and a check takes a tenth of a second.
@functools.cache
def check_text(text, version):
    manifest = json.loads(text)
    schema = SCHEMAS["resources"].get(f"{manifest['apiVersion']}/{manifest['kind']}")
    if schema is None:
        kubernetes_validate.validate(manifest, version, strict=True)
        return
    assert set(manifest) == {"apiVersion", "kind", "metadata", "spec"}
    schema = {**schema, "definitions": SCHEMAS["definitions"]}
    jsonschema.Draft7Validator(schema).validate(manifest["spec"])


@EVERY_FILE
def test_helm_lint_reports_no_warning(values_file):
    ended = chart.helm("lint", "--strict", chart.CHART, "--values", values_file)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "[WARNING]" not in ended.stdout and "[ERROR]" not in ended.stdout
    assert "funcMap fail" not in ended.stderr


@EVERY_FILE
@pytest.mark.parametrize("version", VERSIONS)
def test_every_manifest_matches_its_schema(values_file, version):
    for manifest in chart.render(values_file):
        check(manifest, version)


@EVERY_FILE
def test_the_oldest_helm_renders_the_same(values_file):
    assert chart.render(values_file, binary="helm3") == chart.render(values_file)


def paths_of(values, prefix=()):
    """The path of each section and each leaf."""
    for key, value in values.items():
        yield (*prefix, key)
        if isinstance(value, dict):
            yield from paths_of(value, (*prefix, key))


PATHS = list(paths_of(yaml.safe_load((chart.CHART / "values.yaml").read_text())))


@pytest.mark.parametrize("path", PATHS, ids=".".join)
def test_null_removes_a_value_or_is_refused_with_a_message(path):
    """No template fails on a missing value, and no manifest contains null."""
    values_file = "hpa" if path[:2] == ("autoscaling", "hpa") else "everything"
    nothing = functools.reduce(lambda inner, key: {key: inner}, reversed(path), None)
    ended = chart.template(chart.CHART / "ci" / f"{values_file}-values.yaml", nothing)
    if ended.returncode == 0:
        for manifest in yaml.load_all(ended.stdout, chart.StrictLoader):
            if manifest:
                check(manifest, VERSIONS[-1])
    else:
        assert re.search(rf"execution error at \S+ {path[0]}\.?[\w.]*: \w", ended.stderr), ended.stderr


def test_the_ci_values_render_every_kind_that_has_a_schema():
    made = {
        f"{manifest['apiVersion']}/{manifest['kind']}"
        for values_file in chart.VALUES_FILES
        for options in ((), ("--api-versions", "kafka.strimzi.io/v1"))
        for manifest in chart.render(values_file, options=options)
    }
    assert set(SCHEMAS["resources"]) <= made


@pytest.mark.parametrize(
    "kind, path",
    [
        ("Deployment", ("spec", "template", "spec", "containers", 0)),
        ("NetworkPolicy", ("spec", "egress", 0)),
        ("ScaledObject", ("spec", "triggers", 0, "metadata")),
        ("PodMonitor", ("spec", "podMetricsEndpoints", 0)),
        ("PrometheusRule", ("spec", "groups", 0, "rules", 0)),
        ("KafkaTopic", ("spec",)),
    ],
)
def test_the_schemas_reject_an_unknown_field(kind, path):
    everything = chart.render(chart.CHART / "ci" / "everything-values.yaml")
    manifest = copy.deepcopy(chart.of_kind(everything, kind)[0])
    place = manifest
    for step in path:
        place = place[step]
    place["unknownField"] = "x"
    with pytest.raises((jsonschema.ValidationError, kubernetes_validate.ValidationError)):
        check(manifest, VERSIONS[-1])


def test_the_keda_behavior_matches_the_kubernetes_schema():
    scaled = chart.only(chart.render(chart.CHART / "ci" / "keda-values.yaml"), "ScaledObject")
    autoscaler = scaled["spec"]["advanced"]["horizontalPodAutoscalerConfig"]
    manifest = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": autoscaler["name"]},
        "spec": {
            "scaleTargetRef": scaled["spec"]["scaleTargetRef"],
            "maxReplicas": scaled["spec"]["maxReplicaCount"],
            "behavior": autoscaler["behavior"],
        },
    }
    check(manifest, VERSIONS[-1])


@EVERY_FILE
def test_objects_have_a_unique_name_a_namespace_and_the_common_labels(values_file):
    manifests = chart.render(values_file, {"commonLabels": {"team": "messaging"}})
    identities = [(m["apiVersion"], m["kind"], chart.name_of(m)) for m in manifests]
    assert len(identities) == len(set(identities))
    for manifest in manifests:
        metadata = manifest["metadata"]
        assert metadata["namespace"] in ("apps", "kafka")
        assert LABELS <= set(metadata["labels"]), identities
        assert metadata["labels"]["team"] == "messaging"
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", metadata["name"])


@EVERY_FILE
def test_two_releases_share_no_object_and_no_pod(values_file):
    first, second = (chart.render(values_file, release=name) for name in ("one", "two"))
    names = [{(m["kind"], chart.name_of(m)) for m in manifests} for manifests in (first, second)]
    assert not names[0] & names[1]
    selector = chart.only(first, *chart.WORKLOADS)["spec"]["selector"]["matchLabels"]
    assert not selector.items() <= chart.pod_of(second)["metadata"]["labels"].items()


def test_a_long_release_name_leaves_room_for_kubernetes_suffixes():
    manifests = chart.render(release="a" * 53)
    # A pod's host name is cut at 63 characters, and transactional IDs contain it.
    assert len(chart.name_of(chart.only(manifests, "Deployment"))) <= 63 - len("-0123456789-abcde")


def test_topics_that_differ_only_by_case_or_underscore_get_different_objects():
    topics = ["news", "News", "ne_ws", "ne-ws", "-news", "x" * 249]
    manifests = chart.render(
        chart.CHART / "ci" / "strimzi-values.yaml",
        {"config": {"sources": [{"topic": topic} for topic in topics], "retry": {"later": []}}},
    )
    made = chart.of_kind(manifests, "KafkaTopic")
    assert set(topics) <= {manifest["spec"]["topicName"] for manifest in made}
    assert len({chart.name_of(manifest) for manifest in made}) == len(made)
    assert all(len(chart.name_of(manifest)) <= 253 for manifest in made)


@pytest.mark.parametrize("binary", ["helm", "helm3"])
def test_an_umbrella_chart_turns_things_off_without_null(binary, tmp_path):
    """In an umbrella chart, Helm 4.3 keeps a default that is set to null."""
    parent = tmp_path / "platform"
    (parent / "charts").mkdir(parents=True)
    (parent / "charts" / "heliograph").symlink_to(chart.CHART)
    (parent / "Chart.yaml").write_text("{apiVersion: v2, name: platform, version: 0.1.0}")
    off = {
        "config": {"results": {"token_status_topic": "", "dead_letter_topic": ""}},
        "resources": {"limits": {"memory": ""}},
        "probes": {"startup": {"enabled": False}},
        "podSecurityContext": {"runAsUser": "", "fsGroup": ""},
        "podDisruptionBudget": {"enabled": False},
    }
    least = yaml.safe_load(chart.LEAST.read_text())
    (parent / "values.yaml").write_text(yaml.safe_dump({"heliograph": {**least, **off}}))
    manifests = chart.render("/dev/null", chart=parent, binary=binary)
    results = yaml.safe_load(chart.configuration_of(manifests))["results"]
    assert results["token_status_topic"] is None and results["dead_letter_topic"] is None
    container, pod = chart.container_of(manifests), chart.pod_of(manifests)["spec"]
    assert container["resources"] == {"requests": {"cpu": "500m", "memory": "256Mi"}}
    assert "startupProbe" not in container and "livenessProbe" in container
    assert not {"runAsUser", "fsGroup"} & set(pod["securityContext"])
    assert not chart.of_kind(manifests, "PodDisruptionBudget")
    for manifest in manifests:
        check(manifest, VERSIONS[-1])


def test_on_openshift_the_namespace_chooses_users_and_groups():
    manifests = chart.render(values={"openshift": {"enabled": True}})
    for pod in (chart.pod_of(manifests)["spec"], chart.only(manifests, "Pod")["spec"]):
        assert pod["securityContext"] == {
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        }


def test_the_budget_sets_a_policy_for_unready_pods():
    for policy in ("AlwaysAllow", "IfHealthyBudget"):
        values = {"podDisruptionBudget": {"unhealthyPodEvictionPolicy": policy}}
        budget = chart.only(chart.render(values=values), "PodDisruptionBudget")
        assert budget["spec"]["unhealthyPodEvictionPolicy"] == policy
