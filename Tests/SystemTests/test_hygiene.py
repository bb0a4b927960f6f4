"""Dead tokens get nothing, equal notifications are sent once, and mass failures remove no token."""

import json

import pytest

from harness.deadlines import eventually
from harness.events import APP, new_event, record
from harness.kafka import Written
from harness.service import outcomes_of

TOKEN = "dead" + "0" * 60
SINCE = 1_754_006_400_000
SCENARIO = {
    "rules": [
        {"token": TOKEN, "is": "unregistered", "since": SINCE},
        {
            "token": "0b0b" + "0" * 60,
            "is": "flaky",
            "steps": ["Unregistered", "ok"],
            "repeat": True,
        },
    ]
}


def outcomes_by_event(bench):
    return {outcome["event_id"]: outcome for _, outcome in outcomes_of(bench.kafka, bench.topics)}


def one_after_another(bench, service, events):
    """Each event settles before the next one is written."""
    for event in events:
        count = bench.kafka.count(bench.topics.results)
        bench.produce([record(event)])
        bench.wait_for_outcomes(count + 1, service=service)


@pytest.mark.core
def test_a_dead_token_gets_nothing_even_after_a_restart(broker, simulators, benches):
    bench, simulator = benches(broker), simulators(SCENARIO)
    first = bench.run(simulator)
    dead, again, lower, later = (
        new_event(device_token=TOKEN),
        new_event(device_token=TOKEN),
        new_event(device_token=TOKEN, token_registered_at=SINCE),
        new_event(device_token=TOKEN, token_registered_at=SINCE + 1),
    )
    one_after_another(bench, first, [dead, again])
    first.drain()
    assert len(simulator.requests()) == 1

    second = bench.run(simulator)
    assert second.log_lines("token status loaded")
    one_after_another(bench, second, [lower, later])
    second.drain()

    outcomes = outcomes_by_event(bench)
    kinds = [outcomes[event["id"]]["outcome"] for event in (dead, again, lower, later)]
    assert kinds == ["unregistered", "suppressed", "suppressed", "unregistered"]
    suppressed = outcomes[again["id"]]
    assert suppressed["reason"] == "TokenUnregistered"
    assert suppressed["unregistered_at"] == SINCE
    assert suppressed["attempts"] == 0
    assert len(simulator.requests()) == 2


def test_a_revived_token_stays_alive_after_a_restart(broker, simulators, benches):
    bench, simulator = benches(broker), simulators(SCENARIO)
    token = "0b0b" + "0" * 60
    first = bench.run(simulator)
    dead, suppressed = new_event(device_token=token), new_event(device_token=token)
    # The simulator's answer has no time of death, so the time of the answer counts, which is
    # earlier.
    back = new_event(device_token=token, token_registered_at=4_000_000_000_000)
    one_after_another(bench, first, [dead, suppressed, back])
    first.drain()
    statuses = bench.kafka.read_all(bench.topics.token_status)
    assert [message.value() is None for message in statuses] == [False, True]

    second = bench.run(simulator)
    free = new_event(device_token=token)
    one_after_another(bench, second, [free])
    second.drain()
    outcomes = outcomes_by_event(bench)
    kinds = [outcomes[event["id"]]["outcome"] for event in (dead, suppressed, back, free)]
    # The last one was sent: the simulator answers 410 again.
    assert kinds == ["unregistered", "suppressed", "accepted", "unregistered"]


def status_record(token, **changes):
    """A token-status record; `value=None` is a tombstone."""
    body = {
        "status": "unregistered",
        "token_action": "remove",
        "reason": "Unregistered",
        "unregistered_at": SINCE,
        "observed_at": "2025-08-01T00:00:00.000Z",
        **changes,
    }
    value = None if changes.get("value", body) is None else json.dumps(body).encode()
    return Written(value, key=f"{APP}|production|{token}".encode())


def test_token_status_of_other_writers_is_read_at_startup(broker, simulators, benches):
    bench, simulator = benches(broker), simulators({})
    dead, untimed, held, other, alive = (f"5a5a{number}{'0' * 59}" for number in range(5))
    bench.kafka.produce(
        bench.topics.token_status,
        [
            Written(b"not json", key=f"{APP}|production|{alive}".encode()),
            Written(b"{}", key=b"no key of ours"),
            status_record(dead),
            status_record(untimed, unregistered_at=None),
            status_record(held, token_action="hold"),
            status_record(other, status="rejected", token_action="check_topic"),
            status_record(alive),
            status_record(alive, value=None),
        ],
    )
    service = bench.run(simulator)
    assert "heliograph_token_status_malformed_total 2" in service.fetch("/metrics")[1]
    assert "heliograph_suppressed_tokens 2" in service.fetch("/metrics")[1]
    events = [new_event(device_token=token) for token in (dead, untimed, held, other, alive)]
    one_after_another(bench, service, events)
    service.drain()
    outcomes = outcomes_by_event(bench)
    kinds = [outcomes[event["id"]]["outcome"] for event in events]
    assert kinds == ["suppressed", "suppressed", "accepted", "accepted", "accepted"]


def test_equal_notifications_are_sent_once(broker, simulators, benches):
    bench, simulator = benches(broker), simulators()
    service = bench.run(simulator)
    event = new_event()
    one_after_another(bench, service, [event, event])
    service.drain()
    outcomes = [outcome for _, outcome in outcomes_of(bench.kafka, bench.topics)]
    assert sorted(outcome["outcome"] for outcome in outcomes) == ["accepted", "duplicate"]
    assert len(simulator.requests()) == 1


def test_if_every_token_fails_only_the_first_is_removed(broker, simulators, benches):
    bench, simulator = benches(broker), simulators({"default": {"is": "unregistered"}})
    service = bench.run(simulator)
    bench.produce([record(new_event()) for _ in range(600)])
    bench.wait_for_outcomes(600, service=service)
    eventually(
        lambda: service.log_lines("token fuse blown; no token is removed"),
        60,
        "the blown fuse to be logged",
    )
    eventually(
        lambda: "refuses too many tokens" in str(service.warnings()),
        60,
        "a warning to name the credential",
    )
    service.drain()
    outcomes = [outcome for _, outcome in outcomes_of(bench.kafka, bench.topics)]
    actions = [outcome["token_action"] for outcome in outcomes]
    assert set(actions) == {"remove", "hold"}
    assert actions.count("remove") <= 160


@pytest.mark.core
def test_token_case_does_not_matter(broker, simulators, benches):
    """Keys of version 0.1 have the token in the event's own spelling."""
    bench, simulator = benches(broker), simulators({})
    revived, dead = "ABCD" + "E" * 60, "ABCE" + "F" * 60
    now = "2026-01-01T00:00:00.000Z"
    partitions = bench.kafka.partitions(bench.topics.token_status)
    # Each record is in a different partition, so the order of reading is random.
    words = [
        status_record(revived),
        status_record(revived.lower(), value=None),
        status_record(dead.lower(), observed_at=now, unregistered_at=SINCE + 1),
        status_record(dead),
    ]
    for partition, word in zip(partitions, words, strict=True):
        bench.kafka.produce(bench.topics.token_status, [word], partition)
    service = bench.run(simulator)
    events = [new_event(device_token=token) for token in (revived, dead.swapcase(), dead)]
    one_after_another(bench, service, events)
    # Compaction will remove the lower-case tombstone, and must not leave the older record.
    key = f"{APP}|production|{revived}".encode()

    def is_taken_back():
        told = bench.kafka.read_all(bench.topics.token_status)
        return [m.value() for m in told if m.key() == key][-1] is None

    eventually(is_taken_back, 60, "the upper-case record to get a tombstone")
    service.drain()
    outcomes = [outcome for _, outcome in outcomes_of(bench.kafka, bench.topics)]
    kinds = {outcome["device_token"]: outcome["outcome"] for outcome in outcomes}
    assert kinds == {revived: "accepted", dead.lower(): "suppressed", dead: "suppressed"}
    assert {outcome.get("unregistered_at") for outcome in outcomes} == {None, SINCE + 1}


def test_keys_have_lower_case_tokens(broker, simulators, benches):
    token = "ABAB" + "C" * 60
    scenario = {"rules": [{"token": token.lower(), "is": "unregistered", "since": SINCE}]}
    bench, simulator = benches(broker), simulators(scenario)
    service = bench.run(simulator)
    gone, invalid = new_event(device_token=token), new_event(device_token=token, priority=7)
    bench.produce([record(event) for event in (gone, invalid)])
    bench.wait_for_outcomes(2, service=service)
    service.drain()
    outcomes = outcomes_of(bench.kafka, bench.topics)
    assert [message.key() for message, _ in outcomes] == [token.lower().encode()] * 2
    assert [outcome["device_token"] for _, outcome in outcomes] == [token] * 2
    [status] = bench.kafka.read_all(bench.topics.token_status)
    assert status.key() == f"{APP}|production|{token.lower()}".encode()
    [letter] = bench.kafka.read_all(bench.topics.dead_letters)
    assert letter.key() == token.lower().encode()
