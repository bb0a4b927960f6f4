"""Reads events from Kafka, sends them to APNs over one connection, and writes an outcome of each.

    script_service.py SERVERS SOURCE RESULTS GROUP APNS_PORT CA_FILE KEY_FILE

One thread: a batch of events is read and sent, its answers are awaited and written, its offsets are
committed.
"""

import json
import pathlib
import socket
import ssl
import sys
import time
import uuid

import h2.config
import h2.connection
import h2.events
import jwt
from confluent_kafka import Consumer, Producer

# Within the streams of a connection.
BATCH = 500
NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "script.example.com")


class APNs:
    def __init__(self, port, ca_file, key_file):
        context = ssl.create_default_context(cafile=ca_file)
        context.set_alpn_protocols(["h2"])
        raw = socket.create_connection(("localhost", port))
        self._socket = context.wrap_socket(raw, server_hostname="localhost")
        self._http = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self._http.initiate_connection()
        self._write()
        # The other side's settings and window, without which little may be sent.
        self._http.receive_data(self._read())
        self._write()
        claims = {"iss": "DEF123GHIJ", "iat": int(time.time())}
        key = pathlib.Path(key_file).read_text()
        self._token = jwt.encode(claims, key, "ES256", headers={"kid": "ABC123DEFG"})

    def send(self, events):
        """{event's id: (apns-id, status)} of all of them."""
        open_streams, answers = {}, {}
        for event in events:
            stream, apns_id = self._request(event)
            open_streams[stream] = (event["id"], apns_id)
        self._write()
        while open_streams:
            for event in self._http.receive_data(self._read()):
                if isinstance(event, h2.events.ResponseReceived):
                    event_id, apns_id = open_streams[event.stream_id]
                    answers[event_id] = (apns_id, dict(event.headers)[":status"])
                elif isinstance(event, h2.events.StreamEnded):
                    del open_streams[event.stream_id]
                elif isinstance(event, (h2.events.ConnectionTerminated, h2.events.StreamReset)):
                    raise SystemExit(f"APNs has closed: {event}")
            self._write()
        return answers

    def _request(self, event):
        stream = self._http.get_next_available_stream_id()
        apns_id = str(uuid.uuid5(NAMESPACE, event["id"]))
        body = json.dumps(event["payload"], separators=(",", ":")).encode()
        headers = [
            (":method", "POST"),
            (":scheme", "https"),
            (":authority", "localhost"),
            (":path", f"/3/device/{event['device_token']}"),
            ("authorization", f"bearer {self._token}"),
            ("apns-topic", event["bundle_id"]),
            ("apns-push-type", event["push_type"]),
            ("apns-id", apns_id),
        ]
        self._http.send_headers(stream, headers)
        self._http.send_data(stream, body, end_stream=True)
        return stream, apns_id

    def _read(self):
        data = self._socket.recv(65536)
        if not data:
            raise SystemExit("APNs has closed the connection")
        return data

    def _write(self):
        if data := self._http.data_to_send():
            self._socket.sendall(data)


def main(servers, source, results, group, port, ca_file, key_file):
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([source])
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "compression.type": "lz4"})
    apns = APNs(int(port), ca_file, key_file)
    while True:
        records = [r for r in consumer.consume(BATCH, 0.2) if not r.error()]
        if not records:
            continue
        events = [json.loads(record.value()) for record in records]
        answers = apns.send(events)
        for event in events:
            apns_id, status = answers[event["id"]]
            outcome = {
                "event_id": event["id"],
                "device_token": event["device_token"],
                "apns_id": apns_id,
                "outcome": "accepted" if status == "200" else "rejected",
                "completed_at": time.time(),
            }
            producer.produce(results, json.dumps(outcome), event["device_token"])
        if producer.flush(60):
            raise SystemExit("outcomes were not written")
        consumer.commit(asynchronous=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
