"""What the chart renders is what Kubernetes and the operators take."""

import copy
import pathlib
import re

import jsonschema
import kubernetes_validate
import pytest
import yaml
from harness import chart

SCHEMA_FILE = pathlib.Path(__file__).parent / "custom_resources.yaml"
SCHEMAS = yaml.load(SCHEMA_FILE.read_text(), yaml.CSafeLoader)
# The oldest version that Chart.yaml admits, and the newest there is a schema for.
VERSIONS = ("1.27", kubernetes_validate.latest_version())
LABELS = {
    f"app.kubernetes.io/{name}"
    for name in ("name", "instance", "version", "component", "part-of", "managed-by")
} | {"helm.sh/chart"}
EVERY_FILE = pytest.mark.parametrize("values_file", chart.VALUES_FILES, ids=chart.parameter_name)


def check(manifest, version):
    """Raises an error unless the manifest keeps to its schema."""
    schema = SCHEMAS["resources"].get(f"{manifest['apiVersion']}/{manifest['kind']}")
    if schema is None:
        kubernetes_validate.validate(manifest, version, strict=True)
        return
    assert set(manifest) == {"apiVersion", "kind", "metadata", "spec"}
    schema = {**schema, "definitions": SCHEMAS["definitions"]}
    jsonschema.Draft7Validator(schema).validate(manifest["spec"])


@EVERY_FILE
def test_the_chart_is_linted_without_a_warning(values_file):
    ended = chart.helm("lint", "--strict", chart.CHART, "--values", values_file)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "[WARNING]" not in ended.stdout and "[ERROR]" not in ended.stdout
    assert "funcMap fail" not in ended.stderr


@EVERY_FILE
@pytest.mark.parametrize("version", VERSIONS)
def test_every_manifest_keeps_to_its_schema(values_file, version):
    for manifest in chart.render(values_file):
        check(manifest, version)


def test_the_files_of_values_make_every_kind_there_is_a_schema_for():
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
def test_the_schemas_refuse_an_unknown_field(kind, path):
    everything = chart.render(chart.CHART / "ci" / "everything-values.yaml")
    manifest = copy.deepcopy(chart.of_kind(everything, kind)[0])
    place = manifest
    for step in path:
        place = place[step]
    place["unknownField"] = "x"
    with pytest.raises((jsonschema.ValidationError, kubernetes_validate.ValidationError)):
        check(manifest, VERSIONS[-1])


def test_the_behaviour_of_kedas_autoscaler_is_one_of_kubernetes():
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
def test_objects_have_one_name_a_namespace_and_the_common_labels(values_file):
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


def test_a_long_release_name_leaves_room_for_what_kubernetes_adds():
    manifests = chart.render(release="a" * 53)
    # A pod's host name is cut at 63, and transactional ids are made of it.
    assert len(chart.name_of(chart.only(manifests, "Deployment"))) <= 63 - len("-0123456789-abcde")


def test_topics_whose_names_differ_by_case_or_underscore_alone_stay_apart():
    topics = ["news", "News", "ne_ws", "ne-ws", "-news", "x" * 249]
    manifests = chart.render(
        chart.CHART / "ci" / "strimzi-values.yaml",
        {"config": {"sources": [{"topic": topic} for topic in topics], "retry": {"later": []}}},
    )
    made = chart.of_kind(manifests, "KafkaTopic")
    assert set(topics) <= {manifest["spec"]["topicName"] for manifest in made}
    assert len({chart.name_of(manifest) for manifest in made}) == len(made)
    assert all(len(chart.name_of(manifest)) <= 253 for manifest in made)
