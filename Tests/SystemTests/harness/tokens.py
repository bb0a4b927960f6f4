"""Tokens for OAUTHBEARER (JWT, RS256), their key as brokers read it, and a server that gives them."""

import base64
import contextlib
import http.server
import json
import subprocess
import threading
import time
import urllib.parse

from .certificates import openssl

AUDIENCE, ISSUER = "kafka", "https://issuer.example.com"
CLIENT, SECRET = "heliograph-client", "client-secret"


def _base64url(octets):
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


class Issuer:
    """Signs tokens with a key in its folder; `jwks.json` there holds the public half."""

    def __init__(self, folder):
        self._key = folder / "token.key"
        self.jwks = folder / "jwks.json"

    def make_key(self):
        """Returns itself."""
        openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048",
                "-out", self._key)
        words = ["openssl", "rsa", "-in", str(self._key), "-noout", "-modulus"]
        told = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        modulus = bytes.fromhex(told.strip().removeprefix("Modulus="))
        # 65537, which `openssl genpkey` always takes.
        key = {"kty": "RSA", "kid": "1", "use": "sig", "alg": "RS256"}
        key |= {"n": _base64url(modulus), "e": _base64url(b"\x01\x00\x01")}
        self.jwks.write_text(json.dumps({"keys": [key]}))
        return self

    def token(self, principal, seconds=600):
        """That expires in so many seconds."""
        now = int(time.time())
        claims = {"sub": principal, "aud": AUDIENCE, "iss": ISSUER}
        claims |= {"iat": now, "exp": now + seconds}
        parts = [{"alg": "RS256", "kid": "1"}, claims]
        text = ".".join(_base64url(json.dumps(part).encode()) for part in parts)
        words = ["openssl", "dgst", "-sha256", "-sign", str(self._key)]
        signed = subprocess.run(words, check=True, capture_output=True, input=text.encode())
        return f"{text}.{_base64url(signed.stdout)}"


@contextlib.contextmanager
def running_token_server(issuer, principal):
    """Gives tokens for client credentials (RFC 6749, 4.4); yields its URL and what was asked."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            length = int(self.headers["Content-Length"])
            form = urllib.parse.parse_qs(self.rfile.read(length).decode())
            asked.append(form)
            right = "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
            is_right = self.headers["Authorization"] == right
            answer = {"access_token": issuer.token(principal), "token_type": "bearer"}
            body = json.dumps(answer if is_right else {"error": "invalid_client"}).encode()
            self.send_response(200 if is_right else 401)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/token", asked
    finally:
        server.shutdown()
        server.server_close()
