"""The events that are measured with, and the latency of their outcomes."""

import json
import time

from confluent_kafka import Consumer, Producer, TopicPartition
from harness.events import APP
from harness.service import Topics

MAX_POLL = 2000


def event(number, payload_bytes, stamp):
    """An event for a device of its own, with a payload of that many bytes."""
    frame = {"aps": {"alert": {"title": "News", "body": ""}}}
    room = payload_bytes - len(json.dumps(frame, separators=(",", ":")))
    frame["aps"]["alert"]["body"] = "x" * max(room, 0)
    return {
        "id": f"{stamp}-{number}",
        "device_token": f"be7c{number:060x}",
        "bundle_id": APP,
        "push_type": "alert",
        "payload": frame,
    }


def encoded(number, payload_bytes, stamp=0):
    return json.dumps(event(number, payload_bytes, stamp), separators=(",", ":")).encode()


def fill(kafka, topic, count, payload_bytes, first=0):
    """Writes events as fast as it goes."""
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "linger.ms": 20,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    for number in range(first, first + count):
        value = encoded(number, payload_bytes)
        while True:
            try:
                producer.produce(topic, value, key=b"%x" % number)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 512 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0


def write_at_rate(kafka, topic, per_second, seconds, payload_bytes):
    """Writes events evenly, whatever becomes of them; each one's id begins with its time in us."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 1})
    count, begun = int(per_second * seconds), time.monotonic()
    for number in range(count):
        due = begun + number / per_second
        while (wait := due - time.monotonic()) > 0:
            producer.poll(min(wait, 0.001))
        stamp = time.time_ns() // 1000
        producer.produce(topic, encoded(number, payload_bytes, stamp), key=b"%x" % number)
    assert producer.flush(60) == 0
    return count


def latencies(kafka, topics: Topics, count, seconds=60):
    """Milliseconds from an event's making to its outcome's timestamp, ascending."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "bench-latency",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 10,
        }
    )
    partitions = kafka.partitions(topics.results)
    consumer.assign([TopicPartition(topics.results, number, 0) for number in partitions])
    found, end = [], time.monotonic() + seconds
    while len(found) < count:
        assert time.monotonic() < end, f"{len(found)} of {count} outcomes after {seconds} s"
        for message in consumer.consume(MAX_POLL, 0.2):
            assert not message.error(), message.error()
            outcome = json.loads(message.value())
            assert outcome["outcome"] == "accepted", outcome
            made = int(outcome["event_id"].partition("-")[0])
            found.append(message.timestamp()[1] - made / 1000)
    consumer.close()
    return sorted(found)


def percentile(ascending, share):
    return ascending[min(int(len(ascending) * share), len(ascending) - 1)]
