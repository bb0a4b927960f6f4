"""Third-party HTTP/2 servers with canned APNs answers: nghttpd, nginx and Caddy (Go).

nginx and Caddy answer by the first digits of the device token (`ANSWERS`); everything else gets
200.
"""

import contextlib
import json
import os
import shutil
import socket
import textwrap

from .deadlines import eventually
from .ports import reserved_port
from .processes import Child
from .strict_peer import make_identity

UNAVAILABLE_PAGE = "<html><body><h1>503 Service Temporarily Unavailable</h1></body></html>"
ANSWERS = {
    "dead": (410, '{"reason":"Unregistered","timestamp":1767225600000}'),
    "bad0": (400, '{"reason":"BadDeviceToken"}'),
    "5b10": (429, '{"reason":"TooManyRequests"}'),
    "5e7e": (503, UNAVAILABLE_PAGE),
}


def program(name):
    """Its path, or None; Debian installs servers outside of users' PATH."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")


class ForeignServer:
    """A server in its own process; `ready` is the configuration for the service."""

    def __init__(self, folder, child, ready):
        self.folder = folder
        self.child = child
        self.ready = ready

    def requests(self):
        """nginx's log: one dictionary per finished request."""
        whole, _, _ = (self.folder / "requests.ndjson").read_text().rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]


@contextlib.contextmanager
def running(folder, arguments):
    """Starts `arguments(port)`: none of these servers can choose a free port and report it."""
    identity = make_identity(folder)
    with reserved_port() as port:
        address = f"https://localhost:{port}"
        words = [str(word) for word in arguments(port)]
        with Child(words, {"HOME": str(folder)}, folder=folder) as child:
            eventually(lambda: listens(child, port), 60, lambda: f"it to listen: {child.output()}")
            ready = {**identity, "production": address, "sandbox": address}
            yield ForeignServer(folder, child, ready)


def listens(child, port):
    assert child.is_running, f"it ended: {child.output()}"
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def nghttpd(folder, known_token, *options):
    """Knows one device; other requests get "404 Not Found" with an HTML body."""
    device = folder / "root" / "3" / "device"
    device.mkdir(parents=True)
    (device / known_token).write_text("")
    key, certificate = folder / "server.key", folder / "server.pem"

    def arguments(port):
        words = [program("nghttpd"), "-v", "-a", "127.0.0.1", "-d", folder / "root"]
        return [*words, *options, port, key, certificate]

    return running(folder, arguments)


def nginx(folder, *directives):
    """Adds `directives` to the server block; each request is a line of the log."""

    def arguments(port):
        (folder / "nginx.conf").write_text(nginx_configuration(folder, port, directives))
        return [program("nginx"), "-p", folder, "-c", "nginx.conf", "-e", "stderr"]

    return running(folder, arguments)


def nginx_configuration(folder, port, directives):
    locations = "\n".join(
        f"location /3/device/{prefix} {{ default_type {kind(body)}; return {status} '{body}'; }}"
        for prefix, (status, body) in ANSWERS.items()
    )
    temporary = "\n".join(
        f"{name}_temp_path {folder}/{name};"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return textwrap.dedent(
        """
        daemon off;
        master_process off;
        pid {folder}/nginx.pid;
        events {{}}
        http {{
            {temporary}
            client_body_buffer_size 16k;
            log_format request escape=json
                '{{"token":"$uri","id":"$http_apns_id","topic":"$http_apns_topic",'
                '"connection":$connection,"status":$status,"body":"$request_body"}}';
            server {{
                listen 127.0.0.1:{port} ssl http2;
                ssl_certificate server.pem;
                ssl_certificate_key server.key;
                add_header apns-id $http_apns_id always;
                access_log {folder}/requests.ndjson request;
                {directives}
                {locations}
                # Only who reads a body can log it. A short name, since a socket's may not be long.
                location / {{ proxy_pass http://unix:app; }}
            }}
            server {{ listen unix:app; access_log off; return 200; }}
        }}
        """
    ).format(
        folder=folder,
        port=port,
        temporary=temporary,
        locations=locations,
        directives="\n".join(directives),
    )


def caddy(folder):
    """The HTTP/2 server of Go's standard library, which also echoes the body of a 200."""

    def arguments(port):
        (folder / "Caddyfile").write_text(caddy_configuration(folder, port))
        return [program("caddy"), "run", "--config", folder / "Caddyfile"]

    return running(folder, arguments)


def caddy_configuration(folder, port):
    answers = "\n".join(
        f"    @{prefix} path /3/device/{prefix}*\n"
        f"    header @{prefix} content-type {kind(body)}\n"
        f"    respond @{prefix} `{body}` {status}"
        for prefix, (status, body) in ANSWERS.items()
    )
    return f"""{{
    admin off
    auto_https off
    storage file_system {folder}/storage
}}
https://localhost:{port} {{
    bind 127.0.0.1
    tls {folder}/server.pem {folder}/server.key
    header apns-id {{http.request.header.apns-id}}
{answers}
    respond {{http.request.body}} 200
}}
"""


def kind(body):
    return "text/html" if body.startswith("<") else "application/json"
