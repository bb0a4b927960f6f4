"""Relays a broker's connections through this process, where a batch can be damaged."""

import contextlib
import select
import struct
import time

from .link import Link

# Kafka's API key of the request, which follows the length.
FETCH = struct.pack(">h", 1)
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
        wait = self._waiting()
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
                    wait(request)
                    far.sendall(request)

    def _waiting(self):
        """What each connection does before it forwards a request."""
        return lambda request: None

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

    def _waiting(self):
        latest = 0.0

        def wait(request):
            nonlocal latest
            if request[4:6] == FETCH:
                time.sleep(max(0.0, latest + PACE_SECONDS - time.monotonic()))
                latest = time.monotonic()

        return wait


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
