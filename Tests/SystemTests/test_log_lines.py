"""How the log reports events and how often, and the times in outcome headers."""

import hashlib
import hmac
import json
import re

import pytest

from harness.events import new_event, record
from harness.kafka import Written
from harness.processes import json_object
from harness.service import outcomes_of

KEY = "0123456789abcdef0123456789abcdef"
BAD = "bad00000" + "5e" * 28
TRACE = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.core
def test_failed_events_are_logged_by_fingerprint_and_summarized(broker, simulators, benches, tmp_path):
    bench = benches(broker)
    simulator = simulators({"rules": [{"prefix": "bad0", "is": "BadDeviceToken"}]})
    (tmp_path / "key").write_text(KEY)
    log = {"level": "info", "fingerprint_key_file": str(tmp_path / "key")}
    rejected = new_event(device_token=BAD)
    records = [record(rejected), record(new_event())] + [Written(b"{")] * 10
    bench.produce(records)
    service = bench.run(simulator, log=log)
    bench.wait_for_outcomes(len(records), service=service)
    bench.wait_until_settled(service=service)
    service.drain()
    lines = [json_object(line) for line in service.child.lines("stderr")]
    faults = [line for line in lines if line["message"].startswith("event not delivered")]
    [told] = [line for line in faults if line["outcome"] == "rejected"]
    assert told["event_id"] == rejected["id"] and told["reason"] == "BadDeviceToken"
    assert told["device"] == hmac.new(KEY.encode(), BAD.encode(), hashlib.sha256).hexdigest()[:16]
    malformed = [line["message"] for line in faults if line["outcome"] == "invalid"]
    assert malformed[:-1] == ["event not delivered"] * 3
    assert re.fullmatch(
        r"event not delivered \(7 more of the same in the last \d+ s\)", malformed[-1]
    )


def test_outcome_headers_have_times_and_trace(broker, simulators, benches):
    bench = benches(broker)
    sent, unsent = new_event(), new_event(bundle_id="com.example.Nobody")
    headers = (("traceparent", TRACE), ("tracestate", b"a=b"))
    bench.produce([record(sent, headers=headers), record(unsent, headers=(("traceparent", b"x"),))])
    service = bench.run(simulators(), results={"timing_headers": True})
    bench.wait_for_outcomes(2, service=service)
    service.drain()
    found = {
        json.loads(message.value())["event_id"]: dict(message.headers())
        for message, _ in outcomes_of(broker, bench.topics)
    }
    full = found[sent["id"]]
    assert (full["traceparent"], full["tracestate"]) == (TRACE, b"a=b")
    times = [int(full[f"{name}-us"]) for name in ("received", "sent", "answered")]
    assert times == sorted(times)
    [outcome] = [o for _, o in outcomes_of(broker, bench.topics) if o["event_id"] == sent["id"]]
    assert outcome["outcome"] == "accepted"
    bare = found[unsent["id"]]
    assert "received-us" in bare and "sent-us" not in bare and "traceparent" not in bare
