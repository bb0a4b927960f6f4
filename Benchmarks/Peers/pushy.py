"""What a Java team takes from the shelf: kafka-clients, Jackson and Pushy (PushyService.java).

The jars come from the folder that HELIOGRAPH_BENCH_PEERS names, and from Apache Kafka's own; or
Maven fetches those of pom.xml.
"""

import functools
import os
import pathlib
import re
import shutil
import subprocess

from harness.apache_kafka import kafka_home
from Whole.floors import FOLDER

HERE = pathlib.Path(__file__).parent
TITLE = "PushyService.java: kafka-clients, Jackson, Pushy"
OMITS = [
    "check events against a schema",
    "retry, now or later",
    "keep one device's events in order",
    "limit rates, or stop when APNs refuses everything",
    "publish token statuses or dead letters",
    "suppress dead tokens and duplicates",
    "remember after a crash which events beyond the committed offset have ended",
    "take events with recipients, campaigns, or apps of several teams",
    "report anything about itself: no metrics, no health, no status",
]
SHARE = 1.0
# Some 15 s, for the JVM to compile what is hot.
WARM_UP = 4
# Those whose versions a report names. TLS is the JDK's: there is no netty-tcnative.
SHELF = re.compile(r"(pushy|kafka-clients|jackson-databind|netty-common)-(\d.*)\.jar")


def jars():
    """The class path's entries: one folder or two."""
    folder = os.environ.get("HELIOGRAPH_BENCH_PEERS")
    return [pathlib.Path(folder), kafka_home() / "libs"] if folder else [FOLDER / "peers" / "libs"]


def missing():
    if not shutil.which("javac"):
        return "a JDK: there is no javac"
    if not os.environ.get("HELIOGRAPH_BENCH_PEERS") and not shutil.which("mvn"):
        return "Maven, or a folder of jars that HELIOGRAPH_BENCH_PEERS names"
    return None


def versions():
    build()
    names = [path.name for folder in jars() for path in folder.glob("*.jar")]
    found = dict(match.groups() for match in map(SHELF.fullmatch, sorted(names)) if match)
    java = subprocess.run(["java", "--version"], capture_output=True, text=True, check=True)
    return {**found, "Java": java.stdout.splitlines()[0]}


@functools.cache
def build():
    """Once a run; returns the class path."""
    out = FOLDER / "peers" / "classes"
    out.mkdir(parents=True, exist_ok=True)
    if not os.environ.get("HELIOGRAPH_BENCH_PEERS"):
        words = ["mvn", "--batch-mode", "--quiet", "--file", HERE / "pom.xml"]
        goal = "dependency:copy-dependencies"
        subprocess.run([*words, goal, f"-DoutputDirectory={jars()[0]}"], check=True)
    classes = ":".join(f"{folder}/*" for folder in jars())
    words = ["javac", "-d", out, "-cp", classes, HERE / "PushyService.java"]
    subprocess.run(words, check=True)
    return f"{out}:{classes}"


def command(job):
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    words = ["java", "-Xmx1g", "-XX:+UseSerialGC", quiet, "-cp", build(), "PushyService"]
    port = job.apns["production"].rpartition(":")[2]
    topics = [job.topics.source, job.topics.results]
    return [*words, job.bootstrap_servers, *topics, job.group, port, job.apns["ca_file"]]
