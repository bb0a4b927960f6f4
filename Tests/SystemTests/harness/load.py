"""Events that are written all the while something else happens."""

import itertools
import json
import threading

from confluent_kafka import Producer

from .events import encoded, new_event


class Load:
    """Writes events until it is closed, as a careful upstream does: each until Kafka has it."""

    def __init__(self, kafka, topic, per_second=200, make_event=new_event):
        self._topic = topic
        self._pause = 1 / per_second
        self._make_event = make_event
        self._servers = kafka.bootstrap_servers
        self._producer = self._new_producer()
        self._is_over = threading.Event()
        self._may_write = threading.Event()
        self._may_write.set()
        # Held while the thread writes.
        self._turn = threading.Lock()
        self._lock = threading.Lock()
        self._written = []
        self._errors = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def written(self):
        """The events that Kafka has."""
        return [event["id"] for event in self._events()]

    @property
    def owed(self):
        """The (event, recipient) of each outcome that must come; the recipient may be None."""
        return {
            (event["id"], index)
            for event in self._events()
            for index in (range(len(event["recipients"])) if "recipients" in event else [None])
        }

    def _events(self):
        with self._lock:
            return [json.loads(value) for value in self._written]

    def pause(self):
        """Waits until Kafka has all that is written."""
        with self._turn:
            self._may_write.clear()
        assert self._producer.flush(120) == 0, "records were left in the producer"

    def resume(self):
        # An unclean election takes from the broker what an idempotent producer has written, which
        # that producer does not survive.
        self._producer = self._new_producer()
        self._may_write.set()

    def close(self):
        self._is_over.set()
        self._may_write.set()
        self._thread.join(150)
        assert not self._thread.is_alive() and not self._errors, self._errors[:3]

    def _new_producer(self):
        return Producer(
            {
                "bootstrap.servers": self._servers,
                "enable.idempotence": True,
                "message.timeout.ms": 120_000,
                "linger.ms": 5,
                "log_level": 0,
            }
        )

    def _run(self):
        while not self._is_over.wait(self._pause):
            self._may_write.wait()
            with self._turn:
                if self._may_write.is_set():
                    self._write(self._make_event())
        if self._producer.flush(120):
            self._errors.append("records were left in the producer")

    def _write(self, event):
        key = event.get("device_token", event["id"]).encode()
        self._producer.produce(self._topic, encoded(event), key, on_delivery=self._note)
        self._producer.poll(0)

    def _note(self, error, message):
        with self._lock:
            if error:
                self._errors.append(error)
            else:
                # A record whose first acknowledgement was lost has no offset here.
                self._written.append(message.value())


def in_turn(*kinds):
    """Makes events that are of these kinds in turn; each is the fields that differ."""
    turns = itertools.cycle(kinds)
    return lambda: new_event(**next(turns)())
