/**
 * Prints five events: topic, key and value, one record a line.
 *
 * To send them, give `publish` a producer of kafkajs or @confluentinc/kafka-javascript.
 */
import {
  BroadcastEvent,
  Event,
  NotificationEvent,
  epochMilliseconds,
  epochSeconds,
  keyOf,
  sendOnce,
} from "./events";

/** What `publish` needs of a Kafka client; the producers of both clients have it. */
export interface Producer {
  send(batch: {
    topic: string;
    acks?: number;
    messages: { key: string; value: string }[];
  }): Promise<unknown>;
}

/** Settles when Kafka has all events, or refuses one. */
export async function publish(producer: Producer, topic: string, events: Event[]): Promise<void> {
  const messages = events.map((event) => ({ key: keyOf(event), value: JSON.stringify(event) }));
  await producer.send({ topic, messages });
}

const device = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0";
const otherDevice = "740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad";
const occurredAt = new Date();

const shipped: NotificationEvent = {
  id: "order-4711-shipped",
  device_token: device,
  bundle_id: "com.example.MyApp",
  push_type: "alert",
  payload: {
    aps: {
      alert: { title: "Shipped", body: "Your parcel is on its way." },
      sound: "default",
    },
    order: 4711,
  },
  environment: "production",
  priority: 10,
  expiration: epochSeconds(new Date(occurredAt.getTime() + 24 * 60 * 60 * 1000)),
  collapse_id: "order-4711",
  apns_id: "123e4567-e89b-12d3-a456-426614174000",
  token_registered_at: epochMilliseconds(new Date("2025-10-09T08:53:20Z")),
  occurred_at: occurredAt,
  metadata: { tenant: "a" },
};

const refresh: NotificationEvent = {
  id: "order-4711-refresh",
  device_token: device,
  bundle_id: "com.example.MyApp",
  push_type: "background",
  payload: { aps: { "content-available": 1 } },
};

interface Ring {
  call: { from: string; has_video: boolean };
}

const call: NotificationEvent<Ring> = {
  id: "call-17",
  device_token: device.toUpperCase(),
  topic: "com.example.MyApp.voip",
  push_type: "voip",
  payload: { call: { from: "Zoë", has_video: false } },
  expiration: sendOnce,
};

const news: NotificationEvent = {
  id: "news-88",
  recipients: [
    { device_token: device },
    { device_token: otherDevice, collapse_id: "news" },
  ],
  bundle_id: "com.example.MyApp",
  push_type: "alert",
  payload: { aps: { alert: { title: "News", body: "The bridge is open." } } },
  campaign: "bridge-opening",
  not_before: epochSeconds(new Date("2025-10-09T08:53:20Z")),
};

const goal: BroadcastEvent = {
  id: "match-4711-goal-3",
  channel_id: "dHN0LXNyY2gtY2hubA==",
  bundle_id: "com.example.MyApp",
  payload: {
    aps: { event: "update", timestamp: 1790000000, "content-state": { score: "2:1" } },
  },
  expiration: sendOnce,
  environment: "production",
  priority: 10,
  apns_request_id: "123e4567-e89b-12d3-a456-426614174000",
  occurred_at: occurredAt,
  campaign: "match-4711",
  metadata: { tenant: "a" },
};

const printing: Producer = {
  async send({ topic, messages }) {
    for (const { key, value } of messages) console.log(`${topic}\t${key}\t${value}`);
  },
};

async function main(): Promise<void> {
  await publish(printing, "notifications", [shipped, refresh, call, news]);
  await publish(printing, "broadcasts", [goal]);
}

void main();
