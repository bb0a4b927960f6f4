"""Writes the first inputs of the fuzzer of proxies' answers: one of each form, and of each refusal.

python3 make_proxy_corpus.py FOLDER
"""

import pathlib
import sys

OK = b"HTTP/1.1 200 Connection established\r\n\r\n"

INPUTS = {
    "tunnel": OK + b"\x16\x03\x03\x00\x01\x00",
    "fields": b"HTTP/1.0 299\r\nVia: a\r\nX: 407\r\n\r\n",
    "informational": b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 100 \r\n\r\n" + OK,
    "switching": b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + OK,
    "refused": b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n",
    "no-status": b"HTTP/1.1\r\nX: 200 OK\r\n\r\n",
    "four-digits": b"HTTP/1.1 2000 OK\r\n\r\n",
    "returns": b"HTTP/1.1 200 \r\r\nX: \r\n\r\r\n\r\n",
    "line-feeds": b"HTTP/1.1 200 OK\n\n",
    "long": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 16_340 + b"\r\n\r\n",
    "too-long": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 16_400 + b"\r\n\r\n",
    "tls": b"\x15\x03\x01\x00\x02\x02\x28",
    "ssh": b"SSH-2.0-OpenSSH\r\n",
}

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name, octets in INPUTS.items():
    for seed in (b"\x00", b"\x0d"):
        (folder / f"{name}-{seed[0]}").write_bytes(seed + octets)
