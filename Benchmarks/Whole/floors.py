"""What the libraries underneath cost by themselves, measured beside the service."""

import os
import pathlib
import subprocess
import tempfile
import time

import jwt
from harness.events import APP
from harness.processes import ROOT

from .gauges import run_and_measure

FLOOR_TOPICS = ("floor-read", "floor-write")
FOLDER = ROOT / ".build" / "bench"
# As many as the sink allows, and the service opens.
STREAMS = 1000


def built(source, target, *options):
    """The C file, compiled when it is newer than what was made of it."""
    source, target = ROOT / "Benchmarks" / source, FOLDER / target
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        # Somebody else may compile it, too.
        made = target.with_name(f"{target.name}.{os.getpid()}")
        subprocess.run(["cc", "-O2", "-Wall", "-o", made, source, *options], check=True)
        made.replace(target)
    return target


def kafka_floor(mode, kafka, topic, warm_up, count, prefix=()):
    """CPU microseconds a record of a bare librdkafka loop; `prefix` starts the command."""
    program = built("Whole/kafka_floor.c", "kafka_floor", "-lrdkafka")
    words = [*prefix, program, mode, kafka.bootstrap_servers, topic, str(warm_up), str(count)]
    return float(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def h2load_floor(ready, count, payload_bytes, prefix=()):
    """CPU microseconds a request of h2load, over one connection, to the same far side."""
    key = pathlib.Path(ready["key_file"]).read_text()
    claims = {"iss": ready["team_id"], "iat": int(time.time())}
    token = jwt.encode(claims, key, "ES256", headers={"kid": ready["key_id"]})
    text = '{"aps":{"alert":"%s"}}'
    headers = {
        "authorization": f"bearer {token}",
        "apns-topic": APP,
        "apns-push-type": "alert",
        "apns-id": "11111111-2222-3333-4444-555555555555",
    }
    url = f"{ready['production']}/3/device/{'be7c' * 16}"
    fields = [word for item in headers.items() for word in ("-H", ": ".join(item))]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as body:
        body.write(text % ("x" * max(payload_bytes - len(text) + 2, 0)))
        body.flush()
        words = [*prefix, "h2load", "-n", str(count), "-c1", f"-m{STREAMS}", "-d", body.name]
        output, seconds = run_and_measure([*words, *fields, url])
    assert f"{count} succeeded" in output and f"{count} 2xx" in output, output
    return seconds / count * 1e6
