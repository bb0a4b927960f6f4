"""Relays a broker's connections through this process, where batches can be damaged and refused."""

import contextlib
import select
import struct
import time

from .link import Link

# Kafka's API keys, which follow a request's length.
PRODUCE, FETCH, END_TXN = (struct.pack(">h", key) for key in (0, 1, 26))
PACE_SECONDS = 0.02


class KafkaLink(Link):
    """Forwards to a local broker, and replaces its address in answers by the link's own.

    `damage(mark)`: until `heal`, flips one bit of these bytes in every answer that contains them.
    If the mark is part of an event's value, the batch's checksum is wrong.
    """

    def __init__(self, target):
        self._mark = None
        self._left = None
        self.damaged = 0
        super().__init__(target)

    def damage(self, mark, times=None):
        self._left, self._mark = times, mark

    def heal(self):
        self._mark = None

    def _relay(self, near, far):
        asked, answered = bytearray(), bytearray()
        due = self._requests()
        while True:
            for end in select.select([near, far], [], [])[0]:
                chunk = end.recv(65536)
                if not chunk:
                    return
                if end is far:
                    answered += chunk
                    for answer in whole_frames(answered):
                        near.sendall(self._changed(answer))
                    continue
                asked += chunk
                for request in whole_frames(asked):
                    for each in due(request):
                        far.sendall(each)

    def _requests(self):
        """Says, for one connection, which requests the broker gets when this one comes."""
        return lambda request: [request]

    def _changed(self, answer):
        # The length stays the same: a port always takes four bytes.
        answer = bytearray(answer.replace(address(self._target), address(self.port)))
        mark = self._mark
        place = answer.find(mark) if mark else -1
        if place >= 0 and self._left != 0:
            answer[place] ^= 1
            self.damaged += 1
            self._left = None if self._left is None else self._left - 1
        return bytes(answer)


class PacedLink(KafkaLink):
    """For a broker that answers Fetch at once even without records, and is then asked again at once.

    Service and broker would use half a core for that.
    """

    def _requests(self):
        latest = 0.0

        def due(request):
            nonlocal latest
            if request[4:6] == FETCH:
                time.sleep(max(0.0, latest + PACE_SECONDS - time.monotonic()))
                latest = time.monotonic()
            return [request]

        return due


class CommitLink(KafkaLink):
    """Calls `before_commit`, once, before the broker gets the request to end a transaction."""

    def __init__(self, target):
        self.before_commit = None
        super().__init__(target)

    def _requests(self):
        def due(request):
            if request[4:6] == END_TXN and self.before_commit:
                call, self.before_commit = self.before_commit, None
                call()
            return [request]

        return due


class RefusingLink(KafkaLink):
    """The broker refuses the first batch of a topic, and gets the second before it answers.

    As after the topic was created, when the broker does not know it yet: the first batch goes to a
    topic that does not exist, and its answer comes back under the right name.
    """

    def __init__(self, topic, target):
        self._names = topic.encode(), topic.swapcase().encode()
        self._held = None
        self.has_refused = False
        super().__init__(target)

    @property
    def is_holding(self):
        return self._held is not None

    def _requests(self):
        topic, missing = self._names

        def due(request):
            if self.has_refused or request[4:6] != PRODUCE or topic not in request:
                return [request]
            if self._held is None:
                self._held = request
                return []
            self.has_refused = True
            return [self._held.replace(topic, missing), request]

        return due

    def _changed(self, answer):
        topic, missing = self._names
        return super()._changed(answer.replace(missing, topic))


def address(port):
    """The encoding in answers to Metadata and FindCoordinator: host, then port."""
    return b"127.0.0.1" + struct.pack(">i", port)


def whole_frames(pending):
    """Removes and returns the complete frames; each begins with its length in four bytes."""
    while len(pending) >= 4:
        end = 4 + struct.unpack_from(">i", pending)[0]
        if len(pending) < end:
            return
        yield bytes(pending[:end])
        del pending[:end]


@contextlib.contextmanager
def running_kafka_link(servers, kind=KafkaLink):
    """A link to the only broker, and the link's address."""
    link = kind(int(servers.rpartition(":")[2]))
    try:
        yield link, f"127.0.0.1:{link.port}"
    finally:
        link.close()
