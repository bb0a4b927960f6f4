"""The events that are measured with."""

import json

from confluent_kafka import Producer
from harness.events import APP

# What a record takes in the broker besides its payload.
RECORD_BYTES = 250


def token(number):
    return f"be7c{number:060x}"


def event(number, payload_bytes, recipients=None):
    """An event for a device of its own, or for so many, with a payload of that many bytes."""
    frame = {"aps": {"alert": {"title": "News", "body": ""}}}
    room = payload_bytes - len(json.dumps(frame, separators=(",", ":")))
    frame["aps"]["alert"]["body"] = "x" * max(room, 0)
    if recipients:
        first = number * recipients
        to = {"recipients": [token(first + index) for index in range(recipients)]}
    else:
        to = {"device_token": token(number)}
    return {
        "id": f"{0:016}-{number:019}",  # As long as a UUID.
        **to,
        "bundle_id": APP,
        "push_type": "alert",
        "payload": frame,
    }


def fill(kafka, topic, count, payload_bytes, recipients=None):
    """Writes events as fast as it goes."""
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "linger.ms": 20,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    for number in range(count):
        value = json.dumps(event(number, payload_bytes, recipients), separators=(",", ":")).encode()
        while True:
            try:
                producer.produce(topic, value, key=b"%x" % number)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 512 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0
