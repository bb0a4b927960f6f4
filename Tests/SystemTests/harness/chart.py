"""The Helm chart, rendered by the helm command without a cluster."""

import contextlib
import functools
import http.server
import json
import pathlib
import subprocess
import threading

import yaml

from .processes import ROOT

CHART = ROOT / "helm" / "heliograph"
VALUES_FILES = sorted((CHART / "ci").glob("*-values.yaml"))
LEAST = CHART / "ci" / "default-values.yaml"
WORKLOADS = ("Deployment", "StatefulSet")


class StrictLoader(yaml.CSafeLoader):
    """Refuses duplicate keys, as Kubernetes does."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=deep) for key, _ in node.value]
        twice = {key for key in keys if keys.count(key) > 1}
        assert not twice, f"line {node.start_mark.line + 1}: {twice} stand twice"
        return super().construct_mapping(node, deep)


@functools.cache
def tools():
    """The paths of `helm` and `helm3`."""
    subprocess.run([ROOT / "scripts" / "fetch-helm"], check=True)
    return ROOT / ".build" / "tools"


def helm(*arguments, values=None, binary="helm"):
    """Runs helm; `values` are one more values file, on standard input."""
    extra = [] if values is None else ["--values", "-"]
    return subprocess.run(
        [tools() / binary, *map(str, arguments), *extra],
        input=yaml.safe_dump(values) if values is not None else "",
        capture_output=True,
        text=True,
        timeout=60,
    )


def template(
    values_file,
    values=None,
    release="push",
    namespace="apps",
    options=(),
    chart=CHART,
    binary="helm",
):
    """Runs `helm template` once for equal arguments."""
    further = None if values is None else json.dumps(values, sort_keys=True)
    return rendered(
        str(chart), str(values_file), further, release, namespace, tuple(options), binary
    )


@functools.cache
def rendered(chart, values_file, further, release, namespace, options, binary):
    return helm(
        *("template", release, chart, "--namespace", namespace, "--values", values_file),
        *options,
        values=None if further is None else json.loads(further),
        binary=binary,
    )


def render(values_file=LEAST, values=None, **options):
    """The manifests, including hooks."""
    ended = template(values_file, values, **options)
    assert ended.returncode == 0, ended.stderr
    documents = yaml.load_all(ended.stdout, StrictLoader)
    return [document for document in documents if document]


def refusal(values, values_file=LEAST):
    """Helm's error when it refuses the values."""
    ended = template(values_file, values)
    assert ended.returncode != 0, "helm accepted the values"
    return ended.stderr


@contextlib.contextmanager
def cluster(config_maps):
    """The part of an API server that `lookup` needs; returns helm's options to reach it."""
    listed = {"name": "configmaps", "singularName": "", "namespaced": True, "kind": "ConfigMap"}
    pages = {
        "/version": {"major": "1", "minor": "30", "gitVersion": "v1.30.0"},
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
        "/api/v1": {
            "kind": "APIResourceList",
            "groupVersion": "v1",
            "resources": [{**listed, "verbs": ["get", "list"]}],
        },
        "/api/v1/namespaces/apps/configmaps": {
            "kind": "ConfigMapList",
            "apiVersion": "v1",
            "items": config_maps,
        },
    }

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            page = pages.get(self.path.partition("?")[0])
            body = json.dumps(page or {}).encode()
            self.send_response(200 if page else 404)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            address = f"http://127.0.0.1:{server.server_port}"
            yield ("--kube-apiserver", address, "--dry-run=server")
        finally:
            server.shutdown()
            thread.join()


def of_kind(manifests, *kinds):
    return [manifest for manifest in manifests if manifest["kind"] in kinds]


def is_canary(manifest):
    labels = manifest["metadata"].get("labels", {})
    return labels.get("app.kubernetes.io/component") == "canary"


def only(manifests, *kinds):
    """The only manifest of these kinds, without the canary's."""
    found = [each for each in of_kind(manifests, *kinds) if not is_canary(each)]
    assert len(found) == 1, f"{len(found)} of {kinds}"
    return found[0]


def name_of(manifest):
    return manifest["metadata"]["name"]


def is_hook(manifest):
    return "helm.sh/hook" in manifest["metadata"].get("annotations", {})


def pod_of(manifests):
    """The pod template of the workload."""
    return only(manifests, *WORKLOADS)["spec"]["template"]


def container_of(manifests):
    return pod_of(manifests)["spec"]["containers"][0]


def configuration_of(manifests):
    """The text of heliograph.yaml."""
    (text,) = (
        manifest["data"]["heliograph.yaml"]
        for manifest in of_kind(manifests, "ConfigMap")
        if "heliograph.yaml" in manifest["data"]
    )
    return text


def parameter_name(value):
    """The name that pytest shows for a values file."""
    return value.name.removesuffix("-values.yaml") if isinstance(value, pathlib.Path) else None
