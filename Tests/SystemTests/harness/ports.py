"""Free TCP ports for servers that cannot choose one and report it."""

import contextlib
import socket


@contextlib.contextmanager
def reserved_port():
    """A port on which nobody listens, except a server that is started with its number.

    A bound socket that does not listen reserves the port from automatic allocation. A server that
    requests this port gets it, because both sockets allow reuse, as nearly all servers do.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]
