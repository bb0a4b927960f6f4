"""Sends requests to the simulator with curl and provider tokens from PyJWT."""

import functools
import pathlib
import subprocess
import time

import jwt

APP = "com.example.app"


def provider_token(simulator, key_id=None, key_file=None, **changes):
    """Made by PyJWT, which is independent of our code; by default with the simulator's own key."""
    ready = simulator.ready
    key = pathlib.Path(key_file or ready["key_file"]).read_text()
    return made(key, key_id or ready["key_id"], ready["team_id"], **changes)


@functools.cache
def made(key, key_id, team_id, **changes):
    """Cached: APNs accepts one token per key in 20 minutes."""
    claims = {"iss": team_id, "iat": int(time.time()), **changes}
    return jwt.encode(claims, key, "ES256", {"kid": key_id, "typ": None})


def curl(simulator, url, *words, jwt_token=None, body=None):
    """Status, header fields and body of one request; None for missing parts."""
    command = ["curl", "-sS", "-i", "--http2", "--cacert", simulator.ready["ca_file"], *words]
    if jwt_token:
        command += ["-H", f"authorization: bearer {jwt_token}"]
    if body is not None:
        command += ["--data-binary", body]
    done = subprocess.run([*command, url], capture_output=True, timeout=60)
    head, _, content = done.stdout.partition(b"\r\n\r\n")
    if not head:
        return None, {}, done.stderr.decode()
    first, *lines = head.decode().split("\r\n")
    fields = dict(line.split(": ", 1) for line in lines if ": " in line)
    return int(first.split()[1]), fields, content.decode()


def push(simulator, token, *words, environment="production", **options):
    url = f"{simulator.ready[environment]}/3/device/{token}"
    options = {"jwt_token": provider_token(simulator), "body": '{"aps":{"alert":"x"}}', **options}
    return curl(simulator, url, "-H", f"apns-topic: {APP}", *words, **options)
