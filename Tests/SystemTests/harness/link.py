"""Relays a TCP connection through this process, which can cut, silence and corrupt it."""

import contextlib
import random
import select
import socket
import threading

OPEN, SILENT, REFUSING, GARBAGE = "open", "silent", "refusing", "garbage"


class Link:
    """Forwards connections to a local port, and disturbs them on command.

    `silent`: bytes are held back, as by a firewall that drops packets; `refusing`: connections end
    as soon as they begin; `garbage`: random bytes come back instead of the far end's.
    """

    def __init__(self, target, seed=1):
        self._target = target
        self._random = random.Random(seed)
        self._mode = OPEN
        self._lock = threading.Lock()
        self._pairs = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        self.accepted = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def mode(self):
        return self._mode

    def become(self, mode, cutting=False):
        """Changes the mode; `cutting` also ends the open connections."""
        self._mode = mode
        if cutting:
            self.cut()

    def cut(self):
        """Resets every connection."""
        with self._lock:
            pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def close(self):
        # Otherwise the blocked accept would keep the port.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            if self._mode == REFUSING:
                near.close()
                continue
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near):
        with contextlib.suppress(OSError), near:
            with socket.create_connection(("127.0.0.1", self._target)) as far:
                pair = (near, far)
                with self._lock:
                    self._pairs.add(pair)
                try:
                    self._relay(near, far)
                finally:
                    with self._lock:
                        self._pairs.discard(pair)

    def _relay(self, near, far):
        ends = {near: far, far: near}
        while True:
            readable, _, _ = select.select(list(ends), [], [], 0.2)
            if self._mode == SILENT:
                # A connection that was cut meanwhile shows as shut down.
                if any(end.recv(1, socket.MSG_PEEK) == b"" for end in readable):
                    return
                threading.Event().wait(0.05)
                continue
            for end in readable:
                chunk = end.recv(65536)
                if not chunk:
                    return
                if self._mode == GARBAGE and end is far:
                    chunk = self._random.randbytes(len(chunk))
                ends[end].sendall(chunk)


@contextlib.contextmanager
def running_link(url, seed=1):
    """A link to the port of a URL like https://localhost:1234, and the link's own URL."""
    head, _, port = url.rpartition(":")
    link = Link(int(port), seed)
    try:
        yield link, f"{head}:{link.port}"
    finally:
        link.close()
