"""The status page with a scripted service that returns hand-written documents."""

import contextlib
import http.server
import json
import math
import threading

POINTS = 180
INTERVAL = 5
OUTCOMES = (
    "accepted", "unregistered", "rejected", "invalid",
    "expired", "suppressed", "duplicate", "undeliverable", "cancelled",
)  # fmt: skip


def samples(**values):
    """Metric families without labels."""
    return {name: [{"value": value}] for name, value in values.items()}


def labelled(label, values, **others):
    return [{**others, label: key, "value": value} for key, value in values.items()]


def wave(points, base, swing, period=37, phase=0):
    return [round(base + swing * math.sin((i + phase) / period * 2 * math.pi), 4) for i in points]


def document(uptime=40_000, ready=True, reasons=(), state="running", points=POINTS):
    """A service without work."""
    at = [uptime - INTERVAL * (points - 1 - i) for i in range(points)]
    zeros = [0] * points
    return {
        "version": "0.1.0",
        "state": state,
        "uptime_seconds": uptime,
        "readiness": {"ready": ready, "reasons": list(reasons), "warnings": []},
        "reasons": [],
        "campaigns": {"allows_orders": False, "shown": [], "others": 0},
        "history": {
            "interval_seconds": INTERVAL,
            "point_count": POINTS,
            "at_seconds": at,
            "outcomes_per_second": {kind: list(zeros) for kind in OUTCOMES},
            "per_second": {
                n: list(zeros)
                for n in ("consumed", "recipients", "attempts", "retries", "deferred")
            },
            "levels": {"in_flight": list(zeros), "lag": list(zeros), "streams": list(zeros)},
            "apns_seconds": {},
            "end_to_end_seconds": {},
        },
        "configuration": [
            {"key": "kafka.bootstrap_servers", "value": "kafka-1:9092,kafka-2:9092,kafka-3:9092"},
            {"key": "kafka.group_id", "value": "heliograph"},
            {"key": "kafka.properties.sasl.password", "value": "(hidden)"},
            {"key": "apns.credentials.0.bundle_ids", "value": "[com.example.MyApp, com.example.*]"},
            {"key": "limits.in_flight_events", "value": "10000"},
        ],
        "metrics": idle_metrics(),
    }


def idle_metrics():
    routes = [("example", "production"), ("example", "sandbox"), ("legacy", "production")]
    places = [{"credential": c, "environment": e} for c, e in routes]
    used = [1, 0, 1]
    return {
        **samples(
            inflight_events=0, inflight_bytes=0, inflight_limit_events=10_000,
            events_unaccounted=0, events_deferred_total=12, events_returned_total=12,
            waiting_for_due_events=0, waiting_recipients=0, campaign_waiting_events=0,
            oldest_unsettled_seconds=0,
            apns_attempts_total=18_204, partitions_assigned=6, rebalances_total=2,
            results_produced_total=18_210, shards=2, shards_joined=2, apns_clock_skew_seconds=0,
            shard_silence_seconds=0.4,
            process_resident_memory_bytes=91_234_304, process_open_fds=48,
            process_cpu_seconds_total=182.4, suppressed_tokens=311,
        ),
        "build_info": [{"version": "0.1.0", "librdkafka": "2.0.2", "value": 1}],
        "events_terminal_total": labelled(
            "outcome", dict(zip(OUTCOMES, (17_802, 311, 40, 21, 9, 24, 3, 0, 0))), credential="example"
        ),
        "retries_total": labelled("tier", {"here": 31, "1m": 9, "15m": 3}, reason="Shutdown"),
        "apns_responses_total": labelled("status", {"200": 17_802, "410": 311, "503": 31}),
        "events_consumed_total": labelled("framing", {"plain": 18_210, "cloudevents": 12}),
        "commits_total": labelled("result", {"ok": 1_203, "failed": 0}),
        "apns_connections": [{**p, "state": "ready", "value": n} for p, n in zip(places, used)],
        "apns_streams": [{**p, "value": 0} for p in places],
        "apns_streams_limit": [{**p, "value": 1000 * n} for p, n in zip(places, used)],
        "apns_waiting_events": [{**p, "value": 0} for p in places],
        "apns_breakers": [
            {**p, "state": state, "value": 2 if state == "closed" else 0}
            for p in places
            for state in ("closed", "open", "half_open")
        ],
        "apns_credentials_parked": labelled("credential", {"example": 0, "legacy": 0}),
        "token_fuse_blown": [{**p, "value": 0} for p in places],
        "kafka_consumer_lag_records": labelled(
            "partition", {str(i): 0 for i in range(6)}, topic="notifications"
        ),
        "partition_paused": labelled(
            "partition", {str(i): 0 for i in range(6)}, topic="notifications"
        ),
    }


def idle():
    return document()


def busy():
    """A service with much traffic and no problem."""
    told = document(uptime=86_400 * 3)
    points, past = range(POINTS), told["history"]
    past["outcomes_per_second"]["accepted"] = wave(points, 2_400, 700)
    past["outcomes_per_second"]["unregistered"] = wave(points, 9, 3, 23)
    past["outcomes_per_second"]["suppressed"] = wave(points, 4, 2, 51)
    past["outcomes_per_second"]["invalid"] = [3 if 60 < i < 66 else 0 for i in points]
    past["per_second"]["retries"] = wave(points, 2, 1)
    past["levels"]["lag"] = wave(points, 900, 600, 60)
    past["levels"]["in_flight"] = wave(points, 480, 150)
    past["apns_seconds"] = {"p50": wave(points, 0.021, 0.004), "p99": wave(points, 0.09, 0.03, 29)}
    past["end_to_end_seconds"] = {"p50": wave(points, 0.06, 0.01), "p99": wave(points, 0.4, 0.1)}
    metrics = told["metrics"]
    metrics.update(samples(inflight_events=512, oldest_unsettled_seconds=0.8))
    for route, streams in zip(metrics["apns_streams"], (412, 0, 37)):
        route["value"] = streams
    for partition, sample in enumerate(metrics["kafka_consumer_lag_records"]):
        sample["value"] = (220, 41, 310, 96, 0, 178)[partition]
    for sample in metrics["events_terminal_total"]:
        sample["value"] += round(INTERVAL * sum(past["outcomes_per_second"][sample["outcome"]]))
    told["reasons"] = [
        reason("Unregistered", 8_121, 8_121, 3, "The device token is not active for the topic.",
               "Remove the token, unless the app reported it after `unregistered_at`."),
        reason("TokenUnregistered", 3_600, 0, 1, "APNs has called the token dead before.",
               "Remove the token from the sender's list.", "heliograph"),
        reason("ServiceUnavailable", 0, 41, 240, "APNs is unavailable for a moment.", "Nothing."),
    ]  # fmt: skip
    return told


def campaign(name, order=None, holds="running", rate=0, in_flight=0, waiting=0, **outcomes):
    return {
        "campaign": name,
        "holds": holds,
        "order": order and {"per_second": None, "until": None, **order},
        "written_at_seconds": 1_795_775_400 if order else None,
        "sent": outcomes.get("accepted", 0),
        "outcomes": {**dict.fromkeys(OUTCOMES, 0), **outcomes},
        "outcomes_per_second": rate,
        "in_flight": in_flight,
        "waiting": waiting,
    }


def campaigns():
    """One of each state."""
    return [
        campaign("breaking-news", rate=2_210.4, in_flight=480, waiting=9_520, accepted=412_007,
                 unregistered=1_204, duplicate=3),
        campaign("spring-sale", {"state": "paused", "per_second": 500}, "paused", waiting=2_500,
                 accepted=31_904),
        campaign("weekly-digest", {"state": "running", "per_second": 0.5, "until": 4_000_000_000},
                 "paced", rate=0.5, waiting=12, accepted=77),
        campaign("wrong-one", {"state": "cancelled"}, "cancelled", accepted=120, cancelled=99_880),
    ]  # fmt: skip


def degraded():
    """A parked credential, an unreachable endpoint, growing lag, a certificate that expires soon."""
    told = busy()
    told["readiness"] = {
        "ready": False,
        "reasons": [{"part": "kafka", "reason": "Local: All broker connections are down"}],
        "warnings": [
            {"part": "credential legacy (production)", "reason": "parked: BadCertificate"}
        ],
    }
    points, past = range(POINTS), told["history"]
    fall = [max(0.05, 1 - max(0, i - 100) / 40) for i in points]
    rate = past["outcomes_per_second"]
    rate["accepted"] = [round(v * f, 2) for v, f in zip(rate["accepted"], fall)]
    rate["undeliverable"] = [0 if i < 104 else min(160, (i - 104) * 8) for i in points]
    rate["rejected"] = [0 if i < 110 else 45 for i in points]
    past["levels"]["lag"] = [900 + max(0, i - 100) ** 2 * 12 for i in points]
    past["levels"]["in_flight"] = [480 if i < 100 else min(9_800, 480 + (i - 100) * 400)
                                   for i in points]  # fmt: skip
    past["apns_seconds"]["p99"] = [0.09 if i < 100 else 0.09 * 1.06 ** (i - 100) for i in points]
    past["apns_seconds"]["p99"][140:] = [None] * 12 + [9.0] * 28
    metrics = told["metrics"]
    metrics.update(samples(inflight_events=9_800, oldest_unsettled_seconds=412))
    metrics["apns_credentials_parked"][1]["value"] = 2
    for sample in metrics["apns_breakers"]:
        if (sample["environment"], sample["state"]) == ("sandbox", "open"):
            sample["value"] = 2
    for partition in (0, 2):
        metrics["partition_paused"][partition]["value"] = 1
        metrics["kafka_consumer_lag_records"][partition]["value"] = 38_000 + partition
    metrics["token_fuse_blown"][0]["value"] = 1
    told["campaigns"] = {"allows_orders": True, "shown": campaigns(), "others": 7}
    metrics["events_giving_up"] = labelled("credential", {"example": 1, "": 0})
    metrics["produce_errors_total"] = labelled("record", {"outcome": 17})
    told["reasons"].insert(
        0,
        reason("BadCertificate", 1_800, 4, 12, "The certificate is invalid.",
               "Renew the certificate, and put it in place of the file."),
    )  # fmt: skip
    return told


def reason(name, outcomes, refusals, ago, meaning, remedy, decided_by="apns"):
    return {
        "reason": name,
        "decided_by": decided_by,
        "outcomes": {"recent": outcomes, "total": outcomes},
        "refusals": {"recent": refusals, "total": refusals},
        "last_seen_seconds": 86_400 * 3 - ago,
        "meaning": meaning,
        "remedy": remedy,
    }


class ScriptedService:
    """Serves the real page with its headers, and the document that it is given."""

    def __init__(self, page, headers):
        self.status = idle()
        self.answers = 0
        # (path, Origin) of each request for an order, and what is answered.
        self.orders = []
        self.order_answer = (200, "done")
        self.is_silent = False
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if service.is_silent:
                    self.close_connection = True
                    return
                if self.path == "/":
                    self.answer(page, headers)
                elif self.path == "/status.json":
                    service.answers += 1
                    body = json.dumps(service.status).encode()
                    self.answer(body, {"Content-Type": "application/json"})
                else:
                    self.send_error(404)

            def do_POST(self):
                service.orders.append((self.path, self.headers["Origin"]))
                status, text = service.order_answer
                self.answer(text.encode(), {"Content-Type": "text/plain"}, status)

            def answer(self, body, fields, status=200):
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextlib.contextmanager
def scripted_service(page, headers):
    service = ScriptedService(page, headers)
    try:
        yield service
    finally:
        service.stop()
