"""Broadcast channels by command, and broadcasts as events of their own source."""

import json
import uuid

import pytest

from harness.commands import run_command
from harness.events import APP, encoded, sha256
from harness.kafka import Written
from harness.service import outcomes_of



@pytest.fixture
def simulator(simulators):
    return simulators({"latency_ms": 50})


def managed(settings, simulator):
    """The settings with the simulator's ports for channel management."""
    settings["apns"]["endpoints"] |= {
        "management_production": simulator.ready["production_channels"],
        "management_sandbox": simulator.ready["sandbox_channels"],
    }
    return settings


@pytest.fixture
def bench(broker, benches):
    return benches(broker, 1)


@pytest.fixture
def channels(bench, simulator, tmp_path):
    """Runs `heliograph channels` against the simulator."""
    settings = managed(bench.configuration(simulator), simulator)

    def run(*arguments, app=APP):
        return run_command(tmp_path, settings, "channels", *arguments, "--bundle-id", app)

    return run


def created(channels, *arguments):
    done = channels("create", *arguments)
    assert done.code == 0, done.output
    [channel] = done.out
    return channel


def broadcast(channel, **changes):
    return {
        "id": f"broadcast-{uuid.uuid4()}",
        "channel_id": channel,
        "bundle_id": APP,
        "payload": {"aps": {"event": "update", "timestamp": 1790000000, "content-state": {"n": 1}}},
        "expiration": 0,
    } | changes


def test_channels_can_be_created_read_listed_and_deleted(channels):
    first, second = created(channels), created(channels, "--storage-policy", "newest")
    assert first != second
    assert channels("read", "--channel", first).out == ["storage none, push type LiveActivity"]
    assert channels("read", "--channel", second).out == ["storage newest, push type LiveActivity"]
    assert sorted(channels("list").out) == sorted([first, second])
    # The sandbox has its own channels.
    assert channels("list", "--environment", "sandbox").out == []
    deleted = channels("delete", "--channel", first)
    assert (deleted.code, deleted.out) == (0, []), deleted.output
    assert channels("list").out == [second]


def test_answers_are_json_on_request(channels):
    done = channels("create", "--json")
    [line] = done.out
    answer = json.loads(line)
    assert answer["bundle_id"] == APP and answer["environment"] == "production"
    assert answer["request_id"] and answer["credential"] == "example"
    listed = json.loads(channels("list", "--json").out[0])
    assert listed["channels"] == [answer["channel_id"]]
    refused = channels("read", "--json", "--channel", "bm9uZQ==")
    assert refused.code == 1
    assert json.loads(refused.out[0])["error"] == "ChannelNotRegistered"


@pytest.mark.parametrize(
    "arguments, app, code, words",
    [
        (["read", "--channel", "bm9uZQ=="], APP, 1, "ChannelNotRegistered (APNs, status 400)"),
        (["read", "--channel", "no base64"], APP, 64, "--channel"),
        (["read"], APP, 64, "--channel"),
        (["list", "--environment", "test"], APP, 64, "--environment"),
        (["create", "--storage-policy", "all"], APP, 64, "--storage-policy"),
        (["list"], "org.other", 1, "NoCredential"),
        (["list"], "com/example", 1, "is not a bundle ID"),
    ],
)
def test_a_refusal_gives_the_reason(channels, arguments, app, code, words):
    done = channels(*arguments, app=app)
    assert (done.code, done.out) == (code, []), done.output
    assert words in done.output


def test_create_is_not_repeated_after_a_lost_answer(bench, simulators, tmp_path):
    slow = simulators({"latency_ms": 300_000})
    settings = managed(bench.configuration(slow), slow)
    arguments = ["channels", "create", "--bundle-id", APP, "--timeout", "10"]
    done = run_command(tmp_path, settings, *arguments)
    assert (done.code, done.out) == (2, []), done.output
    assert "list the channels before you try again" in done.output


@pytest.mark.core
def test_broadcasts_are_sent_and_get_outcomes(bench, channels, simulator):
    channel = created(channels)
    settings = bench.configuration(simulator)
    settings["sources"][0]["kind"] = "broadcast"
    service = bench.start(settings).wait_until_ready()
    good = broadcast(channel, metadata={"match": "1"})
    stored = broadcast(channel, expiration=4102444800)
    unknown = broadcast("bm9uZQ==")
    invalid = broadcast(channel) | {"device_token": "00ff"}
    for event in (good, stored, unknown, invalid):
        count = bench.kafka.count(bench.topics.results)
        bench.produce([Written(encoded(event), key=event["channel_id"].encode())])
        bench.wait_for_outcomes(count + 1, service=service)
    service.drain()

    found = outcomes_of(bench.kafka, bench.topics)
    outcomes = {outcome["event_id"]: outcome for _, outcome in found}
    accepted = outcomes[good["id"]]
    assert (accepted["outcome"], accepted["channel_id"]) == ("accepted", channel)
    assert (accepted["device_token"], accepted["topic"]) == (None, None)
    assert accepted["push_type"] == "liveactivity" and accepted["metadata"] == {"match": "1"}
    assert {message.key().decode() for message, _ in found} == {channel, "bm9uZQ=="}
    # A channel without storage accepts no expiration.
    reasons = [outcomes[event["id"]]["reason"] for event in (stored, unknown, invalid)]
    assert reasons == ["BadExpirationDate", "ChannelNotRegistered", "SchemaViolation"]
    assert {outcome["token_action"] for outcome in outcomes.values()} == {"keep"}
    assert bench.kafka.count(bench.topics.token_status) == 0


def test_of_several_waiting_updates_only_the_newest_is_sent(bench, channels, simulator):
    channel = created(channels)
    settings = bench.configuration(simulator)
    settings["sources"][0]["kind"] = "broadcast"
    events = [broadcast(channel) for _ in range(200)]
    bench.produce([Written(encoded(event), key=channel.encode()) for event in events])
    service = bench.start(settings).wait_until_ready()
    bench.wait_for_outcomes(len(events), service=service)
    service.drain()
    outcomes = {o["event_id"]: o for _, o in outcomes_of(bench.kafka, bench.topics)}
    assert outcomes[events[-1]["id"]]["outcome"] == "accepted"
    kinds = [(outcomes[event["id"]]["outcome"], outcomes[event["id"]]["reason"]) for event in events]
    assert set(kinds) == {("accepted", None), ("expired", "Superseded")}
    sent = [r for r in simulator.requests() if r["token"].startswith("/4/broadcasts/")]
    assert len(sent) == kinds.count(("accepted", None))


# Broadcasts by command


@pytest.fixture
def push(bench, simulator, tmp_path):
    """Runs `heliograph push` against the simulator."""
    settings = bench.configuration(simulator)
    return lambda *arguments: run_command(tmp_path, settings, "push", *arguments)


PAYLOAD = '{"aps":  {"event":"update","timestamp":1790000000,"content-state":{"n":1}}}'


def test_push_sends_a_broadcast(channels, push, simulator):
    channel = created(channels, "--storage-policy", "newest")
    done = push("--channel", channel, "--bundle-id", APP, "--payload", PAYLOAD)
    assert done.code == 0, done.output
    for line in [
        f"> :path: /4/broadcasts/apps/{APP}", f"> apns-channel-id: {channel}",
        "> apns-push-type: liveactivity", "> apns-priority: 10", "> apns-expiration: 0",
        "< :status: 200", "accepted: APNs has it. APNs does not report which devices show it.",
    ]:  # fmt: skip
        assert line in done.out
    # The payload is sent exactly as typed.
    [sent] = [r for r in simulator.requests() if r["token"].startswith("/4/broadcasts/")]
    assert (sent["payload_sha256"], sent["status"]) == (sha256(PAYLOAD.encode()), 200)


def test_push_sends_an_event_of_a_broadcast_source(channels, push, tmp_path):
    event = broadcast(created(channels, "--environment", "sandbox"), environment="sandbox")
    (tmp_path / "event.json").write_bytes(encoded(event))
    done = push("--event", tmp_path / "event.json", "--broadcast")
    assert done.code == 0 and "credential example, sandbox" in done.out, done.output
    # The event is not a notification, and push does not guess.
    assert "SchemaViolation: not sent" in push("--event", tmp_path / "event.json").output


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        (["--channel", "bm9uZQ==", "--payload", PAYLOAD], 1, "ChannelNotRegistered"),
        (["--channel", "bm9uZQ==", "--payload", "{}"], 1, "/payload: "),
        (["--channel", "?", "--payload", PAYLOAD], 1, "/channel_id: "),
        (["--channel", "bm9uZQ==", "--alert", "x"], 64, "--channel: a broadcast needs --payload"),
        (["--channel", "bm9uZQ==", "--token", "00", "--payload", "{}"], 64, "--token, --recipients and --channel"),
        (["--broadcast", "--token", "00", "--payload", "{}"], 64, "--broadcast: needs --event or --channel"),
    ],
)
def test_a_failed_broadcast_gives_the_reason(push, arguments, code, words):
    done = push(*arguments, "--bundle-id", APP)
    assert done.code == code and words in done.output, done.output


def test_a_refused_broadcast_is_explained(channels, push):
    """A channel without storage accepts only expiration 0."""
    arguments = ["--channel", created(channels), "--bundle-id", APP, "--payload", PAYLOAD]
    done = push(*arguments, "--expiration", "4102444800")
    assert done.code == 1 and "< :status: 400" in done.out
    assert "BadExpirationDate (APNs, status 400)" in done.out
    assert "Send 0 to a channel without storage" in done.output and "epoch seconds, or 0" not in done.output
