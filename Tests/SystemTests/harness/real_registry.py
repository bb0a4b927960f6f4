"""Apicurio Registry, a third-party server, through its Confluent-compatible API.

HELIOGRAPH_TEST_REGISTRY names its jar: `apicurio-registry-app-VERSION-runner.jar`.
"""

import contextlib
import json
import os
import urllib.error
import urllib.request

from .deadlines import eventually
from .ports import reserved_port
from .processes import Child


def registry_jar():
    """The path of the jar, or None if it is not configured."""
    return os.environ.get("HELIOGRAPH_TEST_REGISTRY")


class RealRegistry:
    """Schemas by subject; Apicurio assigns the IDs."""

    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}/apis/ccompat/v7"

    def register(self, subject, schema, references=(), schema_type="JSON"):
        """Registers a schema as the subject's next version; returns its ID."""
        body = {
            "schema": schema if isinstance(schema, str) else json.dumps(schema),
            "schemaType": schema_type,
            "references": list(references),
        }
        return self._ask(f"/subjects/{subject}/versions", body)["id"]

    def answers(self):
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            return self._ask("/subjects") is not None
        return False

    def _ask(self, path, body=None):
        request = urllib.request.Request(
            self.url + path,
            json.dumps(body).encode() if body else None,
            {"Content-Type": "application/vnd.schemaregistry.v1+json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)


@contextlib.contextmanager
def running_real_registry():
    """Starts a registry that keeps its schemas in memory; ends it afterwards."""
    with reserved_port() as port:
        options = ["-Xmx512m", "-XX:TieredStopAtLevel=1", "-Dquarkus.http.host=127.0.0.1"]
        command = ["java", *options, f"-Dquarkus.http.port={port}", "-jar", registry_jar()]
        with Child(command) as child:
            registry = RealRegistry(port)

            def answers():
                assert child.is_running, f"it ended: {child.output()}"
                return registry.answers()

            eventually(answers, 120, lambda: f"the registry to answer: {child.output()}")
            yield registry
