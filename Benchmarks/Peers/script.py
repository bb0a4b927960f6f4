"""What a script costs: confluent-kafka, h2 and the standard library (script_service.py)."""

import pathlib
import platform
import sys

import confluent_kafka
import h2

SERVICE = pathlib.Path(__file__).with_name("script_service.py")
TITLE = "script_service.py: Python, confluent-kafka, h2"
OMITS = [
    "check events against a schema",
    "retry, survive a closed connection, or heed flow control",
    "keep one device's events in order",
    "limit rates, or stop when APNs refuses everything",
    "publish token statuses or dead letters",
    "suppress dead tokens and duplicates",
    "remember after a crash which events beyond the committed offset have ended",
    "take events with recipients, campaigns, or apps of several teams",
    "report anything about itself: no metrics, no health, no status",
    "send the next events while answers are outstanding",
]
# It is slow.
SHARE = 0.05
WARM_UP = 1


def versions():
    return {
        "Python": platform.python_version(),
        "confluent-kafka": confluent_kafka.version(),
        "librdkafka of confluent-kafka": confluent_kafka.libversion()[0],
        "h2": h2.__version__,
    }


def missing():
    return None


def command(job):
    port = job.apns["production"].rpartition(":")[2]
    topics = [job.topics.source, job.topics.results]
    words = [job.bootstrap_servers, *topics, job.group, port, job.apns["ca_file"]]
    return [sys.executable, SERVICE, *words, job.apns["key_file"]]
