"""Heliograph itself: one shard, and the defaults otherwise."""

import subprocess
import types

import yaml
from harness.processes import built_binary
from harness.service import configuration

TITLE = "Heliograph, one shard"
OMITS = []
SHARE = 1.0
WARM_UP = 1


def versions():
    words = [built_binary("heliograph"), "--version"]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return {"Heliograph": " ".join(told.split())}


def missing():
    return None


def settings(job):
    servers = job.bootstrap_servers
    kafka = types.SimpleNamespace(bootstrap_servers=servers, fetching={}, session_ms=None)
    text = configuration(kafka, job.topics, types.SimpleNamespace(ready=job.apns), job.group)
    # The tests' own; here the defaults are measured.
    del text["kafka"]["properties"]
    text["log"]["level"] = "warning"
    return text


def command(job):
    path = job.folder / "heliograph.yaml"
    path.write_text(yaml.safe_dump(settings(job)))
    return [built_binary("heliograph"), "run", "--config", path]
