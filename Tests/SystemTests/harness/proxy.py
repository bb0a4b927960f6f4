"""An HTTP proxy that opens tunnels and records them."""

import base64
import contextlib
import select
import socket
import socketserver
import threading


class Proxy:
    """Its address, and the requested targets."""

    def __init__(self, port):
        self.url = f"127.0.0.1:{port}"
        self.targets = []


@contextlib.contextmanager
def running_proxy(user=None, password=None):
    """CONNECT only (RFC 9110, 9.3.6); if a user is set, it requires Basic authentication."""
    wanted = base64.b64encode(f"{user}:{password}".encode()).decode() if user else None

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            method, target, _ = self.rfile.readline().decode().split(" ", 2)
            fields = {}
            while (line := self.rfile.readline().decode().strip()):
                name, _, value = line.partition(":")
                fields[name.lower()] = value.strip()
            proxy.targets.append(target)
            if wanted and fields.get("proxy-authorization") != f"Basic {wanted}":
                self.wfile.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
                return
            assert method == "CONNECT", method
            host, _, port = target.rpartition(":")
            with socket.create_connection((host.strip("[]"), int(port))) as far:
                self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                self.relay(far)

        def relay(self, far):
            ends = {self.connection: far, far: self.connection}
            while True:
                for readable in select.select(list(ends), [], [])[0]:
                    chunk = readable.recv(65536)
                    if not chunk:
                        return
                    ends[readable].sendall(chunk)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, request, client_address):
            # The proxy ignores a peer that closes early.
            pass

    with Server(("127.0.0.1", 0), Handler) as server:
        proxy = Proxy(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            server.shutdown()
            thread.join()
