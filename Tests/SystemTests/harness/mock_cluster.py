"""A Kafka cluster that expires dead members: librdkafka's mock cluster, in this process.

Prints {"bootstrap_servers": "..."} and runs until SIGTERM. Topics are created with four partitions
when first mentioned.
"""

import json
import signal

from confluent_kafka import Producer

signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
cluster = Producer({"test.mock.num.brokers": 1, "log_level": 0})
brokers = cluster.list_topics(timeout=60).brokers.values()
servers = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
print(json.dumps({"bootstrap_servers": servers}), flush=True)
signal.sigwait({signal.SIGTERM, signal.SIGINT})
