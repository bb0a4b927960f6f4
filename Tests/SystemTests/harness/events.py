"""Events to produce, their expected outcomes, and the requests that APNs gets."""

import base64
import copy
import dataclasses
import hashlib
import itertools
import json
import uuid

from .kafka import Written
from .processes import ROOT

# Must never change; the service's `APNsID` uses the same value.
APNS_ID_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "heliograph")
APP = "com.example.News"
ANY_REASON = object()

_numbers = itertools.count(1)


def derived_apns_id(event):
    """The `apns-id` derived from the event, unless the event sets its own."""
    name = event["id"] + "\0" + event["device_token"].lower()
    return event.get("apns_id") or str(uuid.uuid5(APNS_ID_NAMESPACE, name))


def new_event(**fields):
    """A valid event with its own active token."""
    number = next(_numbers)
    event = {
        "id": f"event-{number}",
        "device_token": f"a11ce000{number:056x}",
        "bundle_id": APP,
        "push_type": "alert",
        "payload": {"aps": {"alert": f"Number {number}"}},
    }
    return {k: v for k, v in {**event, **fields}.items() if v is not None}


def encoded(event):
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def record(event, **fields):
    """The event as a record, keyed by its device token as producers are advised to do."""
    return Written(encoded(event), key=event["device_token"].encode(), **fields)


def records(count):
    return [record(new_event()) for _ in range(count)]


# A simulator rule: the last events of a burst are answered seconds after the others.
HOLD = {"prefix": "4e1d", "is": "ok", "delay_ms": 5000}


def burst(count, held):
    """Records; the last ones are for devices that match `HOLD`.

    If more of them are held than fit in flight, the burst takes at least twice that delay, however
    fast it began.
    """
    tokens = [f"{HOLD['prefix']}{number:060x}" for number in range(held)]
    return records(count - held) + [record(new_event(device_token=token)) for token in tokens]


@dataclasses.dataclass(frozen=True)
class Expected:
    """The outcome that a line of examples/events.ndjson, or one of its recipients, must get."""

    outcome: str
    reason: object
    record: Written
    # As if the event were for this device only; None if it is invalid.
    event: dict | None
    # The value of its dead letter.
    value: bytes


@dataclasses.dataclass(frozen=True)
class Example:
    """A line of examples/events.ndjson."""

    record: Written
    # By recipient, None if the event has no recipients; empty for a tombstone.
    expected: dict[int | None, Expected]


def read_examples(path=ROOT / "examples" / "events.ndjson"):
    lines = path.read_bytes().decode().removesuffix("\n").split("\n")
    return [_example(json.loads(line)) for line in lines]


def _example(line):
    if "raw" in line:
        value = line["raw"].encode()
    elif "base64" in line:
        value = base64.b64decode(line["base64"])
    else:
        value = None if line["value"] is None else encoded(line["value"])
    key = line["key"].encode() if "key" in line else None
    headers = tuple((name, text.encode()) for name, text in line.get("headers", {}).items())
    written, wanted = Written(value, key, headers), line["expect"]
    if isinstance(wanted, list):
        event = line["value"]
        assert len(wanted) == len(event["recipients"])
        return Example(
            written,
            {
                index: _expected(one, written, for_one(event, entry), only(event, entry))
                for index, (one, entry) in enumerate(zip(wanted, event["recipients"]))
            },
        )
    if wanted["outcome"] is None:
        return Example(written, {})
    event = json.loads(value) if wanted["outcome"] != "invalid" else None
    return Example(written, {None: _expected(wanted, written, event, value)})


def _expected(wanted, written, event, value):
    reason = wanted.get("reason", ANY_REASON)
    kept = event if wanted["outcome"] != "invalid" else None
    return Expected(wanted["outcome"], reason, written, kept, value)


def for_one(event, entry):
    """The event with `recipients` as the event for the device of one entry."""
    own = entry if isinstance(entry, dict) else {"device_token": entry}
    return {name: value for name, value in event.items() if name != "recipients"} | own


def only(event, entry):
    """The value with one of the recipients, as the service writes it."""
    return encoded({**event, "recipients": [entry]})


def payload_bytes(value):
    """The payload's bytes exactly as in the event: found by position, not re-encoded."""
    text = value.decode()
    decoder = json.JSONDecoder()
    position = _skip_space(text, 0) + 1
    while True:
        name, position = decoder.raw_decode(text, _skip_space(text, position))
        position = _skip_space(text, position)
        assert text[position] == ":", "not a member of an object"
        start = _skip_space(text, position + 1)
        _, end = decoder.raw_decode(text, start)
        if name == "payload":
            return text[start:end].encode()
        position = _skip_space(text, end)
        assert text[position] == ",", "the event has no payload"
        position += 1


def _skip_space(text, position):
    while text[position] in " \t\r\n":
        position += 1
    return position


def sha256(octets):
    return hashlib.sha256(octets).hexdigest()


def changed(base, change):
    """A copy of a nested dictionary with `change` merged into it; lists are replaced."""
    result = copy.deepcopy(base)
    for name, value in change.items():
        if isinstance(value, dict) and isinstance(result.get(name), dict):
            result[name] = changed(result[name], value)
        else:
            result[name] = copy.deepcopy(value)
    return result
