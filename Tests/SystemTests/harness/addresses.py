"""A name with several addresses, some of which swallow packets."""

import contextlib
import pathlib
import socket
import subprocess
import threading


@contextlib.contextmanager
def black_hole(address, port):
    """Drops every SYN, because its accept queue is full."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind((address, port))
        listener.listen(0)
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                filler.connect((address, port))
        yield


@contextlib.contextmanager
def broken_server(address, port):
    """Accepts connections and sends bytes that are not TLS; yields the list of clients."""
    visitors = []
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server((address, port)))

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    stream, visitor = listener.accept()
                    visitors.append(visitor)
                    with stream:
                        stream.sendall(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")

        threading.Thread(target=serve, daemon=True).start()
        # Otherwise the blocked accept would keep the port.
        stack.callback(listener.shutdown, socket.SHUT_RDWR)
        yield visitors


@contextlib.contextmanager
def silent_server(address, port):
    """Accepts connections and never answers."""
    with socket.create_server((address, port)):
        yield


def environment(folder, addresses):
    """The variables that make a process resolve "localhost" to these addresses."""
    source = pathlib.Path(__file__).with_suffix(".c")
    library = folder / "addresses.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    move(folder, addresses)
    return {"LD_PRELOAD": str(library), "TEST_ADDRESSES": str(folder / "addresses")}


def move(folder, addresses):
    """Changes the addresses that later look-ups find."""
    (folder / "addresses.new").write_text(" ".join(addresses))
    (folder / "addresses.new").rename(folder / "addresses")
