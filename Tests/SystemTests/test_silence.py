"""APNs does not answer requests, or closes idle connections: both are noticed and reported."""

import pytest

from harness.deadlines import eventually
from harness.events import new_event, record
from harness.service import outcomes_of

MUTE = "a11c0000" + "51" * 28


@pytest.fixture
def bench(broker, benches):
    return benches(broker, 1)


def silent_at_first(times):
    return {"rules": [{"token": MUTE, "is": "flaky", "steps": ["silence"] * times}]}


def counted(service, *names):
    lines = dict(line.rsplit(" ", 1) for line in service.fetch("/metrics")[1].splitlines())
    return [int(lines[f"heliograph_apns_{name}_total"]) for name in names]


@pytest.mark.takes(20)
def test_a_connection_that_answers_only_pings_is_reported_and_replaced(bench, simulators):
    """After 20 seconds."""
    simulator = simulators(silent_at_first(1), ["--control-port", 0])
    bench.produce([record(new_event(device_token=MUTE))])
    service = bench.run(simulator, apns={"request_timeout": "5m"})
    eventually(
        lambda: simulator.control("GET", "/statistics")[1]["connections"] > 1,
        60,
        service.child.output,
    )
    bench.produce([record(new_event())])
    bench.wait_for_outcomes(1, service=service)
    message = "APNs connection stalled; replacing it"
    [told] = service.log_lines(message)
    facts = {name: told[name] for name in ("connection", "credential", "environment")}
    assert facts == {"connection": "1", "credential": "example", "environment": "production"}
    assert counted(service, "stalled_connections", "request_timeouts") == [1, 0]


@pytest.mark.core
def test_unanswered_requests_are_counted_and_logged_once(bench, simulators):
    simulator = simulators(silent_at_first(3))
    bench.produce([record(new_event(device_token=MUTE))])
    service = bench.run(
        simulator, apns={"request_timeout": "200ms"}, retry={"attempts": 100}
    )
    bench.wait_for_outcomes(1, service=service)
    [(_, outcome)] = outcomes_of(bench.kafka, bench.topics)
    # On a busy machine, an answer may take longer, too.
    assert outcome["outcome"] == "accepted" and outcome["attempts"] >= 4
    count = outcome["attempts"] - 1
    [told] = service.log_lines("APNs requests time out")
    assert (told["credential"], told["environment"]) == ("example", "production")
    eventually(lambda: counted(service, "request_timeouts") == [count], 60, service.child.output)


def test_after_an_idle_goaway_the_next_event_gets_a_connection(bench, simulators):
    simulator = simulators({}, ["--control-port", 0])
    service = bench.run(simulator)
    bench.produce([record(new_event())])
    bench.wait_for_outcomes(1, service=service)
    assert simulator.control("POST", "/scenario", {"idle_timeout_ms": 500})[0] == 204
    eventually(lambda: service.log_lines("APNs closed a connection"), 60, service.child.output)
    bench.produce([record(new_event())])
    bench.wait_for_outcomes(2, service=service)
    outcomes = [outcome for _, outcome in outcomes_of(bench.kafka, bench.topics)]
    assert [(o["outcome"], o["attempts"]) for o in outcomes] == [("accepted", 1)] * 2
    told = service.log_lines("APNs closed a connection")
    assert {line["reason"] for line in told} == {"IdleTimeout"}
