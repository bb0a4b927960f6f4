"""The events that are measured with."""

import hashlib
import json

from confluent_kafka import Producer
from harness.events import APP

# What a record takes in the broker besides its payload.
RECORD_BYTES = 250


# An odd factor has an inverse: the number of an event can be read from its id.
_FACTOR, _IDS = 0x5851F42D4C95, 1 << 48
_INVERSE = pow(_FACTOR, -1, _IDS)


def token(number):
    """As little alike as real ones: how well they compress is part of the cost."""
    return hashlib.sha256(b"token %d" % number).hexdigest()


def event_id(number):
    """A UUID of version 4, from the number."""
    digits = hashlib.sha256(b"event %d" % number).hexdigest()
    last = number * _FACTOR % _IDS
    return f"{digits[:8]}-{digits[8:12]}-4{digits[12:15]}-8{digits[15:18]}-{last:012x}"


def number_of(event_id):
    """The number of the event with this id."""
    return int(event_id[-12:], 16) * _INVERSE % _IDS


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
        "id": event_id(number),
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
