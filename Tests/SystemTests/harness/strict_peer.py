"""A strict HTTP/2 server on Python's h2, hpack and hyperframe, independent of the service's code.

It records every frame of its clients as sent, and the representation of each header field.
"""

import contextlib
import dataclasses
import pathlib
import select
import socket
import ssl
import subprocess
import threading
import warnings

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings
import hpack
import hyperframe.frame

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


@dataclasses.dataclass(frozen=True)
class Field:
    """A header field and its representation (RFC 7541, 6): indexed, incremental, without, never."""

    name: str
    value: str
    how: str


class NotingDecoder(hpack.Decoder):
    """hpack's decoder, which also reports each field's representation."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.fields = []

    def _note(self, decoded, how):
        (name, value), _ = decoded
        self.fields.append(Field(name.decode(), value.decode(), how))
        return decoded

    def _decode_indexed(self, data):
        return self._note(super()._decode_indexed(data), "indexed")

    def _decode_literal_index(self, data):
        return self._note(super()._decode_literal_index(data), "incremental")

    def _decode_literal_no_index(self, data):
        how = "never" if data[0] & 0x10 else "without"
        return self._note(super()._decode_literal_no_index(data), how)


@dataclasses.dataclass
class Request:
    """One request: its header fields, its body, and how many streams were open with it."""

    stream: int
    fields: list
    open_streams: int
    answers_before: int
    body: bytes = b""
    is_whole: bool = False

    def __getitem__(self, name):
        return next(field.value for field in self.fields if field.name == name)


class Connection:
    """One client's connection; `frames` are its frames in order."""

    def __init__(self, peer, number, stream):
        self.number = number
        self.frames = []
        self.requests = []
        self.answers = 0
        self.goaway = None
        self._peer = peer
        self._socket = stream
        self._raw = b""
        self._open = set()
        self._is_silent = False
        self._h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        )
        self.decoder = NotingDecoder()
        self._h2.decoder = self.decoder

    @property
    def unanswered(self):
        return [request for request in self.requests if request.stream in self._open]

    def settings(self, **values):
        self._h2.update_settings(
            {getattr(h2.settings.SettingCodes, name.upper()): v for name, v in values.items()}
        )

    def answer(self, request, status=200, body=b"", **headers):
        ids = [(field.name, field.value) for field in request.fields if field.name == "apns-id"]
        fields = [(":status", str(status)), *ids, *headers.items()]
        self._open.discard(request.stream)
        self.answers += 1
        self._h2.send_headers(request.stream, fields, end_stream=not body)
        if body:
            self._h2.send_data(request.stream, body, end_stream=True)

    def reset(self, request, code):
        self._open.discard(request.stream)
        self._h2.reset_stream(request.stream, code)

    def ping(self, octets):
        self._h2.ping(octets)

    def fall_silent(self):
        """Sends nothing from now on, not even an answer to a PING; it still reads."""
        self._is_silent = True

    def send_goaway(self, last_stream, debug=b"", code=0):
        """Bypasses h2, which would close its side after one GOAWAY; APNs sends two."""
        frame = hyperframe.frame.GoAwayFrame(0, last_stream, code, debug)
        self._socket.sendall(self._h2.data_to_send() + frame.serialize())

    def flood(self, octets, times):
        """Sends frames repeatedly, bypassing h2, until the client leaves."""
        with contextlib.suppress(OSError):
            for _ in range(times):
                self._socket.sendall(octets)
                while self._socket.pending() or select.select([self._socket], [], [], 0)[0]:
                    if not self._read():
                        return
        with contextlib.suppress(OSError):
            while self._read():
                pass

    def _read(self):
        data = self._socket.recv(65536)
        self._note(data)
        return data

    def close(self):
        """Ends the connection and, by an exception, the script."""
        with contextlib.suppress(OSError):  # the client may have closed first
            self._socket.shutdown(socket.SHUT_RDWR)
        raise ConnectionAbortedError

    def send_away(self, debug):
        """Sends GOAWAY instead of SETTINGS, and then nothing until the client has left."""
        self._socket.sendall(hyperframe.frame.GoAwayFrame(0, 0, 0, debug).serialize())
        while self._socket.recv(65536):
            pass

    def run(self):
        if self._peer.farewell is not None:
            self.send_away(self._peer.farewell)
            return
        self._h2.local_settings = h2.settings.Settings(
            client=False, initial_values={**self._h2.local_settings, **self._peer.initial}
        )
        self._h2.initiate_connection()
        self._send()
        while data := self._socket.recv(65536):
            self._note(data)
            try:
                events = self._h2.receive_data(data)
            except h2.exceptions.ProtocolError:
                # h2 ends a connection with GOAWAY; RFC 9113, 6.8, allows frames after it.
                if any(isinstance(frame, hyperframe.frame.GoAwayFrame) for frame in self.frames):
                    continue
                raise
            for event in events:
                self._happened(event)
            self._send()

    def send(self):
        """Sends what another connection's script wants to send on this one."""
        self._send()

    def _send(self):
        if (octets := self._h2.data_to_send()) and not self._is_silent:
            self._socket.sendall(octets)

    def _note(self, data):
        if not self._raw and not self.frames:
            assert data.startswith(PREFACE), "the client does not begin with its preface"
            data = data[len(PREFACE) :]
        self._raw += data
        while len(self._raw) >= 9:
            frame, length = hyperframe.frame.Frame.parse_frame_header(memoryview(self._raw[:9]))
            if len(self._raw) < 9 + length:
                break
            frame.parse_body(memoryview(self._raw[9 : 9 + length]))
            self.frames.append(frame)
            self._raw = self._raw[9 + length :]

    def _happened(self, event):
        if isinstance(event, h2.events.RequestReceived):
            self._open.add(event.stream_id)
            fields, self.decoder.fields = self.decoder.fields, []
            # Several header blocks may have arrived together; each has one ":method", its first
            # field.
            self.decoder.fields = fields[len(event.headers) :]
            request = Request(
                event.stream_id, fields[: len(event.headers)], len(self._open), self.answers
            )
            self.requests.append(request)
        elif isinstance(event, h2.events.DataReceived):
            self._request(event.stream_id).body += event.data
            self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            request = self._request(event.stream_id)
            request.is_whole = True
            self._peer.script(self, request)
        elif isinstance(event, h2.events.ConnectionTerminated):
            self._peer.goaway_came(self)
        elif isinstance(event, h2.events.StreamReset):
            self._open.discard(event.stream_id)
        elif isinstance(event, h2.events.PingAckReceived):
            self._peer.ping_answered(self, event.ping_data)

    def _request(self, stream):
        return next(request for request in self.requests if request.stream == stream)


def answer_at_once(connection, request):
    connection.answer(request)


class StrictPeer:
    """A server whose `script(connection, request)` answers; `problems` must stay empty."""

    def __init__(self, folder, script=answer_at_once, **initial):
        self.script = script
        self.ping_answered = lambda connection, octets: None
        self.goaway_came = lambda connection: None
        # If set: the GOAWAY that comes before the SETTINGS of each connection.
        self.farewell = None
        self.initial = {
            getattr(h2.settings.SettingCodes, name.upper()): v for name, v in initial.items()
        }
        self.connections = []
        self.problems = []
        self.ready = make_identity(folder)
        self._folder = folder
        self._context = server_context(folder)
        self._listener = socket.create_server(("127.0.0.1", 0))
        address = f"https://localhost:{self._listener.getsockname()[1]}"
        self.ready |= {"production": address, "sandbox": address}
        threading.Thread(target=self._accept, daemon=True).start()

    def trust(self, certificate, version):
        """Requires this client certificate and this TLS version from now on."""
        self._context.minimum_version = self._context.maximum_version = version
        self._context.verify_mode = ssl.CERT_REQUIRED
        self._context.load_verify_locations(certificate)

    def speak(self, version, ciphers="ALL:@SECLEVEL=0"):
        """Allows only this TLS version from now on, with these ciphers or all of its own."""
        self._context.set_ciphers(ciphers)
        with warnings.catch_warnings():
            # Python warns that old versions are deprecated.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._context.minimum_version = self._context.maximum_version = version

    def present(self, **options):
        """Presents another certificate of the same CA from now on (`sign`)."""
        sign(self._folder, **options)
        self._context = server_context(self._folder)

    @property
    def requests(self):
        return [request for connection in list(self.connections) for request in connection.requests]

    def _accept(self):
        while True:
            try:
                stream, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(stream,), daemon=True).start()

    def _serve(self, stream):
        try:
            with self._context.wrap_socket(stream, server_side=True) as secured:
                assert secured.selected_alpn_protocol() == "h2"
                connection = Connection(self, len(self.connections), secured)
                self.connections.append(connection)
                connection.run()
        except (ConnectionError, ssl.SSLError):
            return
        except Exception as error:  # noqa: BLE001: a protocol violation found by h2 or by a test
            self.problems.append(repr(error))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Alone, `close` would leave the port to the thread that waits for connections.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def server_context(folder):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    context.set_alpn_protocols(["h2"])
    return context


P256 = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
RSA = ("-newkey", "rsa:2048", "-nodes")


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=folder)


def make_identity(folder: pathlib.Path):
    """Creates a CA, a certificate for localhost and a provider key; returns settings for the service."""
    folder.mkdir(parents=True, exist_ok=True)
    authority = ["-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Test CA"]
    openssl(folder, "req", "-x509", *P256, *authority)
    sign(folder)
    curve = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
    openssl(folder, "genpkey", *curve, "-out", "key.p8")
    return {
        "team_id": "A1B2C3D4E5",
        "key_id": "ABC123DEFG",
        "key_file": str(folder / "key.p8"),
        "ca_file": str(folder / "ca.pem"),
    }


def sign(folder, subject="localhost", names="DNS:localhost, IP:127.0.0.1", key=P256):
    """Writes server.pem and server.key; without `names` there is no subject alternative name."""
    request = ["-keyout", "server.key", "-out", "server.csr", "-subj", f"/CN={subject}"]
    openssl(folder, "req", *key, *request)
    extension = f"subjectAltName = {names}" if names else "basicConstraints = CA:FALSE"
    (folder / "server.conf").write_text(f"{extension}\n")
    signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "server.conf"]
    openssl(folder, "x509", "-req", "-in", "server.csr", *signing, "-out", "server.pem")


@contextlib.contextmanager
def running_peer(folder, script=answer_at_once, **initial):
    """A strict peer; `initial` are its first SETTINGS by their names in h2."""
    with StrictPeer(folder, script, **initial) as peer:
        yield peer
        assert not peer.problems, peer.problems
