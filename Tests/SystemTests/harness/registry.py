"""A small Schema Registry: the part of Confluent's REST interface that our clients use."""

import contextlib
import http.server
import json
import threading
import urllib.parse
import uuid

from .ports import reserved_port


class Registry:
    """Schemas by ID, GUID, and subject with version."""

    def __init__(self, port, authorization=None):
        self._lock = threading.Lock()
        self._schemas = []
        self._subjects = {}
        self._authorization = authorization
        self._port = port
        self._server = None
        # The requested paths.
        self.requests = []
        # By path, a status to return instead of the answer.
        self.statuses = {}

    @property
    def url(self):
        return f"http://127.0.0.1:{self._port}"

    def register(self, subject, schema, references=(), schema_type="JSON"):
        """Registers a schema; returns the registry's data about it."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        with self._lock:
            entry = {
                "id": len(self._schemas) + 1,
                "guid": str(uuid.uuid4()),
                "schema": text,
                "schemaType": schema_type,
                "references": list(references),
            }
            self._schemas.append(entry)
            versions = self._subjects.setdefault(subject, [])
            versions.append(entry)
            return {**entry, "subject": subject, "version": len(versions)}

    def start(self):
        """Starts the server, also again after `stop`."""
        registry = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self._reply(None)

            def do_POST(self):
                length = int(self.headers.get("Content-Length", 0))
                self._reply(json.loads(self.rfile.read(length)))

            def _reply(self, body):
                status, answer = registry._answer(self.headers, self.path, body)
                octets = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
                self.send_header("Content-Length", str(len(octets)))
                self.end_headers()
                self.wfile.write(octets)

            def log_message(self, *arguments):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def stop(self):
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def _answer(self, headers, path, body):
        parts = [urllib.parse.unquote(p) for p in path.split("?")[0].strip("/").split("/")]
        with self._lock:
            if self._server is None:
                # A keep-alive connection would outlive its server.
                return 503, {"error_code": 50301, "message": "stopped"}
            self.requests.append("/".join(parts))
            if self._authorization and headers.get("Authorization") != self._authorization:
                return 401, {"error_code": 40101, "message": "Unauthorized"}
            if "/".join(parts) in self.statuses:
                return self.statuses["/".join(parts)], "not a registry's answer"
            return self._find(parts, body)

    def _find(self, parts, body):
        match parts:
            case ["schemas", "ids", number]:
                found = [s for s in self._schemas if str(s["id"]) == number]
            case ["schemas", "guids", guid]:
                found = [s for s in self._schemas if s["guid"] == guid]
            case ["subjects", subject, "versions", version]:
                return self._version(subject, version)
            case ["subjects", subject]:
                # A serializer's question: is this schema registered under the subject?
                entries = self._subjects.get(subject, [])
                found = [
                    {**s, "subject": subject, "version": n + 1}
                    for n, s in enumerate(entries)
                    if json.loads(s["schema"]) == json.loads(body["schema"])
                ]
            case _:
                return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}
        return (200, found[0]) if found else (404, {"error_code": 40403, "message": "not found"})

    def _version(self, subject, version):
        entries = self._subjects.get(subject, [])
        number = len(entries) if version == "latest" else int(version)
        if not 1 <= number <= len(entries):
            return 404, {"error_code": 40402, "message": "Version not found"}
        return 200, {**entries[number - 1], "subject": subject, "version": number}


@contextlib.contextmanager
def running_registry(**settings):
    """A registry on its own port, which stays reserved while it is stopped."""
    with reserved_port() as port:
        registry = Registry(port, **settings).start()
        try:
            yield registry
        finally:
            registry.stop()
