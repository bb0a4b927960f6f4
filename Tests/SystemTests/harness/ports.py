"""TCP ports of this machine for servers that cannot choose one and tell it."""

import contextlib
import socket


@contextlib.contextmanager
def reserved_port():
    """A port on which nobody listens, but for a server that is told its number.

    A socket that is bound and does not listen keeps the port from all who ask for any. A server
    that asks for this one gets it, because both sockets allow reuse, as nearly all servers do.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]
