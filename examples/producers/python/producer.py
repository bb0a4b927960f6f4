"""Sends five events to Kafka, or prints them.

    python producer.py                     topic, key and value, one record a line
    python producer.py kafka:9092          to that cluster; needs confluent-kafka
"""

import datetime
import sys

from heliograph_events import (
    SEND_ONCE,
    BroadcastEvent,
    Event,
    NotificationEvent,
    PushType,
    Recipient,
    encoded,
    epoch_milliseconds,
    epoch_seconds,
)

UTC = datetime.UTC
DEVICE = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
OTHER_DEVICE = "740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad"


def samples() -> list[tuple[str, Event]]:
    """Topics and their events."""
    now = datetime.datetime.now(UTC)
    shipped = NotificationEvent(
        id="order-4711-shipped",
        device_token=DEVICE,
        bundle_id="com.example.MyApp",
        push_type=PushType.ALERT,
        payload={
            "aps": {
                "alert": {"title": "Shipped", "body": "Your parcel is on its way."},
                "sound": "default",
            },
            "order": 4711,
        },
        environment="production",
        priority=10,
        expiration=epoch_seconds(now + datetime.timedelta(days=1)),
        collapse_id="order-4711",
        apns_id="123e4567-e89b-12d3-a456-426614174000",
        token_registered_at=epoch_milliseconds(
            datetime.datetime(2025, 10, 9, 8, 53, 20, tzinfo=UTC)
        ),
        occurred_at=now,
        metadata={"tenant": "a"},
    )
    refresh = NotificationEvent(
        id="order-4711-refresh",
        device_token=DEVICE,
        bundle_id="com.example.MyApp",
        push_type=PushType.BACKGROUND,
        payload={"aps": {"content-available": 1}},
    )
    call = NotificationEvent(
        id="call-17",
        device_token=DEVICE.upper(),
        topic="com.example.MyApp.voip",
        push_type=PushType.VOIP,
        payload={"call": {"from": "Zoë", "has_video": False}},
        expiration=SEND_ONCE,
    )
    news = NotificationEvent(
        id="news-88",
        recipients=[
            Recipient(device_token=DEVICE),
            Recipient(device_token=OTHER_DEVICE, collapse_id="news"),
        ],
        bundle_id="com.example.MyApp",
        push_type=PushType.ALERT,
        payload={"aps": {"alert": {"title": "News", "body": "The bridge is open."}}},
        campaign="bridge-opening",
        not_before=epoch_seconds(datetime.datetime(2025, 10, 9, 8, 53, 20, tzinfo=UTC)),
    )
    goal = BroadcastEvent(
        id="match-4711-goal-3",
        channel_id="dHN0LXNyY2gtY2hubA==",
        bundle_id="com.example.MyApp",
        payload={
            "aps": {
                "event": "update",
                "timestamp": 1790000000,
                "content-state": {"score": "2:1"},
            }
        },
        expiration=SEND_ONCE,
        environment="production",
        priority=10,
        apns_request_id="123e4567-e89b-12d3-a456-426614174000",
        occurred_at=now,
        campaign="match-4711",
        metadata={"tenant": "a"},
    )
    notifications = [("notifications", event) for event in (shipped, refresh, call, news)]
    return [*notifications, ("broadcasts", goal)]


def send(bootstrap_servers: str, records: list[tuple[str, Event]]) -> None:
    """Returns when Kafka has all of them; raises where it refuses one."""
    from confluent_kafka import KafkaException, Producer

    failed = []

    def on_delivery(error, _):
        if error:
            failed.append(error)

    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            # Implies acks=all: an event that was acknowledged is not lost, and is there once.
            "enable.idempotence": True,
            # As Java's clients: a device has one partition, whoever writes for it.
            "partitioner": "murmur2_random",
        }
    )
    for topic, event in records:
        producer.produce(topic, encoded(event), key=event.key, on_delivery=on_delivery)
    producer.flush()
    if failed:
        raise KafkaException(failed[0])


def main() -> None:
    if len(sys.argv) > 1:
        send(sys.argv[1], samples())
        return
    for topic, event in samples():
        sys.stdout.buffer.write(f"{topic}\t{event.key}\t".encode() + encoded(event) + b"\n")


if __name__ == "__main__":
    main()
