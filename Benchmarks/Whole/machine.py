"""Where and of what a report was taken."""

import os
import platform
import re
import subprocess
import time

from harness.apache_kafka import kafka_version
from harness.processes import ROOT


def described():
    with open("/proc/cpuinfo") as file:
        model = re.search(r"model name\s*:\s*(.*)", file.read())
    return {
        "cpu": model.group(1) if model else "an unnamed CPU",
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "load_at_start": os.getloadavg()[0],
    }


def commit():
    """Its short hash; with a plus if files were changed or added."""

    def git(*words):
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    found = git("rev-parse", "--short=12", "HEAD") or "unknown"
    # What an earlier report has changed is not measured.
    rest = ("--", ".", ":!docs", ":!README.md", ":!Benchmarks/reports")
    changed = git("status", "--porcelain", *rest)
    return found + "+" if changed else found


def libraries(sink):
    words = ["pkg-config", "--modversion", "rdkafka", "libnghttp2"]
    told = subprocess.run(words, capture_output=True, text=True).stdout.split()
    linked = dict(zip(("librdkafka", "nghttp2"), told))
    kafka = ".".join(map(str, kafka_version()))
    return {"Apache Kafka": kafka, **linked, **sink.versions}


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
